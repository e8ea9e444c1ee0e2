//! What is kept, held against the histories.

use std::fmt;

use selvedge_event::{Step, ThreadId};
use selvedge_store::{ConversationStore, HistoryPage, Origin, StoreErrorKind, ThreadRecord};

use crate::read::{self, Kept};
use crate::rebuild::{Pages, inherited, page_of_threads, pending};
use crate::step_rows::{Line, StepRows};
use crate::{Prices, Sessions, SessionsError};

/// Something that is kept otherwise than the history has it. A [`rebuild`](Sessions::rebuild) puts it right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The thread.
    pub thread: ThreadId,
    /// The step, where it is about one.
    pub step: Option<Step>,
    /// What is different, for people.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some(step) => write!(f, "{} at step {step}: {}", self.thread, self.what),
            None => write!(f, "{}: {}", self.thread, self.what),
        }
    }
}

impl Sessions {
    /// Holds what is kept of every thread against its history, and returns what differs. Writes nothing. Memory is
    /// bounded, whatever the length of a history.
    ///
    /// Not compared is the time of the newest step, which is that of the writing, and what tokens cost, which follows the prices of their
    /// day. A step that is synced and not known to be committed may be there or not.
    ///
    /// # Errors
    /// [`Store`](SessionsError::Store), [`Moving`](SessionsError::Moving) for a thread that runs all the while, and those
    /// of reading.
    ///
    /// # Cancel safety
    /// Reads only.
    pub async fn verify(&self, store: &dyn ConversationStore) -> Result<Vec<Difference>, SessionsError> {
        let (mut differences, mut after) = (Vec::new(), None);
        while let Some(threads) = page_of_threads(store, &mut after).await? {
            for thread in &threads {
                differences.extend(self.verify_thread(store, thread).await?);
            }
        }
        let mut after: Option<ThreadId> = None;
        loop {
            let threads = read::threads(&self.inner.readers, after.as_ref(), 256).await?;
            let Some(last) = threads.last() else { return Ok(differences) };
            after = Some(last.clone());
            for thread in threads {
                match store.head(&thread).await {
                    Err(error) if error.kind() == StoreErrorKind::NotFound => {
                        differences.push(Difference { thread, step: None, what: "the thread is gone".into() });
                    }
                    head => drop(head?),
                }
            }
        }
    }

    /// As [`verify`](Self::verify), for one thread, which must be in the store.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    ///
    /// # Cancel safety
    /// Reads only.
    pub async fn verify_thread(
        &self,
        store: &dyn ConversationStore,
        thread: &ThreadId,
    ) -> Result<Vec<Difference>, SessionsError> {
        for _ in 0..5 {
            let kept = read::kept(&self.inner.readers, thread).await?;
            let record = store.load(thread).await?;
            let mut check = Check { thread, differences: Vec::new() };
            self.compare(store, &record, kept.as_ref(), &mut check).await?;
            let rests = check.differences.is_empty()
                || store.head(thread).await? == record.head && read::kept(&self.inner.readers, thread).await? == kept;
            if rests {
                return Ok(check.differences);
            }
        }
        Err(SessionsError::Moving { thread: thread.to_string() })
    }

    async fn compare(
        &self,
        store: &dyn ConversationStore,
        record: &ThreadRecord,
        kept: Option<&Kept>,
        check: &mut Check<'_>,
    ) -> Result<(), SessionsError> {
        let Some(kept) = kept else {
            // A fork is kept from its own first step on.
            let inherits = matches!(record.origin, Origin::Fork { step, .. } if step >= record.committed);
            if record.committed > 0 && !inherits {
                check.differs(None, format!("nothing is kept of {} steps", record.committed));
            }
            return Ok(());
        };
        if kept.created_at != record.created_at {
            check.differs(None, "this is another thread, which had its name before".into());
            return Ok(());
        }
        if kept.step < record.committed || kept.step > record.head.step {
            let (head, committed) = (record.head.step, record.committed);
            check.differs(
                None,
                format!("kept up to step {}, the thread is at {head}, committed up to {committed}", kept.step),
            );
            return Ok(());
        }
        let mut sums = Line::default();
        let mut pages = Pages::of(store, record);
        let mut before = record.head.step + 1;
        while let Some(page) = pages.next().await? {
            let start = page.older.unwrap_or(0);
            self.compare_page(record, kept, (start, before), &page, (&mut sums, check)).await?;
            before = start;
        }
        if (kept.usage, kept.open_calls) != (sums.usage, sums.open_calls) {
            let what = format!(
                "the sums are {:?} and {} open calls, the history's {:?} and {}",
                kept.usage, kept.open_calls, sums.usage, sums.open_calls
            );
            check.differs(None, what);
        }
        // Choices of a step that is not committed may not have been put before the observer.
        if kept.step == record.head.step {
            let (choices, pending) = (read::choices(&self.inner.readers, check.thread).await?, pending(record));
            if choices != pending {
                check.differs(None, format!("{} choices are kept, {} wait", choices.len(), pending.len()));
            }
        }
        Ok(())
    }

    /// Compares the steps of a page; each adds to the sums.
    async fn compare_page(
        &self,
        record: &ThreadRecord,
        kept: &Kept,
        (start, end): (Step, Step),
        page: &HistoryPage,
        (sums, check): (&mut Line, &mut Check<'_>),
    ) -> Result<(), SessionsError> {
        let mut steps = read::steps(&self.inner.readers, kept.session, start..end).await?;
        for turn in page.turns.iter().filter(|turn| turn.step <= kept.step) {
            let derived = StepRows::of_turn(turn);
            let (entries, mut line) = steps.remove(&turn.step).unwrap_or_default();
            if entries != derived.entries {
                check.differs(Some(turn.step), first_difference(&entries, &derived.entries));
            }
            let derived = Line { cost: line.cost, ..derived.line(inherited(record), &Prices::new()) };
            sums.usage += derived.usage;
            sums.open_calls += derived.open_calls;
            if line != derived {
                line.cost = derived.cost;
                check.differs(Some(turn.step), format!("the ledger has {line:?}, the history {derived:?}"));
            }
        }
        for step in steps.into_keys() {
            check.differs(Some(step), "the history has no such turn".into());
        }
        Ok(())
    }
}

fn first_difference<T: fmt::Debug + PartialEq>(kept: &[T], derived: &[T]) -> String {
    let same = kept.iter().zip(derived).take_while(|(kept, derived)| kept == derived).count();
    format!("entry {same} is {:?}, the history's {:?}", kept.get(same), derived.get(same))
}

/// What has been found out about a thread.
struct Check<'a> {
    thread: &'a ThreadId,
    differences: Vec<Difference>,
}

impl Check<'_> {
    fn differs(&mut self, step: Option<Step>, what: String) {
        self.differences.push(Difference { thread: self.thread.clone(), step, what });
    }
}
