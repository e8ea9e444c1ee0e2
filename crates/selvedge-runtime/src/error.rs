//! What callers of the runtime are told.

use selvedge_event::{ChoiceId, ThreadId};
use selvedge_observer::BoxError;
use selvedge_store::{StoreError, StoreErrorKind};

/// Why an input was not accepted, or a request about a thread not served. Nothing of it was done, unless the store's
/// error is transient: then it may have been accepted, and sending it again with the same id is harmless.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The system is shut down, or shutting down.
    #[error("the system is shut down")]
    ShutDown,
    /// There is no such thread.
    #[error("there is no thread {0}")]
    NoSuchThread(ThreadId),
    /// Another process drives the thread.
    #[error("the thread {thread} is driven elsewhere: {owner}")]
    Owned {
        /// The thread.
        thread: ThreadId,
        /// Who has it.
        owner: String,
    },
    /// The thread, or its shard, has more waiting than its bound. Try again later.
    #[error("too much waits for the thread {0}")]
    Full(ThreadId),
    /// The input cannot be taken; the text says why.
    #[error("the input is refused: {0}")]
    Refused(String),
    /// The store could not do it.
    #[error("the store failed")]
    Store(#[source] StoreError),
}

impl SendError {
    pub(crate) fn from_store(thread: &ThreadId, error: StoreError) -> Self {
        match error.kind() {
            StoreErrorKind::NotFound => Self::NoSuchThread(thread.clone()),
            StoreErrorKind::Owned => Self::Owned { thread: thread.clone(), owner: error.to_string() },
            _ => Self::Store(error),
        }
    }
}

/// Why an answer to a choice does not count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Somebody was first.
    #[error("the choice {0} is already answered")]
    AlreadyAnswered(ChoiceId),
    /// The thread has no such open choice: never had, or it was dismissed or has expired.
    #[error("the choice {0} is not open")]
    NotOpen(ChoiceId),
    /// The choice has fewer options.
    #[error("the choice has {options} options, there is none at place {selected}")]
    NoSuchOption {
        /// How many it has.
        options: usize,
        /// The place that was chosen, from 0.
        selected: usize,
    },
    /// The answer could not be accepted.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// Why a thread could not be forked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// A step that the thread has not reached, or at which a call is open.
    #[error("the thread cannot be forked at step {0}: it has not reached it, or a call is open there")]
    Unsafe(selvedge_event::Step),
    /// The new thread exists.
    #[error("there is a thread {0} already")]
    Exists(ThreadId),
    /// The request could not be served.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// Why a step did not go through. The thread is as durable as before; another try goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The thread's configuration did not resolve. Its inputs wait.
    #[error("the thread's configuration did not resolve")]
    Configure(#[source] BoxError),
    /// A hook of the observer erred, or the observer panicked, before the sync.
    #[error("the observer failed the step before its sync")]
    Observer(#[source] BoxError),
    /// The turn could not be synced.
    #[error("the turn could not be synced")]
    Sync(#[source] StoreError),
    /// Another writer was first; the thread must be loaded again.
    #[error("another writer was first")]
    Conflict,
    /// The observer did not commit the turn, which is synced. It is committed again, and its calls go out, later.
    #[error("the observer did not commit the turn")]
    Commit(#[source] BoxError),
    /// The thread could not be claimed or loaded.
    #[error(transparent)]
    Load(#[from] SendError),
}

/// An error's message and those of its sources, as one line.
pub(crate) fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let sources = std::iter::successors(error.source(), |source| source.source());
    std::iter::once(error.to_string()).chain(sources.map(ToString::to_string)).collect::<Vec<_>>().join(": ")
}
