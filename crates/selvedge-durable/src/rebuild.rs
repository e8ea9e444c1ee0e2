//! What is kept, derived from the histories: of one thread, where it does not follow; of all, on demand.

use selvedge_event::{Step, ThreadId, UserChoice};
use selvedge_store::{ConversationStore, HistoryPage, Origin, StoreErrorKind, ThreadRecord, ThreadsAfter};

use crate::op::{Answer, Built, Op};
use crate::step_rows::StepRows;
use crate::{Sessions, SessionsError, read};

/// How much of a history is read and written at once.
const PAGE_BYTES: u64 = 1024 * 1024;

/// How many threads are listed at once.
const PAGE_THREADS: usize = 256;

/// How often a thread that changes meanwhile is begun anew.
const TRIES: usize = 5;

/// How far a [rebuild](Sessions::rebuild) is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The thread that has just been rebuilt.
    pub thread: &'a ThreadId,
    /// How many threads are done.
    pub done: u64,
    /// How many there were when the rebuild began.
    pub total: u64,
}

impl Sessions {
    /// Derives everything from the histories: each thread of the store is put in the place of what was kept of it, and
    /// what is kept of threads that are gone is forgotten. Memory is bounded, whatever the length of a history.
    ///
    /// Threads may run meanwhile, and readers see each thread as it was or as it is. A rebuild that is cut off leaves
    /// threads that are done and threads that are as they were; the next one begins again.
    ///
    /// # Errors
    /// [`Store`](SessionsError::Store), [`Moving`](SessionsError::Moving) for a thread that never rests, and those of
    /// writing.
    ///
    /// # Cancel safety
    /// Dropping the future cuts it off.
    pub async fn rebuild(
        &self,
        store: &dyn ConversationStore,
        mut progress: impl FnMut(Progress<'_>),
    ) -> Result<(), SessionsError> {
        self.write(Op::Sweep).await?;
        let (mut total, mut after) = (0, None);
        while let Some(threads) = page_of_threads(store, &mut after).await? {
            total += threads.len() as u64;
        }
        let (mut done, mut after) = (0, None);
        while let Some(threads) = page_of_threads(store, &mut after).await? {
            for thread in &threads {
                rebuild_thread(self, store, thread).await?;
                done += 1;
                progress(Progress { thread, done, total });
            }
        }
        self.forget_missing(store).await
    }

    /// Derives what is kept of one thread from its history: for a thread that has changed without an observer, such as
    /// one that was imported or forked. A thread that is gone is forgotten.
    ///
    /// # Errors
    /// As [`rebuild`](Self::rebuild).
    ///
    /// # Cancel safety
    /// Dropping the future leaves the thread as it was or as it is.
    pub async fn refresh(&self, store: &dyn ConversationStore, thread: &ThreadId) -> Result<(), SessionsError> {
        rebuild_thread(self, store, thread).await
    }

    /// Forgets threads that the store does not have.
    async fn forget_missing(&self, store: &dyn ConversationStore) -> Result<(), SessionsError> {
        let mut after: Option<ThreadId> = None;
        loop {
            let threads = read::threads(&self.inner.readers, after.as_ref(), PAGE_THREADS).await?;
            let Some(last) = threads.last() else { return Ok(()) };
            after = Some(last.clone());
            for thread in &threads {
                match store.head(thread).await {
                    Ok(_) => {}
                    Err(error) if error.kind() == StoreErrorKind::NotFound => self.forget(thread).await?,
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}

/// The next threads of a store; `None` at the end.
pub(crate) async fn page_of_threads(
    store: &dyn ConversationStore,
    after: &mut Option<ThreadId>,
) -> Result<Option<Vec<ThreadId>>, SessionsError> {
    let range = ThreadsAfter { after: after.clone(), limit: PAGE_THREADS };
    let threads: Vec<ThreadId> = store.threads(range).await?.into_iter().map(|summary| summary.thread).collect();
    *after = threads.last().cloned().or_else(|| after.take());
    Ok((!threads.is_empty()).then_some(threads))
}

/// Derives what is kept of one thread from its history. What is kept is replaced at once, or not at all.
pub(crate) async fn rebuild_thread(
    sessions: &Sessions,
    store: &dyn ConversationStore,
    thread: &ThreadId,
) -> Result<(), SessionsError> {
    for _ in 0..TRIES {
        if try_rebuild_thread(sessions, store, thread).await? != Answer::Overtaken {
            return Ok(());
        }
    }
    Err(SessionsError::Moving { thread: thread.to_string() })
}

async fn try_rebuild_thread(
    sessions: &Sessions,
    store: &dyn ConversationStore,
    thread: &ThreadId,
) -> Result<Answer, SessionsError> {
    // ORDER: what is kept is noted before the store is read, so that a step committed in between is not lost with it.
    let kept = read::kept(&sessions.inner.readers, thread).await?.map(|kept| kept.step);
    let record = match store.load(thread).await {
        Ok(record) if record.head.step > 0 => record,
        // A thread that is gone, or has not had a step.
        Ok(_) => return sessions.write(Op::Forget { thread: thread.clone() }).await,
        Err(error) if error.kind() == StoreErrorKind::NotFound => {
            return sessions.write(Op::Forget { thread: thread.clone() }).await;
        }
        Err(error) => return Err(error.into()),
    };
    let begin = Op::Begin { thread: thread.clone(), inherited: inherited(&record) };
    let Answer::Building { session } = sessions.write(begin).await? else {
        unreachable!("bug: what begins is being built");
    };
    let mut updated_at = record.created_at;
    let mut pages = Pages::of(store, &record);
    while let Some(page) = pages.next().await? {
        updated_at = page.turns.iter().map(|turn| turn.at).fold(updated_at, Ord::max);
        let steps = page.turns.iter().map(|turn| StepRows::of_turn(turn)).collect();
        if sessions.write(Op::Append { session, steps }).await? == Answer::Overtaken {
            return Ok(Answer::Overtaken);
        }
    }
    let (step, created_at, choices) = (record.head.step, record.created_at, pending(&record));
    let built = Built { step, created_at, updated_at, choices };
    sessions.write(Op::Finish { session, kept, built }).await
}

/// The pages of a history, newest first, as it was when its record was read.
pub(crate) struct Pages<'a> {
    store: &'a dyn ConversationStore,
    record: &'a ThreadRecord,
    /// Where the next page ends; `None` at the end.
    before: Option<Step>,
}

impl<'a> Pages<'a> {
    pub(crate) fn of(store: &'a dyn ConversationStore, record: &'a ThreadRecord) -> Self {
        Self { store, record, before: Some(record.head.step + 1) }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<HistoryPage>, SessionsError> {
        let Some(before) = self.before else { return Ok(None) };
        let page = self.store.history(&self.record.thread, Some(before), PAGE_BYTES).await?;
        self.before = page.older;
        Ok(Some(page))
    }
}

/// The choices of a thread that wait for the user.
pub(crate) fn pending(record: &ThreadRecord) -> Vec<UserChoice> {
    let waiting = record.choices.iter().filter(|(_, resolution)| resolution.is_none());
    waiting.map(|(choice, _)| choice.clone()).collect()
}

/// The step up to which a thread's history is another's.
pub(crate) fn inherited(record: &ThreadRecord) -> Step {
    match record.origin {
        Origin::Fork { step, .. } => step,
        Origin::Root | Origin::Child { .. } => 0,
    }
}
