//! A persistent append-only list: cloning shares, appending costs what is appended.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many entries a segment holds. An append to a list whose clone is alive copies at most this many pointers.
const SEGMENT: usize = 64;

/// An append-only list that is cloned in constant time and shares its entries with its clones.
///
/// ```
/// # use selvedge_event::SharedLog;
/// let mut log: SharedLog<u32> = (0..1000).collect();
/// let before = log.clone();
/// log.push(1000);
/// assert_eq!(before.len(), 1000);
/// assert_eq!(log.iter().copied().max(), Some(1000));
/// ```
#[derive(Clone)]
pub struct SharedLog<T> {
    len: usize,
    tail: Option<Arc<Segment<T>>>,
}

#[derive(Clone)]
struct Segment<T> {
    older: Option<Arc<Segment<T>>>,
    entries: Vec<T>,
}

impl<T> SharedLog<T> {
    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The newest entry.
    pub fn last(&self) -> Option<&T> {
        self.tail.as_ref().and_then(|segment| segment.entries.last())
    }

    /// The entries, oldest first. Finding the oldest costs one step per 64 entries.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let mut segments = Vec::with_capacity(self.len / SEGMENT + 1);
        let mut next = self.tail.as_deref();
        while let Some(segment) = next {
            segments.push(segment);
            next = segment.older.as_deref();
        }
        segments.into_iter().rev().flat_map(|segment| segment.entries.iter())
    }

    /// The entries, newest first, without a look at the older ones.
    pub fn iter_newest_first(&self) -> impl Iterator<Item = &T> {
        std::iter::successors(self.tail.as_deref(), |segment| segment.older.as_deref())
            .flat_map(|segment| segment.entries.iter().rev())
    }
}

impl<T: Clone> SharedLog<T> {
    /// Appends an entry; clones made before do not see it.
    pub fn push(&mut self, entry: T) {
        self.len += 1;
        match &mut self.tail {
            Some(tail) if tail.entries.len() < SEGMENT => Arc::make_mut(tail).entries.push(entry),
            tail => {
                // A segment grows with its entries: a short thread holds a short vector.
                let older = tail.take();
                *tail = Some(Arc::new(Segment { older, entries: vec![entry] }));
            }
        }
    }
}

impl<T> Drop for Segment<T> {
    /// Unlinks the older segments one by one: a long list must not end in a deep recursion.
    fn drop(&mut self) {
        let mut next = self.older.take();
        while let Some(segment) = next {
            next = Arc::into_inner(segment).and_then(|mut segment| segment.older.take());
        }
    }
}

impl<T> Default for SharedLog<T> {
    fn default() -> Self {
        Self { len: 0, tail: None }
    }
}

impl<T: Clone> FromIterator<T> for SharedLog<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut log = Self::default();
        log.extend(entries);
        log
    }
}

impl<T: Clone> Extend<T> for SharedLog<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, entries: I) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}

impl<T: PartialEq> PartialEq for SharedLog<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for SharedLog<T> {}

impl<T: fmt::Debug> fmt::Debug for SharedLog<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Serialize> Serialize for SharedLog<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T: Deserialize<'de> + Clone> Deserialize<'de> for SharedLog<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_a_vector_whose_clones_do_not_change(pushes in proptest::collection::vec(any::<bool>(), 0..400)) {
            let (mut log, mut model) = (SharedLog::default(), Vec::new());
            let mut clones = Vec::new();
            for (entry, keep) in pushes.into_iter().enumerate() {
                if keep {
                    clones.push((log.clone(), model.clone()));
                }
                log.push(entry);
                model.push(entry);
            }
            clones.push((log, model));
            for (log, model) in clones {
                prop_assert_eq!(log.len(), model.len());
                prop_assert_eq!(log.last(), model.last());
                prop_assert!(log.iter().eq(model.iter()));
                prop_assert!(log.iter_newest_first().eq(model.iter().rev()));
            }
        }
    }

    #[test]
    fn a_long_list_is_dropped_without_recursion() {
        let log: SharedLog<usize> = (0..3_000_000).collect();
        let clone = log.clone();
        drop(log);
        assert_eq!(clone.len(), 3_000_000);
        drop(clone);
    }
}
