//! [`PromptStore`]: a store whose operations take no time.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use async_trait::async_trait;
use selvedge_event::{Step, ThreadId, Timestamp};
use selvedge_store::{
    AcceptReply, AcceptRequest, ConversationStore, Epoch, Head, HistoryPage, Owner, StoreError, SyncRequest,
    ThreadRecord, ThreadSummary, ThreadsAfter,
};

/// A store that works on threads of its own, used as if it answered at once: whoever asks is blocked until it has.
///
/// Under tokio's paused time, everybody who waits lets time pass, and who waits for another OS thread lets very much of it
/// pass. Here nobody waits, so a run over such a store is as deterministic as one over a
/// [`MemoryStore`](selvedge_store::MemoryStore). The store must have been opened on another runtime than the one that it
/// is used on.
#[derive(Debug, Clone)]
pub struct PromptStore(Arc<dyn ConversationStore>);

impl PromptStore {
    /// A store that answers when asked.
    pub fn new(store: Arc<dyn ConversationStore>) -> Self {
        Self(store)
    }
}

/// Waits here until a future has ended.
fn now<T>(future: impl Future<Output = T>) -> T {
    // Without a budget: a future that has used its own up would wait for a scheduler that is blocked here.
    let mut future = pin!(tokio::task::unconstrained(future));
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[async_trait]
impl ConversationStore for PromptStore {
    async fn register(&self, label: &str) -> Result<Owner, StoreError> {
        now(self.0.register(label))
    }

    async fn claim(&self, thread: &ThreadId, owner: &Owner) -> Result<Epoch, StoreError> {
        now(self.0.claim(thread, owner))
    }

    async fn release(&self, thread: &ThreadId, epoch: Epoch) -> Result<(), StoreError> {
        now(self.0.release(thread, epoch))
    }

    async fn accept(&self, request: AcceptRequest) -> Result<AcceptReply, StoreError> {
        now(self.0.accept(request))
    }

    async fn load(&self, thread: &ThreadId) -> Result<ThreadRecord, StoreError> {
        now(self.0.load(thread))
    }

    async fn head(&self, thread: &ThreadId) -> Result<Head, StoreError> {
        now(self.0.head(thread))
    }

    async fn sync(&self, request: SyncRequest) -> Result<(), StoreError> {
        now(self.0.sync(request))
    }

    async fn mark_committed(&self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<(), StoreError> {
        now(self.0.mark_committed(thread, epoch, step))
    }

    async fn history(
        &self,
        thread: &ThreadId,
        before: Option<Step>,
        max_bytes: u64,
    ) -> Result<HistoryPage, StoreError> {
        now(self.0.history(thread, before, max_bytes))
    }

    async fn threads(&self, range: ThreadsAfter) -> Result<Vec<ThreadSummary>, StoreError> {
        now(self.0.threads(range))
    }

    async fn unfinished(&self) -> Result<Vec<ThreadId>, StoreError> {
        now(self.0.unfinished())
    }

    async fn fork(&self, parent: &ThreadId, step: Step, thread: &ThreadId, at: Timestamp) -> Result<(), StoreError> {
        now(self.0.fork(parent, step, thread, at))
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), StoreError> {
        now(self.0.delete(thread))
    }

    async fn put_blob(&self, thread: &ThreadId, id: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        now(self.0.put_blob(thread, id, bytes))
    }

    async fn blob(&self, thread: &ThreadId, id: &str, offset: u64, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        now(self.0.blob(thread, id, offset, max_bytes))
    }
}
