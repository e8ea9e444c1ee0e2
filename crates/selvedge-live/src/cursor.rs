//! Cursors: the places of frames in a feed.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Which feed a cursor belongs to. Drawn at random for each, so that a feed after a restart, or of another thread of the
/// same name, has another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(u64);

impl Epoch {
    pub(crate) fn draw() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The place of a frame: the feed's epoch and the frame's number in it, written `epoch.seq`.
///
/// Cursors of one epoch are ordered; those of two are not comparable.
///
/// ```
/// # use selvedge_live::Cursor;
/// let cursor: Cursor = "00000000000000ff.12".parse().unwrap();
/// assert_eq!(cursor.seq, 12);
/// assert_eq!(cursor.to_string(), "00000000000000ff.12");
/// assert!(cursor < Cursor { seq: 13, ..cursor });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The feed.
    pub epoch: Epoch,
    /// The frame's number in the feed, from 1. A snapshot has the number of the frame before it, 0 if there is none.
    pub seq: u64,
}

impl PartialOrd for Cursor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.epoch == other.epoch).then(|| self.seq.cmp(&other.seq))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.seq)
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a cursor is 16 hexadecimal digits, a full stop and a number")]
pub struct CursorError(());

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (epoch, seq) = text.split_once('.').ok_or(CursorError(()))?;
        // A sign is no digit, whatever the standard library thinks.
        let plain = epoch.len() == 16 && !epoch.starts_with('+') && !seq.starts_with('+');
        let epoch = u64::from_str_radix(epoch, 16).ok().filter(|_| plain).ok_or(CursorError(()))?;
        Ok(Self { epoch: Epoch(epoch), seq: seq.parse().map_err(|_| CursorError(()))? })
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written() {
        let cursor = Cursor { epoch: Epoch::draw(), seq: u64::MAX };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", ".", "12", "0.1", "+000000000000001.1", "0000000000000001.", "0000000000000001.+1", "zz.1"] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError(())), "{text}");
        }
    }

    #[test]
    fn cursors_of_two_epochs_are_not_comparable() {
        let (one, other) = (Cursor { epoch: Epoch::draw(), seq: 1 }, Cursor { epoch: Epoch::draw(), seq: 2 });
        assert_eq!(one.partial_cmp(&other), None);
        assert!(one < Cursor { seq: 2, ..one });
    }
}
