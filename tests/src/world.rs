//! A world for a test: a store, a model, tools and a watcher, driven in local mode or in step mode.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use selvedge::Builder;
use selvedge::event::{ChoiceId, History, InputId, Message, Timestamp};
use selvedge::prelude::*;
use selvedge::runtime::{AnswerError, Limits, SendError, StepError};
use selvedge::store::{Acceptance, NewInput, ThreadRecord};
use selvedge_testkit::{FaultStore, Select, TokioClock, Watcher, transcript_of};
use tokio::task::JoinSet;

/// How the threads of a world are driven. A behaviour suite runs over both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Resident threads, on the test's own `LocalSet`.
    Local,
    /// One call per step.
    Step,
}

type Wiring = Arc<dyn Fn(Builder<fn() -> NullObserver>) -> Builder<fn() -> NullObserver>>;

/// A store, a model, tools and a watcher. Ends with the checks that hold for every test.
#[expect(missing_debug_implementations, reason = "a test has no use for it")]
pub struct World {
    /// Where the threads are durable.
    pub store: Arc<dyn ConversationStore>,
    /// Sees everything.
    pub watcher: Watcher,
    mode: Mode,
    wiring: Wiring,
    limits: Limits,
    driven: Driven,
    /// Between the store and the process that runs now; dies with it.
    faults: FaultStore,
    /// Runs of step mode that nobody waits for yet.
    background: RefCell<JoinSet<()>>,
}

enum Driven {
    Local(RunningSystem<()>),
    Step(Rc<StepRunner<Watcher>>),
    Down,
}

/// Runs a test on a runtime whose time is paused, within a `LocalSet`: waits cost nothing.
///
/// # Panics
/// When the test does, or takes more than an hour of paused time.
pub fn in_paused_time<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a current-thread runtime");
    let test = async { tokio::time::timeout(Duration::from_secs(3600), test).await.expect("the test hangs") };
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

impl World {
    /// A world over a fresh `MemoryStore`; `wiring` adds the model, tools and whatever else.
    pub async fn new(
        mode: Mode,
        wiring: impl Fn(Builder<fn() -> NullObserver>) -> Builder<fn() -> NullObserver> + 'static,
    ) -> Self {
        Self::over(mode, Arc::new(MemoryStore::default()), wiring).await
    }

    /// A world over a store.
    pub async fn over(
        mode: Mode,
        store: Arc<dyn ConversationStore>,
        wiring: impl Fn(Builder<fn() -> NullObserver>) -> Builder<fn() -> NullObserver> + 'static,
    ) -> Self {
        Self::watched(mode, store, Watcher::new(), wiring).await
    }

    /// A world over a store whose watcher is made before it, for tools that leave notes.
    pub async fn watched(
        mode: Mode,
        store: Arc<dyn ConversationStore>,
        watcher: Watcher,
        wiring: impl Fn(Builder<fn() -> NullObserver>) -> Builder<fn() -> NullObserver> + 'static,
    ) -> Self {
        let mut limits = Limits::default();
        // Every event is followed by a chance to attach.
        limits.events_between_yields = 1;
        limits.idle = Duration::from_secs(1);
        let faults = FaultStore::new(store.clone());
        let (wiring, background) = (Arc::new(wiring), RefCell::default());
        let mut world = Self { store, watcher, mode, wiring, limits, driven: Driven::Down, faults, background };
        world.start().await;
        world
    }

    /// How the threads are driven.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Other limits from the next start on.
    pub fn limits(&mut self) -> &mut Limits {
        &mut self.limits
    }

    /// Starts the world, after it was stopped or crashed.
    pub async fn start(&mut self) {
        let watcher = self.watcher.clone();
        self.faults = FaultStore::new(self.store.clone());
        let builder = System::builder().clock(TokioClock::starting_at(1_764_500_000_000)).limits(self.limits.clone());
        let builder = (self.wiring)(builder.store(self.faults.clone()));
        let builder = builder.observer(move || watcher.clone());
        self.driven = match self.mode {
            Mode::Local => Driven::Local(builder.start_local().await.expect("the system starts")),
            Mode::Step => Driven::Step(Rc::new(builder.step_runner().await.expect("the runner starts"))),
        };
    }

    /// The faults of the process that runs now. Each start has its own.
    pub fn faults(&self) -> &FaultStore {
        &self.faults
    }

    /// The system of local mode.
    pub fn system(&self) -> &RunningSystem<()> {
        match &self.driven {
            Driven::Local(system) => system,
            _ => panic!("the world is not in local mode"),
        }
    }

    /// The runner of step mode.
    pub fn runner(&self) -> &StepRunner<Watcher> {
        match &self.driven {
            Driven::Step(runner) => runner,
            _ => panic!("the world is not in step mode"),
        }
    }

    /// Sends an input.
    pub async fn send(&self, thread: &str, id: &str, input: Input) -> Result<Acceptance, SendError> {
        let (thread, id) = (ThreadId::from(thread), InputId::from(id));
        match &self.driven {
            Driven::Local(system) => system.send(&thread, id, input).await,
            Driven::Step(runner) => runner.send(&thread, id, input).await,
            Driven::Down => Err(SendError::ShutDown),
        }
    }

    /// Sends user texts, each with itself as its id, to be accepted together; in step mode one after the other, while no
    /// step runs.
    pub async fn send_texts(&self, thread: &str, texts: &[&str]) -> Result<Vec<Acceptance>, SendError> {
        let Driven::Local(system) = &self.driven else {
            let mut acceptances = Vec::new();
            for text in texts {
                acceptances.push(self.send(thread, text, Input::text(*text)).await?);
            }
            return Ok(acceptances);
        };
        let at = Timestamp(0);
        let inputs = texts.iter().map(|text| NewInput { id: (*text).into(), input: Input::text(*text), at });
        system.send_all(&thread.into(), inputs.collect()).await
    }

    /// Sends user text, with itself as its id, and lets the thread come to rest.
    pub async fn say(&self, thread: &str, text: &str) {
        self.send(thread, text, Input::text(text)).await.expect("the text is accepted");
        self.rest(thread).await;
    }

    /// Lets a thread run, as far as it can, while the test goes on. In step mode this is the worker that somebody calls
    /// after each input; in local mode the thread runs by itself.
    pub fn go(&self, thread: &str) {
        let Driven::Step(runner) = &self.driven else { return };
        let (runner, thread) = (runner.clone(), ThreadId::from(thread));
        self.background.borrow_mut().spawn_local(async move {
            for _ in 0..20 {
                if runner.run(&thread).await.is_ok() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
    }

    /// Lets a thread run until it is idle, or waits for somebody else.
    pub async fn rest(&self, thread: &str) {
        self.try_rest(thread).await.expect("the steps go through");
    }

    /// As [`rest`](Self::rest), but a step of step mode may fail.
    pub async fn try_rest(&self, thread: &str) -> Result<(), StepError> {
        match &self.driven {
            Driven::Local(_) => {
                // The step that comes next may have nothing in the inbox either: nobody asks anything of the store for
                // longer than any completion that a script does not hold up.
                let mut asked = None;
                while asked != Some(self.faults.count(&Select::any())) {
                    self.until(thread, |record| record.inbox.is_empty() && record.open_calls.is_empty()).await;
                    asked = Some(self.faults.count(&Select::any()));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
            Driven::Step(runner) => {
                let background = self.background.take();
                background.join_all().await;
                runner.run(&thread.into()).await?;
            }
            Driven::Down => {}
        }
        Ok(())
    }

    /// Waits until the record of a thread is as wanted.
    pub async fn until(&self, thread: &str, wanted: impl Fn(&ThreadRecord) -> bool) {
        loop {
            if let Ok(record) = self.store.load(&thread.into()).await
                && wanted(&record)
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Answers a choice.
    pub async fn answer(&self, thread: &str, choice: &ChoiceId, selected: usize) -> Result<(), AnswerError> {
        match &self.driven {
            Driven::Local(system) => system.answer(&thread.into(), choice.clone(), selected).await,
            Driven::Step(runner) => runner.answer(&thread.into(), choice.clone(), selected).await,
            Driven::Down => Err(SendError::ShutDown.into()),
        }
    }

    /// Interrupts a thread.
    pub async fn interrupt(&self, thread: &str) -> Result<(), SendError> {
        match &self.driven {
            Driven::Local(system) => system.interrupt(&thread.into()).await,
            Driven::Step(runner) => runner.interrupt(&thread.into()).await,
            Driven::Down => Err(SendError::ShutDown),
        }
    }

    /// The process dies where it stands, and another starts on the store. Threads that a test goes on to check must be
    /// named, so that their viewers begin again from what is durable.
    pub async fn crash_and_restart(&mut self, threads: &[&str]) {
        self.crash();
        // Tasks of the dead process are dropped before the next one starts.
        tokio::time::sleep(Duration::from_millis(1)).await;
        for thread in threads {
            self.watcher.restarted(&(*thread).into(), &self.durable(thread).await);
        }
        self.start().await;
    }

    /// The process dies where it stands: of what it still does, nothing reaches the store.
    pub fn crash(&mut self) {
        self.faults.die();
        self.background.take().abort_all();
        self.driven = Driven::Down;
    }

    /// The process ends in order, and another starts on the store.
    pub async fn restart(&mut self, threads: &[&str]) {
        if let Driven::Local(system) = &self.driven {
            system.shutdown().await;
        }
        self.crash_and_restart(threads).await;
    }

    /// Viewers of a thread begin with what is durable of it now: for one that the watcher has not seen begin, as a fork.
    pub async fn seen_from_now(&self, thread: &str) {
        self.watcher.restarted(&thread.into(), &self.durable(thread).await);
    }

    /// What is durable of a thread, as somebody would see it who attached before anything else happens.
    async fn durable(&self, thread: &str) -> ReplaySnapshot {
        let record = self.store.load(&thread.into()).await.ok();
        let (created_at, step, committed) =
            record.as_ref().map(|record| (record.created_at, record.head.step, record.committed)).unwrap_or_default();
        let (choices, oauth, views, usage) =
            record.map(|record| (record.choices, record.oauth, record.views, record.usage)).unwrap_or_default();
        let pending = choices.into_iter().filter(|(_, resolution)| resolution.is_none());
        ReplaySnapshot {
            thread_id: thread.into(),
            created_at,
            step,
            committed,
            history: self.history(thread).await,
            older: None,
            partial: None,
            open_calls: Vec::new(),
            choices: pending.map(|(choice, _)| choice).collect(),
            oauth,
            views,
            usage,
        }
    }

    /// The whole durable history of a thread.
    pub async fn history(&self, thread: &str) -> History {
        match self.store.history(&thread.into(), None, u64::MAX).await {
            Ok(page) => page.turns.into_iter().collect(),
            Err(_) => History::default(),
        }
    }

    /// The durable messages of a thread.
    pub async fn messages(&self, thread: &str) -> Vec<Message> {
        self.history(thread).await.iter().flat_map(|turn| turn.messages.clone()).collect()
    }

    /// What the history of a thread shows.
    pub async fn shown(&self, thread: &str) -> Vec<ItemKind> {
        transcript_of(&self.history(thread).await).items().iter().map(|item| item.kind.clone()).collect()
    }

    /// Oracle F for a thread at rest.
    pub async fn check(&self, thread: &str) {
        self.watcher.check(thread, &self.history(thread).await);
    }
}

/// The text items of what is shown, joined by `|`.
pub fn text_of(shown: &[ItemKind]) -> String {
    let texts = shown.iter().filter_map(|kind| match kind {
        ItemKind::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("|")
}
