//! A store whose unfinished threads are one.
//!
//! A running system works off whatever an earlier process left unfinished, in all threads. A chat has one thread, and a
//! model that was chosen for it: other threads are left to whoever opens them.

use std::sync::Arc;

use async_trait::async_trait;
use selvedge::event::{Step, Timestamp};
use selvedge::prelude::{ConversationStore, ThreadId};
use selvedge::store::{
    AcceptReply, AcceptRequest, Epoch, Head, HistoryPage, Owner, StoreError, SyncRequest, ThreadRecord, ThreadSummary,
    ThreadsAfter,
};

type Result<T> = std::result::Result<T, StoreError>;

/// A store as it is, but for [`unfinished`](ConversationStore::unfinished).
#[derive(Debug)]
pub(super) struct OneThread {
    pub(super) store: Arc<dyn ConversationStore>,
    pub(super) thread: ThreadId,
}

#[async_trait]
impl ConversationStore for OneThread {
    async fn unfinished(&self) -> Result<Vec<ThreadId>> {
        let mut threads = self.store.unfinished().await?;
        threads.retain(|thread| *thread == self.thread);
        Ok(threads)
    }

    async fn register(&self, label: &str) -> Result<Owner> {
        self.store.register(label).await
    }

    async fn claim(&self, thread: &ThreadId, owner: &Owner) -> Result<Epoch> {
        self.store.claim(thread, owner).await
    }

    async fn release(&self, thread: &ThreadId, epoch: Epoch) -> Result<()> {
        self.store.release(thread, epoch).await
    }

    async fn accept(&self, request: AcceptRequest) -> Result<AcceptReply> {
        self.store.accept(request).await
    }

    async fn load(&self, thread: &ThreadId) -> Result<ThreadRecord> {
        self.store.load(thread).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Head> {
        self.store.head(thread).await
    }

    async fn sync(&self, request: SyncRequest) -> Result<()> {
        self.store.sync(request).await
    }

    async fn mark_committed(&self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<()> {
        self.store.mark_committed(thread, epoch, step).await
    }

    async fn history(&self, thread: &ThreadId, before: Option<Step>, max_bytes: u64) -> Result<HistoryPage> {
        self.store.history(thread, before, max_bytes).await
    }

    async fn threads(&self, range: ThreadsAfter) -> Result<Vec<ThreadSummary>> {
        self.store.threads(range).await
    }

    async fn fork(&self, parent: &ThreadId, step: Step, thread: &ThreadId, at: Timestamp) -> Result<()> {
        self.store.fork(parent, step, thread, at).await
    }

    async fn delete(&self, thread: &ThreadId) -> Result<()> {
        self.store.delete(thread).await
    }

    async fn put_blob(&self, thread: &ThreadId, id: &str, bytes: Vec<u8>) -> Result<()> {
        self.store.put_blob(thread, id, bytes).await
    }

    async fn blob(&self, thread: &ThreadId, id: &str, offset: u64, max_bytes: u64) -> Result<Vec<u8>> {
        self.store.blob(thread, id, offset, max_bytes).await
    }
}
