//! Interruptions and queued text: what is stopped, what waits, and what the barrier does not let go of.

use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge_testkit::{Moment, OperationKind, Seen, Select, Watcher};
use selvedge_tests::{Mode, in_paused_time};

use crate::behaviour::kit::{Build, Stage, T, gated, no_tools};

both_modes!(
    text_interrupts_a_call,
    queued_text_waits_for_a_call,
    s66_interrupted_twice_while_a_call_is_open,
    s67_an_interruption_inside_the_sync,
    s67_an_interruption_inside_the_commit,
);

fn slow(gate: &Gate) -> impl Fn(Build, &Watcher) -> Build + 'static {
    let gate = gate.clone();
    move |builder: Build, watcher: &Watcher| builder.tool(gated(watcher, ToolSpec::new("slow", "Waits."), &gate))
}

const INTERRUPTED: &str = "result: call_1_0 Interrupted: Interrupted while it ran: the call may have executed.";

/// User text interrupts by default: the open call is settled, its tool is told, and the text is answered.
async fn text_interrupts_a_call(mode: Mode) {
    let gate = Gate::new();
    let stage = Stage::new(mode, [Reply::call("slow", "{}"), Reply::text("sure")], slow(&gate)).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("slow begins t/call_1_0 try 1").await;
    stage.post("no", Input::text("stop that")).await;
    stage.until_noted("slow is cancelled").await;
    stage.rest(T).await;
    assert_eq!(stage.outline().await[2..], [INTERRUPTED, "user: stop that", "model: say(sure) -> Stopped"]);
    stage.end().await;
}

/// Queued text leaves the open call alone, and is read with its result.
async fn queued_text_waits_for_a_call(mode: Mode) {
    let gate = Gate::new();
    let stage = Stage::new(mode, [Reply::call("slow", "{}"), Reply::text("both")], slow(&gate)).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("slow begins t/call_1_0 try 1").await;
    stage.post("more", Input::queued("and this")).await;
    stage.until_record(|record| record.inbox.is_empty()).await;
    assert_eq!(stage.record().await.open_calls.len(), 1);
    assert_eq!(stage.requests().len(), 1);
    gate.open();
    stage.rest(T).await;
    assert_eq!(stage.newest_request()[2..], ["results: call_1_0 Ok: slow is done", "user: and this"]);
    assert_eq!(stage.notes(), ["slow begins t/call_1_0 try 1"]);
    stage.end().await;
}

/// S66: two interruptions at once while a call is open, then one of an idle thread: one is recorded.
async fn s66_interrupted_twice_while_a_call_is_open(mode: Mode) {
    let gate = Gate::new();
    let stage = Stage::new(mode, [Reply::call("slow", "{}"), Reply::text("unused")], slow(&gate)).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("slow begins t/call_1_0 try 1").await;
    let accepts = Select::kind(OperationKind::Accept);
    let before = stage.faults().count(&accepts);
    let (first, second) = tokio::join!(stage.interrupt(T), stage.interrupt(T));
    first.and(second).expect("both return");
    assert_eq!(stage.faults().count(&accepts), before + 1);
    stage.go(T);
    stage.until_noted("slow is cancelled").await;
    stage.rest(T).await;
    let (accepted, step) = (stage.faults().count(&accepts), stage.record().await.head.step);
    stage.interrupt(T).await.expect("an idle thread is interrupted at once");
    stage.rest(T).await;
    assert_eq!(stage.faults().count(&accepts), accepted);
    assert_eq!(stage.record().await.head.step, step);
    assert_eq!(stage.outline().await[2..], [INTERRUPTED]);
    assert_eq!(stage.requests().len(), 1);
    stage.end().await;
}

/// S67: text arrives while the turn is being synced: the barrier completes and the call goes out, then it is stopped.
async fn s67_an_interruption_inside_the_sync(mode: Mode) {
    let gate = Gate::new();
    let stage = Stage::new(mode, [Reply::call("slow", "{}"), Reply::text("sure")], slow(&gate)).await;
    let sync = stage.faults().hold(Select::kind(OperationKind::Sync).next(), Moment::Before);
    stage.post("go", Input::text("go")).await;
    sync.reached(1).await;
    stage.send(T, "no", Input::text("stop that")).await.expect("the text is accepted");
    assert!(!stage.watcher.log().contains(&Seen::Committing));
    sync.open();
    the_barrier_completes(stage).await;
}

/// S67: the same while the observer commits.
async fn s67_an_interruption_inside_the_commit(mode: Mode) {
    let (gate, commit) = (Gate::new(), Gate::new());
    let stage = Stage::new(mode, [Reply::call("slow", "{}"), Reply::text("sure")], slow(&gate)).await;
    stage.watcher.hold_commits(&commit);
    stage.post("go", Input::text("go")).await;
    commit.reached().await;
    stage.send(T, "no", Input::text("stop that")).await.expect("the text is accepted");
    assert!(!stage.watcher.log().contains(&Seen::Committed));
    assert_eq!(stage.notes(), [""; 0]);
    commit.open();
    the_barrier_completes(stage).await;
}

async fn the_barrier_completes(stage: Stage) {
    // In step mode, the step that dispatched the call waits for it: the text is another step's.
    stage.until_record(|record| record.head.step >= 1).await;
    stage.go(T);
    stage.rest(T).await;
    let committed = stage.place("the commit", |seen| *seen == Seen::Committed);
    let result = stage.place("the result", |seen| matches!(seen, Seen::Event(AgentEvent::ToolResult { .. })));
    assert!(committed < result);
    assert_eq!(stage.outline().await[2..], [INTERRUPTED, "user: stop that", "model: say(sure) -> Stopped"]);
    assert!(stage.notes().iter().filter(|note| note.contains("begins")).count() <= 1);
    stage.end().await;
}

/// S66: two interruptions of a completion within a millisecond: what was streamed is kept, one is recorded, the model is
/// not asked again. Local mode, as all that stops a completion midway.
#[test]
fn s66_interrupted_twice_while_the_model_speaks() {
    in_paused_time(async {
        let gate = Gate::new();
        let stage = Stage::new(Mode::Local, [Reply::text("I was").wait(&gate), Reply::text("on")], no_tools).await;
        stage.post("go", Input::text("go")).await;
        gate.reached().await;
        let (first, second) = tokio::join!(stage.interrupt(T), stage.interrupt(T));
        first.and(second).expect("both return");
        stage.rest(T).await;
        assert_eq!(stage.outline().await, ["user: go", "model: say(I was) -> Interrupted"]);
        assert_eq!(stage.requests().len(), 1);
        stage.interrupt(T).await.expect("an idle thread is interrupted at once");
        stage.say(T, "and?").await;
        assert_eq!(stage.newest_request(), ["user: go", "model: say(I was)", "user: and?"]);
        stage.end().await;
    });
}

/// Text cuts a completion off, what was streamed is kept, and the text is answered.
#[test]
fn text_cuts_a_completion_off() {
    in_paused_time(async {
        let gate = Gate::new();
        let stage = Stage::new(Mode::Local, [Reply::text("I was").wait(&gate), Reply::text("sure")], no_tools).await;
        stage.post("go", Input::text("go")).await;
        gate.reached().await;
        stage.post("no", Input::text("stop")).await;
        stage.rest(T).await;
        assert_eq!(stage.newest_request(), ["user: go", "model: say(I was)", "user: stop"]);
        stage.end().await;
    });
}

/// Queued text waits for the completion that runs.
#[test]
fn queued_text_waits_for_a_completion() {
    in_paused_time(async {
        let gate = Gate::new();
        let replies = [Reply::text("I am").wait(&gate).say(" done"), Reply::text("sure")];
        let stage = Stage::new(Mode::Local, replies, no_tools).await;
        stage.post("go", Input::text("go")).await;
        gate.reached().await;
        stage.post("a", Input::queued("a")).await;
        stage.post("b", Input::queued("b")).await;
        gate.open();
        stage.rest(T).await;
        assert_eq!(stage.newest_request(), ["user: go", "model: say(I am done)", "user: a", "user: b"]);
        stage.end().await;
    });
}

/// S51: an interruption during reasoning: the cut-off reasoning is shown, and never sent to the model.
#[test]
fn s51_an_interruption_during_reasoning() {
    in_paused_time(async {
        let gate = Gate::new();
        let thinking = selvedge::model::ModelEvent::Reasoning("hm".into());
        let replies = [Reply::new().event(thinking).wait(&gate), Reply::text("yes")];
        let stage = Stage::new(Mode::Local, replies, no_tools).await;
        stage.post("go", Input::text("go")).await;
        gate.reached().await;
        stage.attach().await;
        stage.stop().await;
        stage.rest(T).await;
        assert_eq!(stage.outline().await, ["user: go", "model: think(hm… -> Interrupted"]);
        stage.say(T, "and?").await;
        assert_eq!(stage.newest_request(), ["user: go", "user: and?"]);
        stage.end().await;
    });
}
