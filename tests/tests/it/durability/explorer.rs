//! A run that is struck at chosen points, restarted each time, and finished: what S16 is made of.
//!
//! The run is two user texts to thread `t`, the first of which makes the model call a tool. A client insists until each
//! text is accepted. A process that dies is followed by another on the same store.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use selvedge::event::Message;
use selvedge::model::{Gate, RequestMessage};
use selvedge::prelude::*;
use selvedge::store::ToolDelivery;
use selvedge_testkit::{Fault, Moment, Seen, Select, Watcher};
use selvedge_tests::{Mode, World, in_paused_time};

use crate::durability::kit::{Reached, results, user_texts};

/// Tries of anything before the run counts as stuck.
const TRIES: usize = 50;

/// Where a process is struck. Everything counts from the process's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// At the nth operation of its store: it fails, or the process dies.
    Store(usize, Fault),
    /// The process dies in its nth commit hook, before or after the hook has done its part.
    Commit(usize, Moment),
    /// The process dies in the nth call that reaches its tool, before or after the tool has done its part.
    Tool(usize, Moment),
}

impl Point {
    /// Whether the process dies.
    pub(crate) fn is_death(self) -> bool {
        !matches!(self, Self::Store(_, Fault::FailBefore | Fault::FailAfter))
    }

    /// Whether the process dies when the store, the hook or the tool has done its part.
    pub(crate) fn is_death_after(self) -> bool {
        matches!(self, Self::Store(_, Fault::DieAfter) | Self::Commit(_, Moment::After) | Self::Tool(_, Moment::After))
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    /// What the history shows.
    pub(crate) items: Vec<Item>,
    /// The status of each result.
    pub(crate) statuses: Vec<ToolStatus>,
    /// What the user said.
    pub(crate) texts: Vec<String>,
    /// Each time the tool did its part: key and attempt.
    pub(crate) reached: Vec<(String, u32)>,
    /// How many strikes were not needed, because the run ended before them.
    pub(crate) spared: usize,
    /// All points of the last process.
    pub(crate) points: Vec<Point>,
}

/// Runs to the end, while the first process is struck at the first point, the second at the second, and so on.
pub(crate) fn run(mode: Mode, delivery: ToolDelivery, strikes: &[Point]) -> Ended {
    let strikes = strikes.iter().copied().collect();
    in_paused_time(async move {
        let mut run = Run::new(mode, delivery, strikes).await;
        for text in ["hello", "bye"] {
            run.deliver(text).await;
            run.work_off(text).await;
        }
        run.outcome().await
    })
}

struct Run {
    world: World,
    mode: Mode,
    act: Act,
    strikes: VecDeque<Point>,
    /// Where a commit or a call of the process that runs is held to the death.
    held: Gate,
    /// Operations and commits before the process that runs was armed.
    before: (usize, usize),
}

impl Run {
    async fn new(mode: Mode, delivery: ToolDelivery, strikes: VecDeque<Point>) -> Self {
        let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::default());
        let watcher = Watcher::new();
        let act = Act { store: store.clone(), watcher: watcher.clone(), inner: Arc::default() };
        let (model, tool) = (model(), act.clone());
        let world = World::watched(mode, store, watcher, move |builder| {
            builder.model(model.clone()).tool(tool.clone().tool(delivery))
        })
        .await;
        let mut run = Self { world, mode, act, strikes, held: Gate::new(), before: (0, 0) };
        run.arm();
        run
    }

    /// Prepares the next strike for the process that has just started.
    fn arm(&mut self) {
        self.held = Gate::new();
        self.before = (self.world.faults().log().len(), self.commits());
        self.act.lock().calls = 0;
        match self.strikes.pop_front() {
            Some(Point::Store(n, fault)) => self.world.faults().inject(Select::any().nth(n as u64), fault),
            Some(Point::Commit(n, moment)) => {
                self.world.watcher.hold_commit(u32::try_from(n).unwrap(), moment, &self.held);
            }
            Some(Point::Tool(n, moment)) => self.act.lock().strike = Some((n, moment, self.held.clone())),
            None => {}
        }
    }

    /// Sends a text until it is accepted, and attaches.
    async fn deliver(&mut self, text: &str) {
        for _ in 0..TRIES {
            let accepted = self.attempt(async |world: &World| world.send("t", text, Input::text(text)).await.is_ok());
            if accepted.await {
                return;
            }
        }
        panic!("{text:?} is not accepted");
    }

    /// Lets the thread work until it has answered a text and has nothing more to do.
    async fn work_off(&mut self, text: &str) {
        let mode = self.mode;
        for _ in 0..TRIES {
            let worked = self.attempt(async |world: &World| match mode {
                Mode::Local => {
                    // A thread that cannot be loaded at once has nobody attached.
                    drop(world.system().subscribe(&"t".into(), ()).await);
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    true
                }
                Mode::Step => world.runner().run(&"t".into()).await.is_ok(),
            });
            if worked.await && self.has_answered(text).await {
                return;
            }
            // A worker's queue delivers again after a while.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("{text:?} is not answered");
    }

    async fn has_answered(&self, text: &str) -> bool {
        let messages = self.world.messages("t").await;
        let record = self.world.store.load(&"t".into()).await.unwrap();
        let stopped = |message: &Message| match message {
            Message::Assistant(answer) => answer.outcome == selvedge::event::Outcome::Stopped,
            _ => false,
        };
        user_texts(&messages).iter().any(|known| known == text)
            && messages.last().is_some_and(stopped)
            && record.inbox.is_empty()
            && record.open_calls.is_empty()
    }

    /// Works, unless the process dies of it: then another is started, and the work counts as not done.
    async fn attempt(&mut self, work: impl AsyncFnOnce(&World) -> bool) -> bool {
        let done = tokio::select! {
            biased;
            () = struck(&self.world, &self.held) => None,
            done = work(&self.world) => Some(done),
        };
        if done.is_none() || self.world.faults().is_dead() {
            self.world.crash_and_restart(&["t"]).await;
            self.arm();
            return false;
        }
        done == Some(true)
    }

    async fn outcome(self) -> Ended {
        self.world.check("t").await;
        let violations = std::mem::take(&mut self.act.lock().violations);
        assert!(violations.is_empty(), "{violations:#?}");
        let messages = self.world.messages("t").await;
        let operations = self.world.faults().log().len() - self.before.0;
        let faults = [Fault::FailBefore, Fault::FailAfter, Fault::DieBefore, Fault::DieAfter];
        let stores = (1..=operations).flat_map(|n| faults.map(|fault| Point::Store(n, fault)));
        let hooks = (1..=self.commits() - self.before.1).flat_map(|n| Moment::BOTH.map(|at| Point::Commit(n, at)));
        let calls = (1..=self.act.lock().calls).flat_map(|n| Moment::BOTH.map(|at| Point::Tool(n, at)));
        Ended {
            items: selvedge_testkit::transcript_of(&self.world.history("t").await).items().to_vec(),
            statuses: results(&messages).iter().map(|result| result.status).collect(),
            texts: user_texts(&messages),
            reached: self.act.lock().reached.all(),
            spared: self.strikes.len(),
            points: stores.chain(hooks).chain(calls).collect(),
        }
    }

    /// Commits that were begun, in all processes.
    fn commits(&self) -> usize {
        self.world.watcher.log().iter().filter(|seen| **seen == Seen::Committing).count()
    }
}

/// Waits until the process is dead, or held where it is to die.
async fn struck(world: &World, held: &Gate) {
    while !world.faults().is_dead() && held.reached().now_or_never().is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Says something, calls the tool once, and answers; every later text is answered at once.
fn model() -> ScriptedModel {
    ScriptedModel::from_fn(|request| match request.context.last() {
        Some(RequestMessage::User(text)) if &**text == "hello" => {
            Reply::new().think("hm").say("let me ").pause().say("see").and_call("act", "{}").usage(3, 2)
        }
        Some(RequestMessage::User(text)) => Reply::text(format!("you said {text}")).usage(2, 1),
        _ => Reply::text("do").pause().say("ne").usage(5, 1),
    })
}

/// The tool: it looks whether it may have been called, does its part, and can be struck before and after.
#[derive(Clone)]
struct Act {
    store: Arc<dyn ConversationStore>,
    watcher: Watcher,
    inner: Arc<Mutex<ActInner>>,
}

#[derive(Default)]
struct ActInner {
    reached: Reached,
    /// Calls since the process started.
    calls: usize,
    strike: Option<(usize, Moment, Gate)>,
    violations: Vec<String>,
}

impl Act {
    fn tool(self, delivery: ToolDelivery) -> impl Tool + 'static {
        tool(ToolSpec::new("act", "Does something.").with_delivery(delivery), move |call: ToolContext| {
            let act = self.clone();
            async move {
                act.act(&call).await;
                Ok(ToolOutput::text("acted"))
            }
        })
    }

    async fn act(&self, call: &ToolContext) {
        let strike = {
            let mut inner = self.lock();
            inner.calls += 1;
            let n = inner.calls;
            inner.strike.take_if(|(nth, ..)| *nth == n)
        };
        if let Some((_, Moment::Before, gate)) = &strike {
            gate.pass().await;
        }
        self.look(call).await;
        self.lock().reached.note(call);
        if let Some((_, Moment::After, gate)) = &strike {
            gate.pass().await;
        }
    }

    /// No call without a durable record of it, and none before a commit.
    async fn look(&self, call: &ToolContext) {
        let record = self.store.load(call.thread_id()).await.unwrap();
        if !record.open_calls.iter().any(|open| open.call_id == *call.call_id()) {
            self.lock().violations.push(format!("{} is dispatched and not durable", call.call_id()));
        }
        if !self.watcher.log().contains(&Seen::Committed) {
            self.lock().violations.push(format!("{} is dispatched and not committed", call.call_id()));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ActInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
