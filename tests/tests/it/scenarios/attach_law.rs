//! The attach law, over generated runs: whoever attaches, whenever, ends up seeing what everybody sees.
//!
//! `SELVEDGE_SEED` chooses other runs, `SELVEDGE_CASES` more of them.

mod script;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use selvedge::event::ChoiceId;
use selvedge::prelude::*;
use selvedge_testkit::{Fault, OperationKind, Panic, Select, Watcher};
use selvedge_tests::{Mode, World, in_paused_time};

use self::script::{Act, Script, script, with_tools};

/// How many tasks keep attaching at once: one is back in line before the next event.
const ATTACHING: usize = 3;

/// For every run and every moment k in it: the snapshot at k and the events after it fold to what all events fold to, and
/// to what the final history folds to.
#[test]
fn the_attach_law() {
    let seed = number("SELVEDGE_SEED", 1);
    let cases = u32::try_from(number("SELVEDGE_CASES", 64)).unwrap();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { cases, failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
    let law = |script: Script| {
        in_paused_time(run(script));
        Ok(())
    };
    if let Err(error) = TestRunner::new_with_rng(config, rng).run(&script(), law) {
        panic!("SELVEDGE_SEED={seed}: {error}");
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |value| value.parse().expect("a number"))
}

async fn run(script: Script) {
    let answers: VecDeque<Reply> = script.answers.iter().map(script::Answer::reply).collect();
    let model = ScriptedModel::new(answers);
    let wired = model.clone();
    let mut world = World::new(Mode::Local, move |builder| with_tools(builder.model(wired.clone()))).await;
    let limits = world.limits();
    limits.attempt_backoff = Duration::from_millis(3);
    limits.retry_backoff = Duration::from_millis(3);
    limits.sync_tries = script.sync_tries;
    limits.step_failures = 100;
    world.restart(&[]).await;

    let mut attaching = attach_all_the_time(&world);
    for (number, act) in script.acts.iter().enumerate() {
        let text = format!("text {number}");
        match act {
            Act::Interrupting => drop(world.send("t", &text, Input::text(&*text)).await.unwrap()),
            Act::Queued => drop(world.send("t", &text, Input::queued(&*text)).await.unwrap()),
            // Until the first text, there is no thread.
            Act::Interrupt => drop(world.interrupt("t").await),
            Act::Wait(millis) => tokio::time::sleep(Duration::from_millis(*millis)).await,
            Act::Choose(selected) => choose(&world, *selected).await,
            Act::FailSync(moment) => {
                world.faults().inject(Select::kind(OperationKind::Sync).next(), Fault::fail(*moment));
            }
            Act::FailCommit => world.watcher.fail_commits(1),
            Act::Panic(event) => world.watcher.panic_once(Panic::AtEvent(event)),
            Act::Restart => {
                stop(attaching).await;
                world.restart(&["t"]).await;
                attaching = attach_all_the_time(&world);
            }
            Act::Crash => {
                stop(attaching).await;
                world.crash_and_restart(&["t"]).await;
                attaching = attach_all_the_time(&world);
            }
        }
    }
    come_to_rest(&world).await;
    stop(attaching).await;
    assert_eq!(model.violations(), Vec::<String>::new());
    world.check("t").await;
}

/// Answers open choices until there is nothing left to wait for.
async fn come_to_rest(world: &World) {
    if world.store.load(&"t".into()).await.is_err() {
        return;
    }
    for _ in 0..100 {
        choose(world, 0).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let record = world.store.load(&"t".into()).await.unwrap();
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
            let mut newest = newest.lock().unwrap();
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
