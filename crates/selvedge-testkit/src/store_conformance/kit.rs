//! What the cases have in common: how they write, read and crash. Only here and in the cases' subjects is the API used.

use std::{fmt::Debug, pin::Pin, sync::Arc};

use selvedge_event::{Input, Message, Step, ThreadId, Timestamp, TurnRecord, UserMessage};
use selvedge_store::{
    AcceptRequest, Acceptance, Changes, ConversationStore, Create, Epoch, NewInput, Owner, StoreError, StoreErrorKind,
    SyncRequest, SyncToken, ThreadRecord, ThreadSummary, ThreadsAfter,
};
use tokio::task::JoinSet;

use super::StoreHarness;

pub(super) type Store = Arc<dyn ConversationStore>;

/// An input that says its id.
pub(super) fn input(id: &str) -> NewInput {
    NewInput { id: id.into(), input: Input::text(format!("input {id}")), at: Timestamp(1_000) }
}

pub(super) fn inputs(ids: &[&str]) -> Vec<NewInput> {
    ids.iter().map(|id| input(id)).collect()
}

/// A message of user text.
pub(super) fn user(text: &str) -> Message {
    Message::User(Arc::new(UserMessage { input_id: "user".into(), text: text.into() }))
}

/// Accepts inputs, for a thread that is created where there is none.
pub(super) async fn accept(store: &Store, thread: &str, inputs: Vec<NewInput>) -> Vec<Acceptance> {
    let request = AcceptRequest { thread: thread.into(), inputs, create: Create::Unclaimed };
    store.accept(request).await.expect("an accept succeeds").acceptances
}

/// Creates a thread: the input `first` waits in it.
pub(super) async fn create(store: &Store, thread: &str) {
    let acceptances = accept(store, thread, vec![input("first")]).await;
    assert!(matches!(acceptances[..], [Acceptance::Accepted(_)]), "{thread} is new");
}

pub(super) async fn load(store: &Store, thread: &str) -> ThreadRecord {
    let record = store.load(&thread.into()).await.expect("a thread loads");
    assert_eq!(record.quarantined, [], "nothing was damaged");
    record
}

pub(super) async fn inbox_ids(store: &Store, thread: &str) -> Vec<String> {
    load(store, thread).await.inbox.iter().map(|entry| entry.id.to_string()).collect()
}

/// The whole history, in one page.
pub(super) async fn history(store: &Store, thread: &str) -> Vec<Arc<TurnRecord>> {
    let page = store.history(&thread.into(), None, u64::MAX).await.expect("a history loads");
    assert_eq!(page.quarantined, [], "nothing was damaged");
    assert_eq!(page.older, None, "a page without bound is the whole");
    page.turns
}

pub(super) fn steps(turns: &[Arc<TurnRecord>]) -> Vec<Step> {
    turns.iter().map(|turn| turn.step).collect()
}

/// The ids of all threads.
pub(super) async fn thread_ids(store: &Store) -> Vec<String> {
    summaries(store).await.iter().map(|summary| summary.thread.to_string()).collect()
}

pub(super) async fn summaries(store: &Store) -> Vec<ThreadSummary> {
    store.threads(ThreadsAfter { after: None, limit: usize::MAX }).await.expect("threads are listed")
}

/// The ids of unfinished threads, sorted.
pub(super) async fn unfinished(store: &Store) -> Vec<String> {
    let threads = store.unfinished().await.expect("unfinished threads are listed");
    let mut ids: Vec<String> = threads.iter().map(ThreadId::to_string).collect();
    ids.sort();
    ids
}

pub(super) async fn register(store: &Store) -> Owner {
    store.register("conformance").await.expect("an owner registers")
}

/// Takes the error of an operation that must be refused, and returns what it says.
#[track_caller]
pub(super) fn refused<T: Debug>(result: Result<T, StoreError>, kind: StoreErrorKind) -> String {
    let error = result.expect_err("the operation is refused");
    assert_eq!(error.kind(), kind, "{error}");
    error.to_string()
}

/// The process dies and starts again. All handles but `store` and all owners must be gone.
pub(super) async fn crash<H: StoreHarness>(harness: &mut H, store: Store) -> Store {
    drop(store);
    harness.reopen().await;
    harness.store()
}

/// All that can be seen of a store but its blobs.
#[derive(Debug, PartialEq)]
pub(super) struct Everything {
    threads: Vec<(ThreadRecord, Vec<Arc<TurnRecord>>)>,
    summaries: Vec<ThreadSummary>,
    unfinished: Vec<String>,
}

pub(super) async fn everything(store: &Store) -> Everything {
    let mut threads = Vec::new();
    for thread in thread_ids(store).await {
        threads.push((load(store, &thread).await, history(store, &thread).await));
    }
    Everything { threads, summaries: summaries(store).await, unfinished: unfinished(store).await }
}

/// A future that can run beside others.
pub(super) type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Runs futures at the same time, as tasks, and returns what they return in their order.
pub(super) async fn together<T: Send + 'static>(
    futures: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let mut tasks = JoinSet::new();
    for (place, future) in futures.into_iter().enumerate() {
        tasks.spawn(async move { (place, future.await) });
    }
    let mut results = tasks.join_all().await;
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Somebody who has claimed a thread and appends to it.
pub(super) struct Writer<'a> {
    store: &'a Store,
    thread: ThreadId,
    pub(super) owner: Owner,
    pub(super) epoch: Epoch,
    /// The newest step that it has synced or found.
    pub(super) step: Step,
}

impl<'a> Writer<'a> {
    /// Claims a thread for a new owner.
    pub(super) async fn of(store: &'a Store, thread: &str) -> Self {
        let (owner, thread) = (register(store).await, ThreadId::from(thread));
        let epoch = store.claim(&thread, &owner).await.expect("a free thread can be claimed");
        let step = store.head(&thread).await.expect("a thread has a head").step;
        Self { store, thread, owner, epoch, step }
    }

    /// The request that syncs the next step.
    pub(super) fn next(&self, messages: Vec<Message>, changes: Changes) -> SyncRequest {
        let step = self.step + 1;
        SyncRequest {
            thread: self.thread.clone(),
            epoch: self.epoch,
            turn: TurnRecord { step, at: at(step), messages },
            token: SyncToken(7_000 + step),
            committed: 0,
            changes,
        }
    }

    /// Syncs the next step.
    pub(super) async fn sync(&mut self, messages: Vec<Message>, changes: Changes) {
        self.store.sync(self.next(messages, changes)).await.expect("a sync of the next step succeeds");
        self.step += 1;
    }

    /// Syncs a step that appends one message.
    pub(super) async fn say(&mut self, text: &str) {
        self.sync(vec![user(text)], Changes::default()).await;
    }

    /// Syncs a step that appends nothing.
    pub(super) async fn change(&mut self, changes: Changes) {
        self.sync(Vec::new(), changes).await;
    }

    /// Marks a step as committed.
    pub(super) async fn mark(&self, step: Step) -> Result<(), StoreError> {
        self.store.mark_committed(&self.thread, self.epoch, step).await
    }

    /// Consumes all that waits in the inbox and marks the step that did so: the thread has nothing to do.
    pub(super) async fn finish(&mut self) {
        let consumed = load(self.store, self.thread.as_str()).await.inbox.iter().map(|entry| entry.seq).collect();
        self.change(Changes { consumed, ..Changes::default() }).await;
        self.mark(self.step).await.expect("a synced step can be marked");
    }
}

/// When a step is staged, in these cases.
pub(super) fn at(step: Step) -> Timestamp {
    Timestamp::default().plus_millis(1_000_000 + i64::try_from(step).expect("few steps"))
}

/// Creates a thread and appends a turn for each text.
pub(super) async fn thread_that_says(store: &Store, thread: &str, texts: &[&str]) {
    create(store, thread).await;
    let mut writer = Writer::of(store, thread).await;
    for text in texts {
        writer.say(text).await;
    }
}
