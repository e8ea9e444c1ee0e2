//! S16 for what the observer keeps: a process dies, or its store fails, at every operation and in every commit; what is
//! kept in the end is what the history says.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use selvedge::durable::{DurableObserver, Sessions};
use selvedge::event::{Message, Outcome};
use selvedge::live::Live;
use selvedge::model::{Gate, RequestMessage};
use selvedge::observer::ObserverFactory;
use selvedge::prelude::*;
use selvedge::runtime::Limits;
use selvedge_testkit::{Fault, FaultStore, Moment, Select, Watcher, transcript_of};

/// Tries of anything before a run counts as stuck.
const TRIES: usize = 20;

/// Where the first process is struck.
#[derive(Debug, Clone, Copy)]
enum Strike {
    /// At the nth operation of its store.
    Store(u64, Fault),
    /// It dies in its nth commit, before or after the observer has kept the step.
    Commit(u32, Moment),
}

#[test]
fn s16_what_is_kept_in_memory_store_follows_the_history() {
    let (undisturbed, operations, commits) = run(Store::Memory, None);
    let faults = [Fault::FailBefore, Fault::FailAfter, Fault::DieBefore, Fault::DieAfter];
    let stores = (1..=operations).flat_map(|n| faults.map(|fault| Strike::Store(n, fault)));
    for strike in stores.chain(commit_strikes(commits)) {
        assert_eq!(run(Store::Memory, Some(strike)).0, undisturbed, "{strike:?}");
    }
}

#[test]
fn s16_what_is_kept_beside_sqlite_follows_the_history() {
    let (undisturbed, operations, commits) = run(Store::Sqlite, None);
    let stores = (1..=operations).map(|n| Strike::Store(n, Fault::DieAfter));
    for strike in stores.chain(commit_strikes(commits)) {
        assert_eq!(run(Store::Sqlite, Some(strike)).0, undisturbed, "{strike:?}");
    }
}

fn commit_strikes(commits: u32) -> impl Iterator<Item = Strike> {
    (1..=commits).flat_map(|n| Moment::BOTH.map(|moment| Strike::Commit(n, moment)))
}

/// A run on a runtime of its own, with which everything ends that dead processes have left behind.
fn run(store: Store, strike: Option<Strike>) -> (Vec<Item>, u64, u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = async { tokio::time::timeout(Duration::from_secs(60), answered(store, strike)).await };
    runtime.block_on(run).unwrap_or_else(|_| panic!("{strike:?}: the run hangs"))
}

enum Store {
    Memory,
    Sqlite,
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("kills-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Two texts, the first of which makes the model call a tool that may be called again. Returns what is shown in the end,
/// and how many operations and commits the last process had.
async fn answered(store: Store, strike: Option<Strike>) -> (Vec<Item>, u64, u32) {
    let folder = Folder::new();
    let store: Arc<dyn ConversationStore> = match store {
        Store::Memory => Arc::new(MemoryStore::default()),
        Store::Sqlite => Arc::new(SqliteStore::open(folder.0.join("threads.db")).await.unwrap()),
    };
    let mut strike = strike;
    for _ in 0..TRIES {
        // A process that dies closes nothing.
        let sessions = Sessions::open(folder.0.join("sessions.db")).await.unwrap();
        let process = Process { faults: FaultStore::new(store.clone()), watcher: Watcher::new(), gate: Gate::new() };
        let struck = process.arm(strike.take());
        let durable = {
            let (sessions, faults, live) = (sessions.clone(), process.faults.clone(), Live::default());
            move || DurableObserver::new(sessions.clone(), Arc::new(faults.clone()), &live)
        };
        let watcher = process.watcher.clone();
        let done = match struck {
            // The watcher holds the commit when the observer before it has kept the step.
            Some(Moment::After) => process.work(move || Tee::new(durable(), watcher.clone())).await,
            _ => process.work(move || Tee::new(watcher.clone(), durable())).await,
        };
        if done && !process.faults.is_dead() {
            assert_eq!(sessions.verify(&*store).await.unwrap(), [], "{strike:?}");
            let page = store.history(&"t".into(), None, u64::MAX).await.unwrap();
            let items = transcript_of(&page.turns.into_iter().collect()).items().to_vec();
            assert_eq!(sessions.transcript(&"t".into()).await.unwrap(), items, "{strike:?}");
            assert_eq!(sessions.search("acted", 9).await.unwrap().len(), 1, "{strike:?}");
            let committed = |seen: &&selvedge_testkit::Seen| **seen == selvedge_testkit::Seen::Committed;
            let commits = process.watcher.log().iter().filter(committed).count();
            return (items, process.faults.log().len() as u64, u32::try_from(commits).unwrap());
        }
    }
    panic!("{strike:?}: the texts are not answered");
}

struct Process {
    faults: FaultStore,
    watcher: Watcher,
    /// Where a commit is held to the death.
    gate: Gate,
}

impl Process {
    fn arm(&self, strike: Option<Strike>) -> Option<Moment> {
        match strike? {
            Strike::Store(n, fault) => {
                self.faults.inject(Select::any().nth(n), fault);
                None
            }
            Strike::Commit(n, moment) => {
                self.watcher.hold_commit(n, Moment::Before, &self.gate);
                Some(moment)
            }
        }
    }

    /// Works until everything is answered, or the process is dead. Whether it is answered.
    async fn work<F: ObserverFactory>(&self, observer: F) -> bool {
        tokio::select! {
            biased;
            () = self.gate.reached() => {
                self.faults.die();
                false
            }
            // A dead process gets no answers: its calls would try for ever to deliver their results.
            () = self.died() => false,
            done = self.answer(observer) => done,
        }
    }

    async fn died(&self) {
        while !self.faults.is_dead() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn answer<F: ObserverFactory>(&self, observer: F) -> bool {
        let builder = System::builder().store(self.faults.clone()).model(model()).tool(act());
        let mut limits = Limits::default();
        limits.retry_backoff = Duration::from_millis(1);
        let Ok(runner) = builder.limits(limits).observer(observer).step_runner().await else { return false };
        for text in ["hello", "bye"] {
            for _ in 0..TRIES {
                if self.faults.is_dead() {
                    return false;
                }
                let sent = runner.send(&"t".into(), text.into(), Input::text(text)).await.is_ok();
                if sent && runner.run(&"t".into()).await.is_ok() && self.has_answered(text).await {
                    break;
                }
            }
        }
        self.has_answered("bye").await
    }

    async fn has_answered(&self, text: &str) -> bool {
        let Ok(page) = self.faults.history(&"t".into(), None, u64::MAX).await else { return false };
        let messages: Vec<&Message> = page.turns.iter().flat_map(|turn| &turn.messages).collect();
        let asked = messages.iter().any(|message| matches!(message, Message::User(user) if &*user.text == text));
        let stopped = |message: &&Message| match message {
            Message::Assistant(answer) => answer.outcome == Outcome::Stopped,
            _ => false,
        };
        asked && messages.last().is_some_and(stopped)
    }
}

fn model() -> ScriptedModel {
    ScriptedModel::from_fn(|request| match request.context.last() {
        Some(RequestMessage::User(text)) if &**text == "hello" => {
            Reply::new().think("hm").say("let me see").and_call("act", "{}").usage(3, 2)
        }
        Some(RequestMessage::User(text)) => Reply::text(format!("you said {text}")).usage(2, 1),
        _ => Reply::text("done").usage(5, 1),
    })
}

fn act() -> impl Tool + 'static {
    tool(ToolSpec::new("act", "Acts.").idempotent(), |_: ToolContext| async { Ok(ToolOutput::text("acted")) })
}
