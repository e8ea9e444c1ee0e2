//! [`FaultStore`]: a store that fails, stalls, loses an answer or dies where a test wants it to.

mod gate;
mod operation;
mod plan;

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use selvedge_event::{Step, ThreadId, Timestamp};
use selvedge_store::{
    AcceptReply, AcceptRequest, ConversationStore, Epoch, Head, HistoryPage, Owner, StoreError, StoreErrorKind,
    SyncRequest, ThreadRecord, ThreadSummary, ThreadsAfter,
};

use self::plan::{Effect, Lease, Plan};
pub use self::{
    gate::Gate,
    operation::{Operation, OperationKind, Select},
    plan::{Fault, Moment},
};

use crate::Chance;

/// A store that does what another does, but for the faults that a test asks for. Clones share faults and log, so that
/// a test keeps one and gives another away.
///
/// ```
/// use std::sync::Arc;
///
/// use selvedge_event::Timestamp;
/// use selvedge_store::{ConversationStore, MemoryStore, StoreErrorKind};
/// use selvedge_testkit::{Fault, FaultStore, OperationKind, Select};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let faults = FaultStore::new(Arc::new(MemoryStore::default()));
/// faults.inject(Select::kind(OperationKind::Head).nth(2), Fault::FailBefore);
///
/// let store: Arc<dyn ConversationStore> = Arc::new(faults.clone());
/// let mut kinds = Vec::new();
/// for _ in 0..3 {
///     kinds.push(store.head(&"t".into()).await.unwrap_err().kind());
/// }
/// assert_eq!(kinds, [StoreErrorKind::NotFound, StoreErrorKind::Unavailable, StoreErrorKind::NotFound]);
/// assert_eq!(faults.log().len(), 3);
/// # });
/// ```
///
/// # A crash
/// [`die`](Self::die), or one of the faults that do the same at a chosen operation, is the death of the process as the
/// store sees it: no operation is answered any more, and the owners that were registered through this store are dead,
/// though whoever holds them has not dropped them yet. A new `FaultStore` on the same inner store is the next process.
/// To strike at every point of a run, count its operations once, then run it anew for each of them and each [`Moment`].
#[derive(Debug, Clone)]
pub struct FaultStore {
    inner: Arc<dyn ConversationStore>,
    plan: Arc<Mutex<Plan>>,
}

impl FaultStore {
    /// A store without faults.
    pub fn new(inner: Arc<dyn ConversationStore>) -> Self {
        Self { inner, plan: Arc::default() }
    }

    /// The store behind the faults, which goes on when this one dies.
    pub fn inner(&self) -> &Arc<dyn ConversationStore> {
        &self.inner
    }

    /// Lets the selected operations fail. Of several faults that strike one operation, the one that was asked for first
    /// counts.
    pub fn inject(&self, select: Select, fault: Fault) {
        self.plan().add(select, Effect::Fault(fault));
    }

    /// Lets the selected operations wait for a while before they are done. Needs a runtime with time, which may be
    /// paused.
    pub fn delay(&self, select: Select, time: Duration) {
        self.plan().add(select, Effect::Delay(time));
    }

    /// Holds the selected operations, before they are done or before they answer, until the gate is opened or dropped.
    pub fn hold(&self, select: Select, moment: Moment) -> Gate {
        let (gate, passage) = gate::gate();
        self.plan().add(select, Effect::Hold(moment, passage));
        gate
    }

    /// Lets every operation pause by chance before it is done and before it answers: operations that are asked for at
    /// once end in any order.
    pub fn shuffle(&self, chance: &Chance) {
        self.plan().shuffle(chance.clone());
    }

    /// Takes back all that was asked for. Operations that are held stay held; a dead store stays dead.
    pub fn clear(&self) {
        self.plan().clear();
    }

    /// The process dies now, see [a crash](Self#a-crash).
    pub fn die(&self) {
        // Dropped outside the lock: the end of an owner may be anything to its store.
        let owners = self.plan().die();
        drop(owners);
    }

    /// Whether the process has died.
    pub fn is_dead(&self) -> bool {
        self.plan().is_dead()
    }

    /// All operations since the beginning, in the order in which they were asked for, also those that failed.
    pub fn log(&self) -> Vec<Operation> {
        self.plan().log().to_vec()
    }

    /// How many operations of a selection there were since the beginning; with [`Select::nth`], 0 or 1.
    pub fn count(&self, select: &Select) -> usize {
        select.of(self.plan().log()).count()
    }

    /// How much of histories was read since the beginning: the bytes of their messages' text.
    pub fn bytes_read(&self) -> u64 {
        self.plan().bytes_read
    }

    /// The plan, for as long as it takes to look at it: nobody waits for anything while holding it.
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().expect("bug: the plan of faults panicked")
    }

    /// Does an operation of the inner store, with the faults that are its lot.
    async fn run<T>(
        &self,
        kind: OperationKind,
        thread: Option<&ThreadId>,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let lot = self.plan().arrive(Operation { kind, thread: thread.cloned() })?;
        for time in lot.delays {
            tokio::time::sleep(time).await;
        }
        if let Some(chance) = &lot.chance {
            chance.pause().await;
        }
        for passage in lot.held_before {
            passage.pass().await;
        }
        match lot.fault {
            Some(Fault::DieBefore) => self.die(),
            Some(Fault::FailBefore) => return Err(unavailable("the operation was not done")),
            Some(Fault::Busy) => return Err(on_demand(StoreErrorKind::Busy, "somebody else holds the lock")),
            Some(Fault::FailAfter | Fault::DieAfter) | None => {}
        }
        self.plan().check_alive()?;

        let answer = operation.await;
        if let Some(chance) = &lot.chance {
            chance.pause().await;
        }
        for passage in lot.held_after {
            passage.pass().await;
        }
        match lot.fault {
            Some(Fault::DieAfter) => self.die(),
            Some(Fault::FailAfter) => return Err(unavailable("the answer of the operation was lost")),
            Some(Fault::FailBefore | Fault::Busy | Fault::DieBefore) | None => {}
        }
        self.plan().check_alive()?;
        answer
    }
}

fn unavailable(message: &str) -> StoreError {
    on_demand(StoreErrorKind::Unavailable, message)
}

fn on_demand(kind: StoreErrorKind, message: &str) -> StoreError {
    StoreError::new(kind, format!("fault on demand: {message}"))
}

#[async_trait]
impl ConversationStore for FaultStore {
    async fn register(&self, label: &str) -> Result<Owner, StoreError> {
        // The inner owner is kept here, where it can die; what the caller holds is only a hold on it.
        let register = async {
            let owner = self.inner.register(label).await?;
            let id = owner.id().clone();
            self.plan().keep(owner)?;
            Ok(Owner::new(id.clone(), Lease::of(id, &self.plan)))
        };
        self.run(OperationKind::Register, None, register).await
    }

    async fn claim(&self, thread: &ThreadId, owner: &Owner) -> Result<Epoch, StoreError> {
        self.run(OperationKind::Claim, Some(thread), self.inner.claim(thread, owner)).await
    }

    async fn release(&self, thread: &ThreadId, epoch: Epoch) -> Result<(), StoreError> {
        self.run(OperationKind::Release, Some(thread), self.inner.release(thread, epoch)).await
    }

    async fn accept(&self, request: AcceptRequest) -> Result<AcceptReply, StoreError> {
        let thread = request.thread.clone();
        self.run(OperationKind::Accept, Some(&thread), self.inner.accept(request)).await
    }

    async fn load(&self, thread: &ThreadId) -> Result<ThreadRecord, StoreError> {
        self.run(OperationKind::Load, Some(thread), self.inner.load(thread)).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Head, StoreError> {
        self.run(OperationKind::Head, Some(thread), self.inner.head(thread)).await
    }

    async fn sync(&self, request: SyncRequest) -> Result<(), StoreError> {
        let thread = request.thread.clone();
        self.run(OperationKind::Sync, Some(&thread), self.inner.sync(request)).await
    }

    async fn mark_committed(&self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<(), StoreError> {
        let mark = self.inner.mark_committed(thread, epoch, step);
        self.run(OperationKind::MarkCommitted, Some(thread), mark).await
    }

    async fn history(
        &self,
        thread: &ThreadId,
        before: Option<Step>,
        max_bytes: u64,
    ) -> Result<HistoryPage, StoreError> {
        let history = self.inner.history(thread, before, max_bytes);
        let page = self.run(OperationKind::History, Some(thread), history).await?;
        let messages = page.turns.iter().flat_map(|turn| &turn.messages);
        self.plan().bytes_read += messages.map(|message| message.text_bytes() as u64).sum::<u64>();
        Ok(page)
    }

    async fn threads(&self, range: ThreadsAfter) -> Result<Vec<ThreadSummary>, StoreError> {
        self.run(OperationKind::Threads, None, self.inner.threads(range)).await
    }

    async fn unfinished(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.run(OperationKind::Unfinished, None, self.inner.unfinished()).await
    }

    async fn fork(&self, parent: &ThreadId, step: Step, thread: &ThreadId, at: Timestamp) -> Result<(), StoreError> {
        self.run(OperationKind::Fork, Some(thread), self.inner.fork(parent, step, thread, at)).await
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.run(OperationKind::Delete, Some(thread), self.inner.delete(thread)).await
    }

    async fn put_blob(&self, thread: &ThreadId, id: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.run(OperationKind::PutBlob, Some(thread), self.inner.put_blob(thread, id, bytes)).await
    }

    async fn blob(&self, thread: &ThreadId, id: &str, offset: u64, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        self.run(OperationKind::Blob, Some(thread), self.inner.blob(thread, id, offset, max_bytes)).await
    }
}
