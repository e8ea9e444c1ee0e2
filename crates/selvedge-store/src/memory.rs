//! The reference store: in memory, durable for as long as one of its clones lives.
//!
//! It is the contract by example: every operation is one short synchronous function over plain data, which checks
//! everything before it changes anything, and runs under one lock. An implementor may read it from top to bottom.
//!
//! It promises that no operation costs more on a long history than on a short one, but for what it returns. It forgets
//! everything with its last clone, and no other process can see it: it is for tests, for examples, and for threads
//! that need not outlive their program.

mod beside;
mod inbox;
mod state;
mod thread;
mod turns;

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use selvedge_event::{Step, ThreadId, Timestamp};

use self::state::State;
use crate::{
    AcceptReply, AcceptRequest, ConversationStore, Epoch, Head, HistoryPage, Owner, StoreError, SyncRequest,
    ThreadRecord, ThreadSummary, ThreadsAfter,
};

/// A [`ConversationStore`] in memory. Clones share what it keeps.
///
/// ```
/// use selvedge_event::{Input, Timestamp};
/// use selvedge_store::{AcceptRequest, ConversationStore, Create, MemoryStore, NewInput};
///
/// # futures_util::FutureExt::now_or_never(async {
/// let store = MemoryStore::default();
/// let hello = NewInput { id: "a".into(), input: Input::text("hello"), at: Timestamp(0) };
/// let request = AcceptRequest { thread: "t".into(), inputs: vec![hello], create: Create::Unclaimed };
/// store.accept(request).await?;
/// assert_eq!(store.clone().load(&"t".into()).await?.inbox.len(), 1);
/// # Ok::<(), selvedge_store::StoreError>(())
/// # }).expect("a store in memory never waits").unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

impl MemoryStore {
    /// The state, for the time of one operation: nobody waits for anything while holding it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("bug: an operation of the store in memory panicked")
    }
}

#[async_trait]
impl ConversationStore for MemoryStore {
    async fn register(&self, label: &str) -> Result<Owner, StoreError> {
        Ok(self.state().register(label))
    }

    async fn claim(&self, thread: &ThreadId, owner: &Owner) -> Result<Epoch, StoreError> {
        self.state().claim(thread, owner)
    }

    async fn release(&self, thread: &ThreadId, epoch: Epoch) -> Result<(), StoreError> {
        self.state().release(thread, epoch);
        Ok(())
    }

    async fn accept(&self, request: AcceptRequest) -> Result<AcceptReply, StoreError> {
        self.state().accept(request)
    }

    async fn load(&self, thread: &ThreadId) -> Result<ThreadRecord, StoreError> {
        self.state().thread(thread).map(|found| found.record(thread.clone()))
    }

    async fn head(&self, thread: &ThreadId) -> Result<Head, StoreError> {
        self.state().thread(thread).map(|found| found.head)
    }

    async fn sync(&self, request: SyncRequest) -> Result<(), StoreError> {
        self.state().sync(request)
    }

    async fn mark_committed(&self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<(), StoreError> {
        self.state().mark_committed(thread, epoch, step)
    }

    async fn history(
        &self,
        thread: &ThreadId,
        before: Option<Step>,
        max_bytes: u64,
    ) -> Result<HistoryPage, StoreError> {
        self.state().history(thread, before, max_bytes)
    }

    async fn threads(&self, range: ThreadsAfter) -> Result<Vec<ThreadSummary>, StoreError> {
        Ok(self.state().summaries(range))
    }

    async fn unfinished(&self) -> Result<Vec<ThreadId>, StoreError> {
        Ok(self.state().unfinished())
    }

    async fn fork(&self, parent: &ThreadId, step: Step, thread: &ThreadId, at: Timestamp) -> Result<(), StoreError> {
        self.state().fork(parent, step, thread, at)
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.state().delete(thread)
    }

    async fn put_blob(&self, thread: &ThreadId, id: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.state().put_blob(thread, id, bytes)
    }

    async fn blob(&self, thread: &ThreadId, id: &str, offset: u64, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        self.state().blob(thread, id, offset, max_bytes)
    }
}
