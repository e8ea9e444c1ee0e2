//! An orderly end, and what is left for the next start.

use std::time::Duration;

use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge::runtime::{AnswerError, ForkError, SendError};
use selvedge_tests::{World, in_paused_time, text_of};
use tokio::time::Instant;

use crate::scenarios::kit::{asked, held, local, local_with, obliging, results, written};

const TEN: [&str; 10] = ["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"];

/// A thread whose completion waits at a gate, the first time, and ten inputs behind it.
async fn busy(gate: &Gate) -> (World, ScriptedModel) {
    let held = gate.clone();
    let mut first = true;
    let model = ScriptedModel::from_fn(move |request| match std::mem::replace(&mut first, false) {
        true => Reply::text("half ").wait(&held).say("whole"),
        false => Reply::text(format!("re: {}", asked(request))),
    });
    let world = local(&model).await;
    world.send("t", "first", Input::text("first")).await.unwrap();
    gate.reached().await;
    for text in TEN {
        world.send("t", text, Input::queued(text)).await.unwrap();
    }
    (world, model)
}

fn all_in_order() -> Vec<String> {
    std::iter::once("first").chain(TEN).map(Into::into).collect()
}

/// S98: ten accepted inputs and a completion that ends within the grace: its answer is kept, and after the restart all
/// ten are processed, in order, once.
#[test]
fn s98_a_completion_ends_within_the_grace() {
    in_paused_time(async {
        let gate = Gate::new();
        let (mut world, model) = busy(&gate).await;
        let opened = gate.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            opened.open();
        });
        let start = Instant::now();
        world.restart(&["t"]).await;
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        world.rest("t").await;
        world.check("t").await;
        assert_eq!(written(&world, "t").await, all_in_order());
        assert_eq!(text_of(&world.shown("t").await), "half whole|re: q9");
        assert_eq!(model.requests().len(), 2, "nothing is paid twice");
    });
}

/// S98: a completion that does not end within the grace is given up; its input is processed again after the restart.
#[test]
fn s98_a_completion_outlasts_the_grace() {
    in_paused_time(async {
        let gate = Gate::new();
        let (mut world, _) = busy(&gate).await;
        let start = Instant::now();
        world.restart(&["t"]).await;
        assert!(start.elapsed() < Duration::from_secs(11), "{:?}", start.elapsed());
        gate.open();
        world.rest("t").await;
        world.check("t").await;
        assert_eq!(written(&world, "t").await, all_in_order());
        assert_eq!(text_of(&world.shown("t").await), "re: q9");
    });
}

/// A call that ends within the grace: its result is kept, the system ends as soon as it is there, and no call is in
/// doubt after the restart.
#[test]
fn a_call_ends_within_the_grace() {
    in_paused_time(async {
        let gate = Gate::new();
        let tool_gate = gate.clone();
        let mut world = local_with(&obliging(), move |builder, _| builder.tool(held("hold", &tool_gate))).await;
        world.send("t", "call", Input::text("call hold")).await.unwrap();
        gate.reached().await;
        let opened = gate.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            opened.open();
        });
        let start = Instant::now();
        world.restart(&["t"]).await;
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        world.rest("t").await;
        world.check("t").await;
        assert_eq!(results(&world, "t").await, [(ToolStatus::Ok, "passed".to_owned())]);
        assert_eq!(text_of(&world.shown("t").await), "re: done");
    });
}

/// After the end, everything is an error that says so.
#[test]
fn after_a_shutdown_everything_is_an_error() {
    in_paused_time(async {
        let world = local(&obliging()).await;
        world.say("t", "hello").await;
        let (system, thread) = (world.system().clone(), ThreadId::from("t"));
        tokio::join!(system.shutdown(), world.system().shutdown());
        system.shutdown().await;

        let down = |error: SendError| assert!(matches!(error, SendError::ShutDown), "{error:?}");
        down(system.send_text(&thread, "late").await.unwrap_err());
        down(system.send_text(&"new".into(), "late").await.unwrap_err());
        down(system.subscribe(&thread, ()).await.unwrap_err());
        down(system.interrupt(&thread).await.unwrap_err());
        down(system.delete(&thread).await.unwrap_err());
        let answered = system.answer(&thread, "call_1_0:1".into(), 0).await.unwrap_err();
        assert!(matches!(answered, AnswerError::Send(SendError::ShutDown)), "{answered:?}");
        let forked = system.fork(&thread, None, "f".into()).await.unwrap_err();
        assert!(matches!(forked, ForkError::Send(SendError::ShutDown)), "{forked:?}");
        assert_eq!(written(&world, "t").await, ["hello"]);
    });
}

/// Whoever asks while the system ends is told something: nobody waits for ever.
#[test]
fn requests_during_a_shutdown_are_answered() {
    in_paused_time(async {
        let gate = Gate::new();
        let (world, _) = busy(&gate).await;
        let system = world.system().clone();
        let ending = tokio::task::spawn_local(async move { system.shutdown().await });
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(world.system().send_text(&"t".into(), "late").await.is_err());
        assert!(world.system().subscribe(&"u".into(), ()).await.is_err());
        ending.await.unwrap();
        assert_eq!(world.store.load(&"t".into()).await.unwrap().inbox.len(), 11);
    });
}
