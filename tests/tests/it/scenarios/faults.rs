//! Whatever fails in one thread, its store, its observer, its model or its tool, stays in that thread: others on the same
//! shard are not held up for a millisecond, the thread itself comes through, and the shard serves whoever comes next.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use selvedge::event::{FailureKind, Message, ModelRef};
use selvedge::model::{Gate, ModelError, ModelEvent, ModelRequest, ModelStream, RequestMessage};
use selvedge::prelude::*;
use selvedge_testkit::{Fault, Moment, OperationKind, Panic, Select, Watcher};
use selvedge_tests::{Mode, World, in_paused_time, text_of};
use tokio::time::Instant;

use crate::scenarios::kit::written;

/// What goes wrong in thread `a`.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// So many operations of a kind fail.
    Store(OperationKind, Fault, u64),
    /// Every operation of a kind takes five seconds.
    Slow(OperationKind),
    /// The next operation of a kind does not answer until everybody else is done.
    Stuck(OperationKind, Moment),
    /// So many commits err.
    CommitErrs(u32),
    /// Commits do not return until everybody else is done.
    CommitStuck,
    /// The observer panics.
    ObserverPanics(Panic),
    /// The model's first answer fails, panics when it is asked for, panics while it is read, or does not come.
    Model(Bad),
    /// The tool's first call errs, panics, or does not return until everybody else is done.
    Tool(Bad),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bad {
    Errs,
    Panics,
    PanicsLater,
    Stuck,
}

fn troubles() -> Vec<Trouble> {
    use OperationKind::{Accept, Claim, History, Load, MarkCommitted, Release, Sync};
    let mut troubles = Vec::new();
    for kind in [Claim, Load, History, Accept, Sync, MarkCommitted, Release] {
        for fault in [Fault::FailBefore, Fault::FailAfter, Fault::Busy] {
            troubles.extend([1, 3].map(|times| Trouble::Store(kind, fault, times)));
        }
        troubles.push(Trouble::Slow(kind));
        troubles.extend(Moment::BOTH.map(|moment| Trouble::Stuck(kind, moment)));
    }
    troubles.extend([Trouble::CommitErrs(1), Trouble::CommitErrs(3), Trouble::CommitStuck]);
    let events = ["user_input", "completion_started", "text_chunk", "tool_call", "completion_finished", "tool_result"];
    troubles.extend(events.map(|event| Trouble::ObserverPanics(Panic::AtEvent(event))));
    troubles.extend([Panic::InCommit, Panic::AtSubscribe].map(Trouble::ObserverPanics));
    troubles.extend([Bad::Errs, Bad::Panics, Bad::PanicsLater, Bad::Stuck].map(Trouble::Model));
    troubles.extend([Bad::Errs, Bad::Panics, Bad::Stuck].map(Trouble::Tool));
    troubles
}

#[test]
fn a_fault_stays_with_its_thread() {
    let calm = in_paused_time(run(None));
    for trouble in troubles() {
        println!("{trouble:?}");
        let took = in_paused_time(run(Some(trouble)));
        assert_eq!(took, calm, "{trouble:?} in one thread held up another");
    }
}

/// Two threads talk at once, the first of them in trouble. Returns how long the other one took.
async fn run(trouble: Option<Trouble>) -> Duration {
    let (watcher, later) = (Watcher::new(), Gate::new());
    let bad = Arc::new(Mutex::new(trouble));
    let model = Troubled { inner: script(), bad: bad.clone(), later: later.clone() };
    let (checked, left) = (model.inner.clone(), bad.clone());
    let held_tool = later.clone();
    let mut world = World::watched(Mode::Local, Arc::new(MemoryStore::default()), watcher, move |builder| {
        builder.model(model.clone()).tool(act(bad.clone(), &held_tool))
    })
    .await;
    world.limits().attempt_backoff = Duration::from_millis(50);
    world.restart(&[]).await;
    // Both are there, and their drivers leave: loading them is part of the trouble.
    for thread in ["a", "b"] {
        world.say(thread, "hello").await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = world.faults().log().len();
    let held = begin(&world, trouble, &later);

    let start = Instant::now();
    let (system, took) = (world.system().clone(), async {
        for (text, step) in [("call b1", 3), ("b2", 4), ("call b3", 6)] {
            world.send("b", text, Input::queued(text)).await.expect("b is accepted");
            assert!(world.system().subscribe(&"b".into(), ()).await.expect("b is there"));
            world.until("b", |record| record.head.step == step).await;
        }
        start.elapsed()
    });
    let ((), took) = tokio::join!(trouble_a(&system), took);
    drop(held);
    later.open();
    // The driver of `a` leaves, which may be part of the trouble.
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(has_struck(&world, before, trouble, &later, &left.lock().unwrap()), "{trouble:?} has not happened");
    world.faults().clear();

    for (thread, texts) in [("a", ["hello", "call a1", "a2", "call a3"]), ("b", ["hello", "call b1", "b2", "call b3"])]
    {
        world.rest(thread).await;
        assert_eq!(written(&world, thread).await, texts, "{trouble:?}");
        world.check(thread).await;
    }
    assert_eq!(text_of(&world.shown("b").await), "re: hello|let me see|done|re: b2|let me see|done", "{trouble:?}");
    let (calls, results) = calls_and_results(&world.messages("a").await);
    assert_eq!(calls, results, "{trouble:?}: one result per call");
    world.say("c", "hello").await;
    assert_eq!(text_of(&world.shown("c").await), "re: hello", "{trouble:?}: the shard lives");
    assert_eq!(checked.violations(), Vec::<String>::new(), "{trouble:?}");
    took
}

/// Somebody insists on talking to `a`.
async fn trouble_a(system: &RunningSystem<()>) {
    let a = ThreadId::from("a");
    for text in ["call a1", "a2", "call a3"] {
        for _ in 0..10 {
            let sent = tokio::time::timeout(Duration::from_secs(1), system.send(&a, text.into(), Input::queued(text)));
            if matches!(sent.await, Ok(Ok(_))) {
                break;
            }
        }
        drop(tokio::time::timeout(Duration::from_secs(1), system.subscribe(&a, ())).await);
    }
}

/// Lets the trouble begin that is not the model's or the tool's; what is held stays held until it is dropped.
fn begin(world: &World, trouble: Option<Trouble>, later: &Gate) -> Option<selvedge_testkit::Gate> {
    let (faults, watcher) = (world.faults(), &world.watcher);
    watcher.strike_only("a");
    match trouble? {
        Trouble::Store(kind, fault, times) => {
            (1..=times).for_each(|n| faults.inject(Select::kind(kind).thread("a").nth(n), fault));
        }
        Trouble::Slow(kind) => faults.delay(Select::kind(kind).thread("a"), Duration::from_secs(5)),
        Trouble::Stuck(kind, moment) => return Some(faults.hold(Select::kind(kind).thread("a").next(), moment)),
        Trouble::CommitErrs(times) => watcher.fail_commits(times),
        Trouble::CommitStuck => watcher.hold_commits(later),
        Trouble::ObserverPanics(panic) => watcher.panic_once(panic),
        Trouble::Model(_) | Trouble::Tool(_) => {}
    }
    None
}

/// Whether the trouble has happened, as far as that can be seen from outside.
fn has_struck(world: &World, before: usize, trouble: Option<Trouble>, later: &Gate, left: &Option<Trouble>) -> bool {
    match trouble {
        None => true,
        Some(Trouble::Store(kind, ..) | Trouble::Slow(kind) | Trouble::Stuck(kind, _)) => {
            let thread = Some(ThreadId::from("a"));
            world.faults().log()[before..].iter().any(|done| done.kind == kind && done.thread == thread)
        }
        Some(Trouble::Model(_) | Trouble::Tool(_)) => left.is_none(),
        // The gate is open by now, and remembers who came.
        Some(Trouble::CommitStuck) => later.reached().now_or_never().is_some(),
        Some(Trouble::ObserverPanics(Panic::AtSubscribe)) => true,
        Some(Trouble::CommitErrs(_) | Trouble::ObserverPanics(_)) => {
            let failed = |event: &AgentEvent| matches!(event, AgentEvent::TurnDiscarded { .. });
            world.watcher.events("a").iter().any(failed)
        }
    }
}

fn script() -> ScriptedModel {
    ScriptedModel::from_fn(|request| match request.context.last() {
        Some(RequestMessage::User(text)) if text.starts_with("call") => Reply::text("let me see").and_call("act", "{}"),
        Some(RequestMessage::User(text)) => Reply::text("re: ").pause().say(text.as_ref()),
        _ => Reply::text("done"),
    })
}

/// The script's model, but for what is wrong with it.
#[derive(Debug, Clone)]
struct Troubled {
    inner: ScriptedModel,
    bad: Arc<Mutex<Option<Trouble>>>,
    later: Gate,
}

impl ModelProvider for Troubled {
    fn model(&self) -> &ModelRef {
        self.inner.model()
    }

    fn complete(&self, request: ModelRequest) -> ModelStream {
        let meant = matches!(request.context.last(), Some(RequestMessage::User(text)) if &**text == "a2");
        let bad = self.bad.lock().unwrap().take_if(|trouble| meant && matches!(trouble, Trouble::Model(_)));
        let Some(Trouble::Model(bad)) = bad else { return self.inner.complete(request) };
        let half = futures_util::stream::iter([Ok(ModelEvent::Text("half".into()))]);
        let later = self.later.clone();
        match bad {
            Bad::Errs => {
                Box::pin(half.chain(futures_util::stream::iter([Err(ModelError::new(FailureKind::Server, "down"))])))
            }
            Bad::Panics => panic!("the provider was told to panic"),
            Bad::PanicsLater => {
                Box::pin(half.chain(futures_util::stream::poll_fn(|_| panic!("the stream was told to panic"))))
            }
            Bad::Stuck => {
                let rest = self.inner.complete(request);
                Box::pin(
                    futures_util::stream::once(async move { later.pass().await })
                        .filter_map(async |()| None)
                        .chain(rest),
                )
            }
        }
    }
}

/// The tool, but for what is wrong with its first call in `a`.
fn act(bad: Arc<Mutex<Option<Trouble>>>, later: &Gate) -> impl Tool + 'static {
    let later = later.clone();
    tool(ToolSpec::new("act", "Acts.").read_only(), move |call: ToolContext| {
        let bad = bad
            .lock()
            .unwrap()
            .take_if(|trouble| matches!(trouble, Trouble::Tool(_)) && call.thread_id().as_str() == "a");
        let later = later.clone();
        async move {
            match bad {
                Some(Trouble::Tool(Bad::Errs)) => return Err("the tool was told to fail".into()),
                Some(Trouble::Tool(Bad::Stuck)) => later.pass().await,
                Some(_) => panic!("the tool was told to panic"),
                None => {}
            }
            Ok("acted".into())
        }
    })
}

fn calls_and_results(messages: &[Message]) -> (usize, usize) {
    let calls = messages.iter().map(|message| match message {
        Message::Assistant(assistant) => assistant.calls().count(),
        _ => 0,
    });
    let results = messages.iter().filter(|message| matches!(message, Message::ToolResult(_))).count();
    (calls.sum(), results)
}
