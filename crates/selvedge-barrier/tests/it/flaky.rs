//! A store that fails where the barrier meets it. The test kit's `FaultStore` can do more, and brings the whole runtime
//! along, which the fixtures that do not compile would have to wait for.

use std::sync::Mutex;

use async_trait::async_trait;
use selvedge_event::{Step, ThreadId, Timestamp};
use selvedge_store::{
    AcceptReply, AcceptRequest, ConversationStore, Epoch, Head, HistoryPage, MemoryStore, Owner, StoreError,
    StoreErrorKind, SyncRequest, ThreadRecord, ThreadSummary, ThreadsAfter,
};

/// How a sync fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    NotDone,
    AnswerLost,
}

#[derive(Debug, Default)]
pub(crate) struct FlakyStore {
    inner: MemoryStore,
    sync: Mutex<Option<Fault>>,
    head: Mutex<bool>,
}

impl FlakyStore {
    pub(crate) fn next_sync(&self, fault: Fault) {
        *self.sync.lock().unwrap() = Some(fault);
    }

    pub(crate) fn next_head_fails(&self) {
        *self.head.lock().unwrap() = true;
    }
}

fn unavailable() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "fault on demand")
}

#[async_trait]
impl ConversationStore for FlakyStore {
    async fn register(&self, label: &str) -> Result<Owner, StoreError> {
        self.inner.register(label).await
    }

    async fn claim(&self, thread: &ThreadId, owner: &Owner) -> Result<Epoch, StoreError> {
        self.inner.claim(thread, owner).await
    }

    async fn release(&self, thread: &ThreadId, epoch: Epoch) -> Result<(), StoreError> {
        self.inner.release(thread, epoch).await
    }

    async fn accept(&self, request: AcceptRequest) -> Result<AcceptReply, StoreError> {
        self.inner.accept(request).await
    }

    async fn load(&self, thread: &ThreadId) -> Result<ThreadRecord, StoreError> {
        self.inner.load(thread).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Head, StoreError> {
        let fails = std::mem::take(&mut *self.head.lock().unwrap());
        if fails { Err(unavailable()) } else { self.inner.head(thread).await }
    }

    async fn sync(&self, request: SyncRequest) -> Result<(), StoreError> {
        let fault = self.sync.lock().unwrap().take();
        if fault == Some(Fault::NotDone) {
            return Err(unavailable());
        }
        let answer = self.inner.sync(request).await;
        if fault == Some(Fault::AnswerLost) { Err(unavailable()) } else { answer }
    }

    async fn mark_committed(&self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<(), StoreError> {
        self.inner.mark_committed(thread, epoch, step).await
    }

    async fn history(&self, thread: &ThreadId, before: Option<Step>, bytes: u64) -> Result<HistoryPage, StoreError> {
        self.inner.history(thread, before, bytes).await
    }

    async fn threads(&self, range: ThreadsAfter) -> Result<Vec<ThreadSummary>, StoreError> {
        self.inner.threads(range).await
    }

    async fn unfinished(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.inner.unfinished().await
    }

    async fn fork(&self, parent: &ThreadId, step: Step, thread: &ThreadId, at: Timestamp) -> Result<(), StoreError> {
        self.inner.fork(parent, step, thread, at).await
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.inner.delete(thread).await
    }

    async fn put_blob(&self, thread: &ThreadId, id: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.inner.put_blob(thread, id, bytes).await
    }

    async fn blob(&self, thread: &ThreadId, id: &str, offset: u64, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        self.inner.blob(thread, id, offset, max_bytes).await
    }
}
