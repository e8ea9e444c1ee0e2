//! S28: two processes on one thread.

use std::sync::Arc;
use std::time::Duration;

use selvedge::event::Message;
use selvedge::model::RequestMessage;
use selvedge::prelude::*;
use selvedge::runtime::{Limits, SendError, StepError};
use selvedge::store::ToolDelivery;
use selvedge_testkit::{FaultStore, Select, TokioClock};
use selvedge_tests::in_paused_time;

use crate::durability::kit::{Reached, a_while, results, user_texts};

/// Rounds on one thread, and threads.
const ROUNDS: u64 = 100;
const THREADS: u64 = 10;

/// One of the processes: its store, whose pace a test sets, and its runner.
struct Side {
    faults: FaultStore,
    runner: StepRunner<NullObserver>,
}

/// Calls once per user text, not all at once, and answers.
fn model() -> ScriptedModel {
    ScriptedModel::from_fn(|request| match request.context.last() {
        Some(RequestMessage::User(_)) => Reply::text("let me").pause().say(" see").pause().and_call("act", "{}"),
        _ => Reply::text("do").pause().say("ne"),
    })
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.events_between_yields = 1;
    limits.idle = Duration::from_millis(20);
    limits
}

impl Side {
    async fn new(store: &MemoryStore, model: &ScriptedModel, reached: &Reached) -> Self {
        let faults = FaultStore::new(Arc::new(store.clone()));
        let builder = System::builder().store(faults.clone()).model(model.clone()).limits(limits());
        let builder = builder.clock(TokioClock::starting_at(0)).tool(reached.tool("act", ToolDelivery::AtMostOnce));
        Self { faults, runner: builder.step_runner().await.unwrap() }
    }

    /// Each operation takes a while from now on.
    fn pace(&self, millis: u64) {
        self.faults.clear();
        self.faults.delay(Select::any(), Duration::from_millis(millis));
    }

    /// Runs steps of a thread until nothing is left to do. Somebody else's claim, or his sync, is waited for.
    async fn work(&self, thread: &ThreadId) {
        for _ in 0..500 {
            match self.runner.run(thread).await {
                Ok(report) if report.open_calls.is_empty() => return,
                Ok(_) | Err(StepError::Conflict | StepError::Load(SendError::Owned { .. })) => {
                    tokio::time::sleep(Duration::from_millis(3)).await;
                }
                Err(error) => panic!("neither an owner nor a clean conflict: {error:?}"),
            }
        }
        panic!("{thread} does not come to an end");
    }
}

/// The whole history of a thread.
async fn messages(store: &MemoryStore, thread: &ThreadId) -> Vec<Message> {
    let page = store.history(thread, None, u64::MAX).await.unwrap();
    assert!(page.turns.windows(2).all(|turns| turns[0].step < turns[1].step), "steps grow");
    page.turns.iter().flat_map(|turn| turn.messages.clone()).collect()
}

/// S28: two processes run steps of one thread at the same time, 1,000 rounds at changing paces: one owner or a clean
/// conflict; no message lost, no turn interleaved, no completion paid for twice, no call out twice.
#[test]
fn s28_two_step_runners_on_one_thread() {
    in_paused_time(async {
        let (store, model, reached) = (MemoryStore::default(), model(), Reached::default());
        let sides = [Side::new(&store, &model, &reached).await, Side::new(&store, &model, &reached).await];
        for number in 0..THREADS {
            let thread: ThreadId = format!("t{number}").into();
            let mut sent = Vec::new();
            for round in 0..ROUNDS {
                let text = format!("m{round}");
                let from = usize::from(round % 2 == 1);
                sides[from].runner.send(&thread, text.as_str().into(), Input::text(&*text)).await.unwrap();
                sent.push(text);
                sides[0].pace((round + number) % 5);
                sides[1].pace((round * 3 + number) % 7);
                tokio::join!(sides[0].work(&thread), sides[1].work(&thread));
            }
            let messages = messages(&store, &thread).await;
            assert_eq!(user_texts(&messages), sent, "{thread}");
            let kinds: Vec<&str> = messages.iter().map(Message::kind).collect();
            let round = ["user", "assistant", "tool_result", "assistant"];
            assert!(kinds.chunks(4).all(|kinds| kinds == round), "{thread}: {kinds:?}");
            assert!(results(&messages).iter().all(|result| result.status == ToolStatus::Ok), "{thread}");
        }
        let rounds = usize::try_from(ROUNDS * THREADS).unwrap();
        assert_eq!(reached.count(), rounds, "each call went out once");
        assert_eq!(model.requests().len(), 2 * rounds, "nobody pays twice for a completion");
    });
}

/// S28 in local mode: two systems on one store are both sent inputs for one thread: whoever does not own it says so; no
/// message is lost or there twice.
#[test]
fn s28_two_systems_on_one_thread() {
    in_paused_time(async {
        let (store, model, reached) = (MemoryStore::default(), model(), Reached::default());
        let mut systems = Vec::new();
        for _ in 0..2 {
            let builder = System::builder().store(store.clone()).model(model.clone()).limits(limits());
            let tool = reached.tool("act", ToolDelivery::AtMostOnce);
            systems.push(builder.clock(TokioClock::starting_at(0)).tool(tool).start_local().await.unwrap());
        }
        let owned = std::cell::Cell::new(0);
        let insist = async |system: &RunningSystem<()>, text: String| {
            for _ in 0..200 {
                match system.send(&"t".into(), text.as_str().into(), Input::queued(&*text)).await {
                    Ok(_) => return,
                    Err(SendError::Owned { .. }) => {
                        owned.set(owned.get() + 1);
                        tokio::time::sleep(Duration::from_millis(7)).await;
                    }
                    Err(error) => panic!("neither accepted nor owned: {error:?}"),
                }
            }
            panic!("{text} is not accepted");
        };
        let mut sent = Vec::new();
        for round in 0..200 {
            let (a, b) = (format!("a{round}"), format!("b{round}"));
            tokio::join!(insist(&systems[0], a.clone()), insist(&systems[1], b.clone()));
            sent.extend([a, b]);
        }
        a_while().await;
        let messages = messages(&store, &"t".into()).await;
        let mut texts = user_texts(&messages);
        for side in ["a", "b"] {
            let own: Vec<&String> = texts.iter().filter(|text| text.starts_with(side)).collect();
            assert!(own.iter().zip(0..200).all(|(text, round)| **text == format!("{side}{round}")), "{own:?}");
        }
        texts.sort();
        sent.sort();
        assert_eq!(texts, sent);
        assert!(owned.get() > 0, "the two were never in each other's way");
        let calls = messages.iter().filter_map(|message| match message {
            Message::Assistant(answer) => Some(answer.calls().count()),
            _ => None,
        });
        assert_eq!(calls.sum::<usize>(), reached.count(), "each call went out once");
        assert!(results(&messages).iter().all(|result| result.status == ToolStatus::Ok));
        for system in systems {
            system.shutdown().await;
        }
    });
}
