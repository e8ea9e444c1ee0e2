//! One run of a scenario: a client that insists, and a process after the other.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use selvedge::event::{InputId, Message, Step, Timestamp};
use selvedge::model::answer_wanted;
use selvedge::prelude::*;
use selvedge::runtime::{AnswerError, ForkError, Limits};
use selvedge::sqlite::{SqliteOptions, Synchronous};
use selvedge::store::{Acceptance, Origin, StoreErrorKind, ThreadRecord};
use selvedge_testkit::explorer::{Broken, Ended, Point, Probe, Same, Story, Strikes, Subject, Violation};
use selvedge_testkit::{PromptStore, Watcher, transcript_of};

use super::script::model;
use super::stage::Stage;
use super::tools::{TOOL_TEXT, long, with_tools};
use super::{Act, Scenario};
use crate::{Mode, World, in_paused_time};

/// Tries of anything before the run counts as stuck.
const TRIES: usize = 50;

/// Where the threads of a run are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// In a `MemoryStore`, which outlives its processes.
    Memory,
    /// In a `SqliteStore` with `NORMAL`, for the processes here die and the machine does not.
    Sqlite,
}

/// A scenario on a store, driven in one way: what the explorer runs.
#[derive(Debug, Clone)]
pub struct Explored {
    scenario: Arc<Scenario>,
    mode: Mode,
    disk: Disk,
}

impl Explored {
    /// A scenario as a subject.
    pub fn new(scenario: &Scenario, mode: Mode, disk: Disk) -> Self {
        Self { scenario: Arc::new(scenario.clone()), mode, disk }
    }

    fn run_acts(&self, acts: &[Act], strikes: &[Point]) -> Ended {
        match self.disk {
            Disk::Memory => in_paused_time(self.run_on(Arc::new(MemoryStore::default()), acts, strikes)),
            Disk::Sqlite => {
                let (folder, runtime) = (Folder::new(), sqlite_runtime());
                let options = SqliteOptions::default().synchronous(Synchronous::Normal);
                let store = runtime.block_on(options.open(folder.0.join("threads.db"))).expect("the database opens");
                let prompt = Arc::new(PromptStore::new(Arc::new(store.clone())));
                let ended = in_paused_time(self.run_on(prompt, acts, strikes));
                runtime.block_on(store.close());
                ended
            }
        }
    }

    async fn run_on(&self, store: Arc<dyn ConversationStore>, acts: &[Act], strikes: &[Point]) -> Ended {
        let mut run = Run::new(self.scenario.clone(), self.mode, store, strikes).await;
        for act in acts {
            run.act(act).await;
            if run.is_stuck() {
                break;
            }
        }
        run.end().await
    }
}

impl Subject for Explored {
    fn name(&self) -> String {
        let mode = if self.mode == Mode::Local { "local" } else { "step" };
        format!("{mode}/{}", self.scenario.name)
    }

    fn same(&self) -> Same {
        self.scenario.same
    }

    fn calm(&self) -> Vec<Ended> {
        let orders = std::iter::once(&self.scenario.acts).chain(&self.scenario.also);
        orders.map(|acts| self.run_acts(acts, &[])).collect()
    }

    fn run(&self, strikes: &[Point]) -> Ended {
        self.run_acts(&self.scenario.acts, strikes)
    }
}

/// The runtime on which databases are open: not the one that is blocked while they work.
fn sqlite_runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.expect("a runtime for the databases")
    })
}

/// A folder of one run, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("selvedge-explorer-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the database");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{}: {error}", self.0.display());
        }
    }
}

/// A thread of a run.
struct Thread {
    name: &'static str,
    accepted: Vec<InputId>,
    forked_at: Step,
}

struct Run {
    scenario: Arc<Scenario>,
    world: World,
    stage: Stage,
    model: ScriptedModel,
    probe: Probe,
    strikes: Strikes,
    /// The newest is the one that the client talks to.
    threads: Vec<Thread>,
    violations: Vec<Violation>,
}

impl Run {
    async fn new(scenario: Arc<Scenario>, mode: Mode, store: Arc<dyn ConversationStore>, strikes: &[Point]) -> Self {
        let (watcher, stage) = (Watcher::new(), Stage::default());
        let probe = Probe::new(store.clone(), watcher.clone());
        let model = model(&scenario, &stage);
        let parts = (scenario.clone(), stage.clone(), probe.clone(), model.clone());
        let world = World::watched(mode, store, watcher.clone(), move |builder| {
            let (scenario, stage, probe, model) = &parts;
            let builder = builder.limits(limits()).model(model.clone());
            with_tools(builder, &scenario.tools, stage, probe)
        })
        .await;
        let strikes = Strikes::new(strikes, watcher, probe.clone(), world.faults());
        let threads = vec![Thread { name: "t", accepted: Vec::new(), forked_at: 0 }];
        Self { scenario, world, stage, model, probe, strikes, threads, violations: Vec::new() }
    }

    async fn act(&mut self, act: &Act) {
        match act {
            Act::Send(text, delivery) => {
                let input = Input::UserText { text: (*text).into(), delivery: *delivery };
                self.send(text, input).await;
            }
            Act::SendAll(texts) => self.send_all(texts).await,
            Act::Again(text) => self.send(text, Input::queued(*text)).await,
            Act::Rest => {
                self.drive(5).await;
                self.until("the thread rests", async |run| run.rests().await).await;
            }
            Act::AwaitHang => {
                self.until("something hangs", async |run| run.stage.is_hanging() || run.rests().await).await;
                self.drive(0).await;
            }
            Act::Release => self.stage.release(),
            Act::Interrupt => self.interrupt().await,
            Act::AwaitChoice => {
                self.until("a choice", async |run| run.open_choice().await.is_some() || run.rests().await).await;
            }
            Act::Choose(selected) => self.choose(*selected).await,
            Act::AwaitSignIn => {
                let waits = async |run: &Self| run.record().await.is_some_and(|record| !record.oauth.is_empty());
                self.until("a sign-in", async |run| waits(run).await || run.rests().await).await;
            }
            Act::SignIn => self.stage.sign_in(),
            Act::News(text, last) => {
                let subscription = self.record().await.and_then(|record| record.subscriptions.first().cloned());
                if let Some(subscription) = subscription {
                    let (call_id, news) = (subscription.call_id, (*text).into());
                    self.send(text, Input::SubscriptionEvent { call_id, text: news, last: *last }).await;
                }
            }
            Act::Fork(name) => self.fork(name).await,
        }
    }

    fn thread(&self) -> &'static str {
        self.threads.last().map_or("t", |thread| thread.name)
    }

    fn found(&mut self, broken: Broken, what: impl Into<String>) {
        self.violations.push(Violation::new(broken, what));
    }

    fn is_stuck(&self) -> bool {
        self.violations.iter().any(|violation| violation.broken == Broken::Stuck)
    }

    /// Works, unless the process dies of it: then another is started, and the work counts as not done.
    async fn attempt<T>(&mut self, work: impl AsyncFnOnce(&World) -> T) -> Option<T> {
        let done = tokio::select! {
            biased;
            () = self.strikes.struck() => None,
            done = work(&self.world) => Some(done),
        };
        if done.is_some() && !self.strikes.has_struck() {
            return done;
        }
        self.world.crash();
        // What the dead process still runs comes to its end before the next one starts.
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.stage.restarted();
        let names: Vec<&str> = self.threads.iter().map(|thread| thread.name).collect();
        self.world.crash_and_restart(&names).await;
        self.strikes.restarted(self.world.faults());
        None
    }

    /// Lets the threads work for some seconds, or, in step mode, until there is nothing to do.
    async fn drive(&mut self, seconds: u64) {
        let (thread, time) = (ThreadId::from(self.thread()), Duration::from_secs(seconds));
        let driven = self.attempt(async |world: &World| match world.mode() {
            Mode::Local => {
                // A thread that does not exist, or cannot be loaded at once, has nobody attached.
                drop(world.system().subscribe(&thread, ()).await);
                tokio::time::sleep(time).await;
            }
            // A step that is abandoned is run again.
            Mode::Step => drop(tokio::time::timeout(time, world.runner().run(&thread)).await),
        });
        driven.await;
    }

    /// Drives until something is so.
    async fn until(&mut self, what: &str, done: impl AsyncFn(&Self) -> bool) {
        for _ in 0..TRIES {
            if done(self).await {
                return;
            }
            // A worker's queue delivers again after a while.
            tokio::time::sleep(Duration::from_millis(200)).await;
            self.drive(5).await;
        }
        self.stuck(&format!("waited in vain: {what}")).await;
    }

    /// Gives the run up.
    async fn stuck(&mut self, what: &str) {
        let record = self.record().await;
        self.found(Broken::Stuck, format!("{what}; {record:?}"));
    }

    /// Sends an input until it is accepted.
    async fn send(&mut self, id: &str, input: Input) {
        let thread = self.thread();
        for _ in 0..TRIES {
            let sent = self.attempt(async |world: &World| world.send(thread, id, input.clone()).await).await;
            if let Some(Ok(acceptance)) = sent {
                return self.accepted(id, acceptance);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.stuck(&format!("{id:?} is not accepted")).await;
    }

    /// Sends texts until they are accepted together.
    async fn send_all(&mut self, texts: &[&str]) {
        let thread = self.thread();
        for _ in 0..TRIES {
            let sent = self.attempt(async |world: &World| world.send_texts(thread, texts).await).await;
            if let Some(Ok(acceptances)) = sent {
                return texts.iter().zip(acceptances).for_each(|(text, acceptance)| self.accepted(text, acceptance));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.stuck(&format!("{texts:?} are not accepted")).await;
    }

    fn accepted(&mut self, id: &str, acceptance: Acceptance) {
        let id = InputId::from(id);
        let accepted = &mut self.threads.last_mut().expect("bug: a run has a thread").accepted;
        if !accepted.contains(&id) {
            accepted.push(id);
        } else if acceptance != Acceptance::Duplicate {
            self.found(Broken::InputDoubled, format!("{id} was accepted again"));
        }
    }

    async fn interrupt(&mut self) {
        let thread = self.thread();
        for _ in 0..TRIES {
            let interrupted = self.attempt(async |world: &World| world.interrupt(thread).await.is_ok()).await;
            self.drive(1).await;
            if interrupted == Some(true) && self.rests().await {
                return;
            }
        }
        self.stuck("an interruption stops nothing").await;
    }

    async fn choose(&mut self, selected: usize) {
        let thread = self.thread();
        for _ in 0..TRIES {
            if let Some(choice) = self.open_choice().await {
                let answer = self.attempt(async |world: &World| world.answer(thread, &choice, selected).await).await;
                if matches!(answer, Some(Ok(()) | Err(AnswerError::AlreadyAnswered(_)))) {
                    return;
                }
            } else if self.rests().await {
                return;
            }
            self.drive(1).await;
        }
        self.stuck("a choice cannot be answered").await;
    }

    async fn open_choice(&self) -> Option<selvedge::event::ChoiceId> {
        let choices = self.record().await?.choices;
        choices.into_iter().find(|(_, resolution)| resolution.is_none()).map(|(choice, _)| choice.id)
    }

    async fn fork(&mut self, name: &'static str) {
        let (parent, fork) = (ThreadId::from(self.thread()), ThreadId::from(name));
        for _ in 0..TRIES {
            let forked = self.attempt(async |world: &World| match world.mode() {
                Mode::Local => {
                    let forked = world.system().fork(&parent, None, fork.clone()).await;
                    matches!(forked, Ok(_) | Err(ForkError::Exists(_)))
                }
                Mode::Step => {
                    let Ok(head) = world.faults().head(&parent).await else { return false };
                    let forked = world.faults().fork(&parent, head.step, &fork, Timestamp(0)).await;
                    forked.is_ok() || forked.is_err_and(|error| error.kind() == StoreErrorKind::Exists)
                }
            });
            if forked.await == Some(true) {
                let origin = self.world.store.load(&fork).await.map(|record| record.origin);
                let Ok(Origin::Fork { step, .. }) = origin else {
                    return self.found(Broken::InputLost, format!("the fork {name} was made and is not there"));
                };
                self.world.seen_from_now(name).await;
                return self.threads.push(Thread { name, accepted: Vec::new(), forked_at: step });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.stuck(&format!("the fork {name} cannot be made")).await;
    }

    async fn record(&self) -> Option<ThreadRecord> {
        self.world.store.load(&self.thread().into()).await.ok()
    }

    /// Whether everything that was accepted is answered, durable, and committed.
    async fn rests(&self) -> bool {
        let Some(record) = self.record().await else { return false };
        let (messages, history) = (self.world.messages(self.thread()).await, self.world.history(self.thread()).await);
        let unanswered = messages.iter().rev().find_map(answer_wanted).unwrap_or(false);
        let accepted = &self.threads.last().expect("bug: a run has a thread").accepted;
        let processed = |id: &InputId| messages.iter().any(|message| input_of(message) == Some(id));
        record.inbox.is_empty()
            && record.open_calls.is_empty()
            && !unanswered
            && accepted.iter().all(processed)
            && self.world.watcher.kept(self.thread()).items() == transcript_of(&history).items()
    }

    async fn end(mut self) -> Ended {
        self.violations.extend(self.strikes.violations());
        self.violations.extend(self.model.violations().into_iter().map(|what| Violation::new(Broken::Request, what)));
        let mut stories = Vec::new();
        for thread in std::mem::take(&mut self.threads) {
            let history = self.world.history(thread.name).await;
            let story =
                Story { thread: thread.name.into(), accepted: thread.accepted, history, forked_at: thread.forked_at };
            self.check(&story).await;
            stories.push(story);
        }
        Ended {
            stories,
            calls: self.probe.calls(),
            deliveries: self.scenario.tools.iter().map(|tool| (tool.name.clone(), tool.delivery)).collect(),
            violations: self.violations,
            points: self.strikes.points(),
            spared: self.strikes.spared(),
            kills: self.strikes.kills(),
        }
    }

    /// Oracle F, what the observer kept, and what the store kept beside the history.
    async fn check(&mut self, story: &Story) {
        let name = story.thread.as_str();
        if let Err(difference) = self.world.watcher.verify(name, &story.history) {
            self.found(Broken::Viewer, difference);
        }
        let (kept, durable) = (self.world.watcher.kept(name), story.transcript());
        if kept.items() != durable.items() || kept.usage() != durable.usage() {
            self.found(Broken::State, format!("{name}: kept {kept:?}\ndurable {durable:?}"));
        }
        let Ok(record) = self.world.store.load(&story.thread).await else { return };
        if kept.views() != record.views {
            self.found(Broken::State, format!("{name}: kept {:?}, durable {:?}", kept.views(), record.views));
        }
        let blobs: Vec<_> = story.own_messages().filter_map(blob_of).collect();
        for id in blobs {
            let whole = self.world.store.blob(&story.thread, &id, 0, u64::MAX).await;
            if whole.as_deref().ok() != Some(long().as_bytes()) {
                self.found(Broken::CallLost, format!("{name}: the whole output of {id} is not there"));
            }
        }
    }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    // Every event is followed by a chance to attach.
    limits.events_between_yields = 1;
    limits.idle = Duration::from_secs(1);
    limits.tool_text = TOOL_TEXT;
    limits
}

fn input_of(message: &Message) -> Option<&InputId> {
    match message {
        Message::User(user) => Some(&user.input_id),
        Message::SubscriptionEvent(event) => Some(&event.input_id),
        _ => None,
    }
}

fn blob_of(message: &Message) -> Option<String> {
    match message {
        Message::ToolResult(result) => result.blob.as_ref().map(|blob| blob.id.to_string()),
        _ => None,
    }
}
