//! The order of inputs, redelivery, and inputs that have nothing to do with an open call.

use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge::store::Acceptance;
use selvedge_testkit::Watcher;
use selvedge_tests::{Mode, text_of};

use crate::behaviour::kit::{Build, Stage, T, gated};

both_modes!(
    s31_the_same_event_three_times,
    s31_the_same_text_three_times,
    s68_inputs_keep_the_order_of_their_acceptance,
    s69_news_and_a_stale_result_while_a_call_is_open,
);

/// `watch` subscribes and returns at once, `slow` waits at a gate.
fn watch_and_slow(gate: &Gate) -> impl Fn(Build, &Watcher) -> Build + 'static {
    let gate = gate.clone();
    move |builder: Build, watcher: &Watcher| {
        let slow = gated(watcher, ToolSpec::new("slow", "Waits."), &gate);
        builder.tool(watch()).tool(slow)
    }
}

fn watch() -> impl Tool {
    tool(ToolSpec::new("watch", "Subscribes."), |_: ToolContext| async {
        Ok(ToolOutput::text("watching").subscribed())
    })
}

fn news(text: &str) -> Input {
    Input::SubscriptionEvent { call_id: "call_1_0".into(), text: text.into(), last: false }
}

/// S31: an event is delivered three times, at once, later, and across a restart: it is news once.
async fn s31_the_same_event_three_times(mode: Mode) {
    let replies = [Reply::call("watch", "{}"), Reply::text("watching"), Reply::text("I see")];
    let mut stage = Stage::new(mode, replies, |builder, _| builder.tool(watch())).await;
    stage.say(T, "go").await;
    let (first, second) = tokio::join!(stage.send(T, "e1", news("it rains")), stage.send(T, "e1", news("it rains")));
    assert!(matches!(first, Ok(Acceptance::Accepted(_))), "{first:?}");
    assert!(matches!(second, Ok(Acceptance::Duplicate)), "{second:?}");
    stage.rest(T).await;
    assert_eq!(stage.post("e1", news("it rains")).await, Acceptance::Duplicate);
    stage.world.restart(&[T]).await;
    assert_eq!(stage.post("e1", news("it rains")).await, Acceptance::Duplicate);
    stage.rest(T).await;
    let outline = stage.outline().await;
    assert_eq!(outline[4..], ["event call_1_0: it rains", "model: say(I see) -> Stopped"]);
    stage.end().await;
}

/// S31: the same for what a user writes.
async fn s31_the_same_text_three_times(mode: Mode) {
    let mut stage = Stage::new(mode, [Reply::text("hello")], |builder, _| builder.tool(watch())).await;
    let (first, second) = tokio::join!(stage.send(T, "i", Input::text("hi")), stage.send(T, "i", Input::text("hi")));
    assert!(
        matches!((&first, &second), (Ok(Acceptance::Accepted(_)), Ok(Acceptance::Duplicate))),
        "{first:?} {second:?}"
    );
    stage.rest(T).await;
    assert_eq!(stage.post("i", Input::text("hi")).await, Acceptance::Duplicate);
    stage.world.restart(&[T]).await;
    assert_eq!(stage.post("i", Input::text("hi")).await, Acceptance::Duplicate);
    stage.rest(T).await;
    assert_eq!(stage.outline().await, ["user: hi", "model: say(hello) -> Stopped"]);
    stage.end().await;
}

/// S68: text, news and a result come while the thread is busy in its commit: the history keeps the order in which they
/// were accepted.
async fn s68_inputs_keep_the_order_of_their_acceptance(mode: Mode) {
    let (slow, busy) = (Gate::new(), Gate::new());
    let both = Reply::call("watch", "{}").and_call("slow", "{}");
    let stage = Stage::new(mode, [both, Reply::text("done")], watch_and_slow(&slow)).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("slow begins t/call_1_1 try 1").await;
    stage.go(T);
    stage.until_record(|record| record.open_calls.len() == 1 && record.inbox.is_empty()).await;
    stage.watcher.hold_commits(&busy);
    stage.post("a", Input::queued("a")).await;
    busy.reached().await;
    let result = selvedge::event::ToolReply::text("call_1_1".into(), ToolStatus::Ok, "outside");
    let inputs =
        [("e", news("news")), ("b", Input::queued("b")), ("r", Input::ToolResult(result)), ("c", Input::queued("c"))];
    for (id, input) in inputs {
        stage.send(T, id, input).await.expect("the input is accepted");
    }
    slow.open();
    busy.open();
    stage.rest(T).await;
    let outline = stage.outline().await;
    let expected = [
        "result: call_1_0 Ok: watching",
        "user: a",
        "event call_1_0: news",
        "user: b",
        "result: call_1_1 Ok: outside",
        "user: c",
        "model: say(done) -> Stopped",
    ];
    assert_eq!(outline[2..], expected);
    stage.end().await;
}

/// S69: while a call is open, there is news of another and a stale result: the open call is not disturbed, and the model
/// reads it all in its place once the call is done.
async fn s69_news_and_a_stale_result_while_a_call_is_open(mode: Mode) {
    let slow = Gate::new();
    let both = Reply::call("watch", "{}").and_call("slow", "{}");
    let stage = Stage::new(mode, [both, Reply::text("done")], watch_and_slow(&slow)).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("slow begins t/call_1_1 try 1").await;
    stage.go(T);
    stage.until_record(|record| record.open_calls.len() == 1 && record.inbox.is_empty()).await;
    stage.post("e", news("it rains")).await;
    stage.post_result("stale", "call_1_0", "stale").await;
    stage.until_record(|record| record.inbox.is_empty()).await;
    let open = stage.record().await.open_calls;
    assert_eq!(open.iter().map(|call| call.call_id.as_str()).collect::<Vec<_>>(), ["call_1_1"]);
    assert_eq!(stage.requests().len(), 1);
    slow.open();
    stage.rest(T).await;
    let request = stage.newest_request();
    assert_eq!(request[2], "results: call_1_0 Ok: watching | call_1_1 Ok: slow is done");
    assert!(request[3].contains("=subscription_event{") && request[4].ends_with("Ok: it rains"), "{request:#?}");
    assert_eq!(request.len(), 5);
    assert_eq!(text_of(&stage.shown(T).await), "done");
    stage.end().await;
}
