//! A stage on which an observer is led through steps as the runtime leads it: by the real barrier, over a real store.

use std::collections::HashMap;
use std::sync::Arc;

use selvedge_barrier::{ResumedTurn, Synced, Turn, TurnDraft, resume};
use selvedge_event::{AgentEvent, Discard, History, Input, Step, ThreadId, Timestamp, TurnRecord, replay};
use selvedge_observer::{BoxError, NullObserver, ThreadObserver};
use selvedge_store::{
    AcceptRequest, ConversationStore, Create, Epoch, MemoryStore, NewInput, Owner, StoreErrorKind, SyncToken,
};

use super::ObserverHarness;
use super::scenes::Scene;

pub(super) struct Stage<H: ObserverHarness> {
    pub(super) harness: H,
    pub(super) store: Arc<dyn ConversationStore>,
    process: Option<Process<H::Observer>>,
    now: Timestamp,
}

/// What dies in a crash.
struct Process<O> {
    observer: O,
    owner: Owner,
    epochs: HashMap<ThreadId, Epoch>,
}

impl<H: ObserverHarness> Stage<H> {
    pub(super) async fn new() -> Self {
        let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::default());
        let harness = H::fresh(store.clone()).await;
        let mut stage = Self { harness, store, process: None, now: Timestamp(1_000) };
        stage.start().await;
        stage
    }

    async fn start(&mut self) {
        let owner = self.store.register("conformance").await.expect("the store works");
        self.process = Some(Process { observer: self.harness.observers()(), owner, epochs: HashMap::new() });
    }

    /// The process dies where it stands, and another starts.
    pub(super) async fn crash(&mut self) {
        self.process = None;
        self.harness.restart().await;
        self.start().await;
    }

    fn process(&self) -> &Process<H::Observer> {
        self.process.as_ref().expect("a process runs")
    }

    pub(super) fn observer(&self) -> &H::Observer {
        &self.process().observer
    }

    /// The claim on a thread, which is made if it does not exist.
    async fn epoch(&mut self, thread: &ThreadId) -> Epoch {
        let process = self.process.as_mut().expect("a process runs");
        if let Some(epoch) = process.epochs.get(thread) {
            return *epoch;
        }
        let claimed = match self.store.claim(thread, &process.owner).await {
            Err(error) if error.kind() == StoreErrorKind::NotFound => {
                let input = NewInput { id: "first".into(), input: Input::text("first"), at: self.now };
                let create = Create::Unclaimed;
                let request = AcceptRequest { thread: thread.clone(), inputs: vec![input], create };
                self.store.accept(request).await.expect("the store works");
                self.store.claim(thread, &process.owner).await
            }
            claimed => claimed,
        };
        let epoch = claimed.expect("nobody else has the thread");
        process.epochs.insert(thread.clone(), epoch);
        epoch
    }

    /// The number of the step that comes next.
    pub(super) async fn next(&mut self, thread: &ThreadId) -> Step {
        self.epoch(thread).await;
        self.store.head(thread).await.expect("the thread exists").step + 1
    }

    pub(super) fn emit(&self, thread: &ThreadId, events: &[AgentEvent]) {
        events.iter().for_each(|event| self.observer().on_event(thread.as_str(), event));
    }

    /// Begins the next step of a thread, up to and including its sync.
    pub(super) async fn synced(&mut self, thread: &ThreadId, scene: &Scene) -> Turn<Synced> {
        let step = self.next(thread).await;
        let scene = scene.at(step);
        for choice in &scene.dismissed {
            self.observer()
                .on_user_choice_dismissed(thread.as_str(), choice.as_str())
                .await
                .expect("the hook succeeds");
        }
        self.emit(thread, &scene.events);
        self.sync(thread, scene).await
    }

    async fn sync(&mut self, thread: &ThreadId, scene: super::scenes::Acted) -> Turn<Synced> {
        let step = scene.step;
        let draft = TurnDraft {
            thread: thread.clone(),
            epoch: self.epoch(thread).await,
            record: Arc::new(TurnRecord { step, at: Timestamp(1_000 + step as i64), messages: scene.messages }),
            token: SyncToken(step),
            committed: 0,
            changes: scene.changes,
        };
        Turn::stage(draft).sync(&*self.store).await.expect("the turn is synced")
    }

    /// The next step of a thread, whole.
    pub(super) async fn step(&mut self, thread: &ThreadId, scene: &Scene) {
        let turn = self.synced(thread, scene).await;
        turn.commit(self.observer()).await.expect("the hooks succeed");
    }

    /// The next step of a thread, while somebody else drives it, with another observer.
    pub(super) async fn step_elsewhere(&mut self, thread: &ThreadId, scene: &Scene) {
        let step = self.next(thread).await;
        let turn = self.sync(thread, scene.at(step)).await;
        turn.commit(&NullObserver).await.expect("it does nothing");
    }

    /// Turns that others appended after a step, as a driver shows them when it has noticed.
    pub(super) async fn show_since(&self, thread: &ThreadId, seen: Step) {
        let history = self.history(thread).await;
        for turn in history.iter().filter(|turn| turn.step > seen) {
            self.emit(thread, &replay::turn(turn));
        }
    }

    /// A synced step again, as it is when its hook has erred or its process has died: the announcement, and its events.
    pub(super) fn emit_again(&self, turn: &Turn<Synced>) {
        let record = turn.record();
        let discarded = AgentEvent::TurnDiscarded { step: record.step, attempt: 0, scope: Discard::Step };
        self.emit(turn.thread(), &[discarded]);
        self.emit(turn.thread(), &replay::turn(record));
    }

    /// The newest step of a thread, as a new process finds it. No step is ever marked as committed here, as if each mark
    /// had been lost.
    pub(super) async fn found(&mut self, thread: &ThreadId) -> Turn<Synced> {
        let epoch = self.epoch(thread).await;
        let record = self.store.load(thread).await.expect("the thread exists");
        let last = self.history(thread).await.last().filter(|turn| turn.step == record.head.step).cloned();
        match resume(&record, epoch, last, |_, _| None).turn {
            ResumedTurn::Synced(turn) => turn,
            ResumedTurn::Committed(_) => panic!("no step is marked as committed"),
        }
    }

    /// What a new process does first with a thread.
    pub(super) async fn resume(&mut self, thread: &ThreadId) {
        let turn = self.found(thread).await;
        self.emit_again(&turn);
        turn.commit(self.observer()).await.expect("the hooks succeed");
    }

    /// The thread is deleted, by somebody who tells nobody. One that begins later is created at another time.
    pub(super) async fn delete(&mut self, thread: &ThreadId) {
        let process = self.process.as_mut().expect("a process runs");
        let epoch = process.epochs.remove(thread).expect("the thread has been claimed");
        self.store.release(thread, epoch).await.expect("the store works");
        self.store.delete(thread).await.expect("nobody has the thread");
        self.now.0 += 1;
    }

    pub(super) async fn history(&self, thread: &ThreadId) -> History {
        match self.store.history(thread, None, u64::MAX).await {
            Ok(page) => page.turns.into_iter().collect(),
            Err(_) => History::default(),
        }
    }

    /// What is committed of a thread is what its history says.
    pub(super) async fn check(&self, thread: &ThreadId, when: &str) {
        let derived = self.harness.derived(thread, &self.history(thread).await);
        let committed = self.harness.committed(thread).await;
        assert!(
            committed == derived,
            "{when}: what is committed of {thread} is not what its history says\n committed: {committed}\n   \
             history: {derived}"
        );
    }
}

/// Polls a hook a number of times and drops it. Whether it has ended before.
pub(super) async fn cut_off(hook: impl Future<Output = Result<(), BoxError>>, polls: usize) -> bool {
    let mut hook = std::pin::pin!(hook);
    for _ in 0..polls {
        let polled = std::future::poll_fn(|context| std::task::Poll::Ready(hook.as_mut().poll(context)));
        if let std::task::Poll::Ready(ended) = polled.await {
            ended.expect("the hook succeeds");
            return true;
        }
        // What the hook waits for may be done by somebody else.
        tokio::task::yield_now().await;
    }
    false
}
