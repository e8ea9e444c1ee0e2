//! Generated runs of one thread, and what must hold of each of them.
//!
//! A run is a model, tools, and whatever users, crashes and failing stores do to the thread. What is due at the same
//! moment is ordered by the run's own seed: every operation of the store and every hook of the observer pauses by chance,
//! on one thread whose time is paused, so that many seeds try many interleavings of driver, subscribers, inputs and store.
//!
//! What must hold: the attach law for whoever attaches, whenever, however little of the history the thread keeps for
//! viewers; what was accepted is in the history, once, in order; a call has one result, and reaches its tool once unless
//! the tool may be reached again; every request is sendable.

mod script;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use selvedge::event::{CallId, ChoiceId, InputId, Message};
use selvedge::prelude::*;
use selvedge_testkit::{Chance, Fault, OperationKind, Panic, Select, Watcher};

use self::script::{Act, Script, script, with_tools};
use crate::{Mode, World, in_paused_time};

/// How many tasks keep attaching at once: one is back in line before the next event.
const ATTACHING: usize = 3;

/// Generates runs from a seed, and runs them. A run that breaks the law is made small before it is reported.
///
/// # Errors
/// The smallest run that breaks the law, and how.
pub fn hold(seed: u64, cases: u32) -> Result<(), String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { cases, failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
    let law = |script: Script| {
        in_paused_time(run(script));
        Ok(())
    };
    TestRunner::new_with_rng(config, rng).run(&script(), law).map_err(|error| error.to_string())
}

/// How often a call reached its tool, by the call's key.
#[derive(Debug, Clone, Default)]
struct Reached(Arc<Mutex<BTreeMap<String, u32>>>);

impl Reached {
    fn note(&self, call: &ToolContext) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(call.key()).or_default() += 1;
    }

    fn check(&self) {
        let reached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(reached.values().all(|count| *count == 1), "calls of tools that are to be reached once: {reached:?}");
    }
}

async fn run(script: Script) {
    let answers: VecDeque<Reply> = script.answers.iter().map(script::Answer::reply).collect();
    let model = ScriptedModel::new(answers);
    let (wired, reached) = (model.clone(), Reached::default());
    let once = reached.clone();
    let mut world = World::new(Mode::Local, move |builder| with_tools(builder.model(wired.clone()), &once)).await;
    let limits = world.limits();
    limits.attempt_backoff = Duration::from_millis(3);
    limits.retry_backoff = Duration::from_millis(3);
    limits.sync_tries = script.sync_tries;
    limits.step_failures = 100;
    limits.page = script.page.unwrap_or(limits.page);
    world.restart(&[]).await;
    let chance = script.seed.map(Chance::of_seed);
    shuffle(&world, chance.as_ref());

    let mut accepted: Vec<InputId> = Vec::new();
    let mut attaching = attach_all_the_time(&world);
    for (number, act) in script.acts.iter().enumerate() {
        let text = format!("text {number}");
        match act {
            Act::Interrupting | Act::Queued => {
                let queued = matches!(act, Act::Queued);
                let input = if queued { Input::queued(&*text) } else { Input::text(&*text) };
                deliver(&world, &text, &input).await;
                accepted.push(text.as_str().into());
            }
            // Until the first text, there is no thread.
            Act::Interrupt => drop(world.interrupt("t").await),
            Act::Wait(millis) => tokio::time::sleep(Duration::from_millis(*millis)).await,
            Act::Choose(selected) => choose(&world, *selected).await,
            Act::Busy => world.faults().inject(Select::writes().next(), Fault::Busy),
            Act::FailSync(moment) => {
                world.faults().inject(Select::kind(OperationKind::Sync).next(), Fault::fail(*moment));
            }
            Act::FailCommit => world.watcher.fail_commits(1),
            Act::Panic(event) => world.watcher.panic_once(Panic::AtEvent(event)),
            Act::Restart => {
                stop(attaching).await;
                world.restart(&["t"]).await;
                shuffle(&world, chance.as_ref());
                attaching = attach_all_the_time(&world);
            }
            Act::Crash => {
                stop(attaching).await;
                world.crash_and_restart(&["t"]).await;
                shuffle(&world, chance.as_ref());
                attaching = attach_all_the_time(&world);
            }
        }
    }
    come_to_rest(&world).await;
    stop(attaching).await;
    assert_eq!(model.violations(), Vec::<String>::new());
    world.check("t").await;
    check_history(&world.messages("t").await, &accepted);
    reached.check();
}

/// Sends a text until it is accepted, as a client does whose store is busy.
async fn deliver(world: &World, text: &str, input: &Input) {
    for _ in 0..10 {
        if world.send("t", text, input.clone()).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{text:?} is not accepted");
}

/// Leaves it to chance when the process that runs now gets its answers.
fn shuffle(world: &World, chance: Option<&Chance>) {
    if let Some(chance) = chance {
        world.faults().shuffle(chance);
        world.watcher.shuffle(chance);
    }
}

/// What was accepted is there, once, in order; every call has one result.
fn check_history(messages: &[Message], accepted: &[InputId]) {
    let (mut taken, mut open) = (Vec::new(), Vec::<&CallId>::new());
    for message in messages {
        match message {
            Message::User(user) => taken.push(&user.input_id),
            Message::Assistant(assistant) => open.extend(assistant.calls().map(|call| &call.id)),
            Message::ToolResult(result) => {
                let place = open.iter().position(|call| **call == result.call_id);
                open.remove(place.unwrap_or_else(|| panic!("{} has a result and no call", result.call_id)));
            }
            _ => {}
        }
    }
    assert_eq!(taken, accepted.iter().collect::<Vec<_>>(), "what was taken, and what was accepted");
    assert_eq!(open, Vec::<&CallId>::new(), "calls without a result");
}

/// Answers open choices until there is nothing left to wait for.
async fn come_to_rest(world: &World) {
    if world.store.load(&"t".into()).await.is_err() {
        return;
    }
    for _ in 0..100 {
        choose(world, 0).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let record = world.store.load(&"t".into()).await.expect("the thread is there");
        if record.inbox.is_empty() && record.open_calls.is_empty() && record.subscriptions.is_empty() {
            break;
        }
    }
    world.rest("t").await;
}

/// Answers the oldest open choice, if there is one; it may be gone before the answer arrives.
async fn choose(world: &World, selected: usize) {
    let Ok(record) = world.store.load(&"t".into()).await else { return };
    let pending: Option<ChoiceId> =
        record.choices.into_iter().find(|(_, resolution)| resolution.is_none()).map(|(choice, _)| choice.id);
    if let Some(choice) = pending {
        drop(world.answer("t", &choice, selected).await);
    }
}

type Attaching = Vec<tokio::task::JoinHandle<()>>;

fn attach_all_the_time(world: &World) -> Attaching {
    let newest = Arc::new(Mutex::new((0, 0)));
    let task = |_| {
        let (system, watcher, newest) = (world.system().clone(), world.watcher.clone(), newest.clone());
        tokio::task::spawn_local(attach(system, watcher, newest))
    };
    (0..ATTACHING).map(task).collect()
}

/// Attaches whenever something has happened, a few times for each event.
async fn attach(system: RunningSystem<()>, watcher: Watcher, newest: Arc<Mutex<(usize, usize)>>) {
    let mut idle = 0;
    loop {
        let events = watcher.events("t").len();
        let attached = {
            let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
            if newest.0 != events {
                (*newest, idle) = ((events, 0), 0);
            }
            newest.1 += 1;
            newest.1
        };
        if attached <= ATTACHING {
            // Until the first text, there is no thread.
            drop(system.subscribe(&"t".into(), ()).await);
        } else if idle < 10 {
            idle += 1;
            tokio::task::yield_now().await;
        } else {
            // Time is paused: it passes only when everybody sleeps, and then all that is due wakes up at once.
            idle = 0;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn stop(attaching: Attaching) {
    for task in attaching {
        task.abort();
        drop(task.await);
    }
}
