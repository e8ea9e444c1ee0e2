//! Parallel calls, and calls that are answered by somebody else, twice, late, or not at all.

use selvedge::event::ToolReply;
use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge_testkit::Watcher;
use selvedge_tests::Mode;

use crate::behaviour::kit::{Build, Stage, T, gated};

both_modes!(
    parallel_calls_are_folded_as_they_arrive,
    s41_a_result_twice,
    s41_a_result_for_an_interrupted_call,
    s41_a_result_for_another_thread_or_for_no_call,
);

/// Two tools, each behind its gate, and both gates.
fn two_gated() -> (Gate, Gate, impl Fn(Build, &Watcher) -> Build + 'static) {
    let (first, second) = (Gate::new(), Gate::new());
    let gates = (first.clone(), second.clone());
    let tools = move |builder: Build, watcher: &Watcher| {
        let first = gated(watcher, ToolSpec::new("first", "Waits."), &gates.0);
        builder.tool(first).tool(gated(watcher, ToolSpec::new("second", "Waits."), &gates.1))
    };
    (first, second, tools)
}

/// Two calls go out together; each result is taken and shown when it comes, and the model is asked when the last has.
async fn parallel_calls_are_folded_as_they_arrive(mode: Mode) {
    let (first, second, tools) = two_gated();
    let both = Reply::call("first", "{}").and_call("second", "{}");
    let stage = Stage::new(mode, [both, Reply::text("done")], tools).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("second begins t/call_1_1 try 1").await;
    second.open();
    stage
        .until_record(|record| record.open_calls.len() == 2 && !record.inbox.is_empty() || record.head.step == 2)
        .await;
    stage.go(T);
    stage.until_record(|record| record.open_calls.len() == 1).await;
    let shown = stage.watcher.events(T).iter().any(
        |event| matches!(event, AgentEvent::ToolResult { result, .. } if result.call_id == CallId::from("call_1_1")),
    );
    assert!(shown, "the second result is not shown");
    assert_eq!(stage.requests().len(), 1);
    first.open();
    stage.rest(T).await;
    let results = "results: call_1_0 Ok: first is done | call_1_1 Ok: second is done";
    assert_eq!(stage.requests().len(), 2);
    assert_eq!(stage.newest_request()[2], results);
    stage.end().await;
}

/// S41: somebody else answers a call, then somebody again, then the tool: the first answer counts.
async fn s41_a_result_twice(mode: Mode) {
    let (gate, _, tools) = two_gated();
    let stage = Stage::new(mode, [Reply::call("first", "{}"), Reply::text("done")], tools).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("first begins t/call_1_0 try 1").await;
    stage.post_result("r1", "call_1_0", "outside").await;
    stage.until_record(|record| record.open_calls.is_empty() && record.inbox.is_empty()).await;
    stage.post_result("r2", "call_1_0", "again").await;
    gate.open();
    stage.rest(T).await;
    assert_eq!(stage.newest_request()[2..], ["results: call_1_0 Ok: outside"]);
    assert_eq!(stage.outline().await[2..], ["result: call_1_0 Ok: outside", "model: say(done) -> Stopped"]);
    stage.end().await;
}

/// S41: a call is interrupted, then its result comes: it changes nothing, and wakes nobody.
async fn s41_a_result_for_an_interrupted_call(mode: Mode) {
    let (_, _, tools) = two_gated();
    let stage = Stage::new(mode, [Reply::call("first", "{}"), Reply::text("back")], tools).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("first begins t/call_1_0 try 1").await;
    stage.stop().await;
    stage.until_record(|record| record.open_calls.is_empty() && record.inbox.is_empty()).await;
    stage.post_result("late", "call_1_0", "late").await;
    stage.rest(T).await;
    assert_eq!(stage.requests().len(), 1);
    let outline = stage.outline().await;
    assert_eq!(outline.len(), 3);
    assert!(outline[2].starts_with("result: call_1_0 Interrupted: "), "{}", outline[2]);
    stage.say(T, "on").await;
    assert!(stage.newest_request()[2].starts_with("results: call_1_0 Interrupted: "));
    assert_eq!(stage.newest_request()[3], "user: on");
    stage.end().await;
}

/// S41: a result for a call of another thread, and for a call that was never made.
async fn s41_a_result_for_another_thread_or_for_no_call(mode: Mode) {
    let (gate, _, tools) = two_gated();
    let replies = [Reply::text("other"), Reply::call("first", "{}"), Reply::text("done")];
    let stage = Stage::new(mode, replies, tools).await;
    stage.say("u", "hello").await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("first begins t/call_1_0 try 1").await;
    let stray = Input::ToolResult(ToolReply::text("call_1_0".into(), ToolStatus::Ok, "stray"));
    stage.send("u", "stray", stray).await.expect("the result is accepted");
    stage.go("u");
    stage.post_result("never", "call_9_9", "never made").await;
    stage.until("u", |record| record.inbox.is_empty()).await;
    stage.until_record(|record| record.inbox.is_empty()).await;
    assert_eq!(stage.record().await.open_calls.len(), 1);
    assert_eq!(stage.requests().len(), 2);
    assert_eq!(stage.messages("u").await.len(), 2);
    gate.open();
    stage.rest(T).await;
    assert_eq!(stage.newest_request()[2..], ["results: call_1_0 Ok: first is done"]);
    stage.check("u").await;
    stage.end().await;
}
