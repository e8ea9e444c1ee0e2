//! The trait.

use async_trait::async_trait;
use selvedge_event::{Step, ThreadId};

use crate::{
    AcceptReply, AcceptRequest, Epoch, Head, HistoryPage, Owner, StoreError, SyncRequest, ThreadRecord, ThreadSummary,
    ThreadsAfter,
};

/// The durable home of threads. See the crate's page for what holds of every operation.
///
/// # Cancel safety
/// Dropping the future of an operation that writes leaves it done or not done, never half; the caller cannot know which.
#[async_trait]
pub trait ConversationStore: Send + Sync + std::fmt::Debug {
    /// Makes an owner, alive until it is dropped or its process dies. `label` is for people, such as a program's name
    /// and process id; the store makes the name unique.
    ///
    /// # Errors
    /// [`Unavailable`](crate::StoreErrorKind::Unavailable).
    async fn register(&self, label: &str) -> Result<Owner, StoreError>;

    /// Makes `owner` the owner of a thread and returns the new epoch, which is one more than any before it. The owner
    /// that a thread has is displaced if it is dead, or if it is `owner` itself. The claim need not survive a crash.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound); [`Owned`](crate::StoreErrorKind::Owned) by an owner that is
    /// alive, which the message names.
    async fn claim(&self, thread: &ThreadId, owner: &Owner) -> Result<Epoch, StoreError>;

    /// Ends a claim. Does nothing if `epoch` is not the current one, or there is no such thread. Need not survive a
    /// crash.
    ///
    /// # Errors
    /// [`Unavailable`](crate::StoreErrorKind::Unavailable); releasing is a courtesy, nobody depends on it.
    async fn release(&self, thread: &ThreadId, epoch: Epoch) -> Result<(), StoreError>;

    /// Appends inputs to a thread's inbox, and remembers their ids for as long as the thread lives. Needs no claim.
    /// An input whose id is known, also from earlier in the same request, changes nothing.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound) where nothing is to be created;
    /// [`Invalid`](crate::StoreErrorKind::Invalid) where a thread is to be created for no inputs.
    async fn accept(&self, request: AcceptRequest) -> Result<AcceptReply, StoreError>;

    /// Everything about a thread but its history, as one consistent state.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound). A damaged record is no error: it is reported as quarantined.
    async fn load(&self, thread: &ThreadId) -> Result<ThreadRecord, StoreError>;

    /// Where a thread's writers are.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound).
    async fn head(&self, thread: &ThreadId) -> Result<Head, StoreError>;

    /// Makes a turn durable, with everything that comes with it, in one transaction: nothing of it is visible before
    /// all of it is durable. The thread's step and epoch are compared, and the step set, in that transaction.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound). [`Conflict`](crate::StoreErrorKind::Conflict) if the epoch is not
    /// the current one, or the turn's step is not the next. [`Exists`](crate::StoreErrorKind::Exists) if a spawned
    /// thread exists, or is spawned twice. [`Invalid`](crate::StoreErrorKind::Invalid) if a step is said to be committed
    /// that the thread has not reached, or a thread is spawned without inputs.
    async fn sync(&self, request: SyncRequest) -> Result<(), StoreError>;

    /// Remembers that `step` is committed, if that is news. Lost marks are harmless, so it need not survive a crash.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound). [`Conflict`](crate::StoreErrorKind::Conflict) if the epoch is not
    /// the current one. [`Invalid`](crate::StoreErrorKind::Invalid) for a step that the thread has not reached.
    async fn mark_committed(&self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<(), StoreError>;

    /// The newest turns of a history before step `before` (all of it for `None`), whole turns only: as many as fit in
    /// `max_bytes` of stored text, but at least one. A fork's history goes on in its parent's, by reference.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound).
    async fn history(&self, thread: &ThreadId, before: Option<Step>, max_bytes: u64)
    -> Result<HistoryPage, StoreError>;

    /// Threads in the order of their ids.
    ///
    /// # Errors
    /// [`Unavailable`](crate::StoreErrorKind::Unavailable).
    async fn threads(&self, range: ThreadsAfter) -> Result<Vec<ThreadSummary>, StoreError>;

    /// Threads that have something to do without any new input: a filled inbox, an open call, or a step that is not
    /// known to be committed.
    ///
    /// # Errors
    /// [`Unavailable`](crate::StoreErrorKind::Unavailable).
    async fn unfinished(&self) -> Result<Vec<ThreadId>, StoreError>;

    /// Creates a thread that shares its parent's history up to and including `step`, by reference. It has nothing else
    /// of its parent's state: no open calls, choices, subscriptions, views, usage or inputs, and knows none of its
    /// inputs' ids. Nobody has claimed it; its next step is `step + 1`; it counts as committed. `step` may be one that
    /// appended nothing, and 0. The caller sees to it that no call is open there.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound) for the parent, [`Exists`](crate::StoreErrorKind::Exists) for the
    /// new thread, [`Invalid`](crate::StoreErrorKind::Invalid) for a step that the parent has not reached.
    async fn fork(
        &self,
        parent: &ThreadId,
        step: Step,
        thread: &ThreadId,
        at: selvedge_event::Timestamp,
    ) -> Result<(), StoreError>;

    /// Deletes a thread with all that is kept of it, its blobs and the ids of its inputs included; its name is free
    /// again. Its children stay.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound); [`Owned`](crate::StoreErrorKind::Owned) by an owner that is alive;
    /// [`InUse`](crate::StoreErrorKind::InUse) while forks share its history.
    async fn delete(&self, thread: &ThreadId) -> Result<(), StoreError>;

    /// Keeps bytes under a name within a thread; the same name again changes nothing.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound) for the thread.
    async fn put_blob(&self, thread: &ThreadId, id: &str, bytes: Vec<u8>) -> Result<(), StoreError>;

    /// At most `max_bytes` of a blob from `offset`; empty past its end. Where a fork has no blob of that name, it reads
    /// its parent's.
    ///
    /// # Errors
    /// [`NotFound`](crate::StoreErrorKind::NotFound) for the thread or the blob.
    async fn blob(&self, thread: &ThreadId, id: &str, offset: u64, max_bytes: u64) -> Result<Vec<u8>, StoreError>;
}
