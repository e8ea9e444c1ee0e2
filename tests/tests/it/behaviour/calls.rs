//! Tool calls: how a model makes them, and how their results come back to it.

use selvedge::event::{Arguments, Block, Message};
use selvedge::model::StopReason;
use selvedge::prelude::*;
use selvedge_testkit::Seen;
use selvedge_tests::{Mode, text_of};

use crate::behaviour::kit::{Stage, T, text_arguments, with_echo};

both_modes!(
    s34_reasoning_and_calls_in_turn,
    s35_text_after_a_call_has_its_place,
    s36_two_calls_with_one_provider_id,
    s37_provider_ids_that_repeat_or_are_empty,
    s38_arguments_cut_off,
    s38_arguments_cut_off_by_the_length,
    arguments_that_do_not_fit_never_reach_the_commit,
);

/// S34: reasoning, call, reasoning, call, text, end: both calls run, and nothing changes its place.
async fn s34_reasoning_and_calls_in_turn(mode: Mode) {
    let reply = Reply::new()
        .think("first")
        .and_call("echo", text_arguments("one"))
        .think("second")
        .and_call("echo", text_arguments("two"))
        .say("working");
    let stage = Stage::new(mode, [reply, Reply::text("done")], with_echo).await;
    stage.say(T, "go").await;
    let answer =
        r#"model: think(first) call_1_0=echo{"text":"one"} think(second) call_1_1=echo{"text":"two"} say(working)"#;
    let results = "results: call_1_0 Ok: one | call_1_1 Ok: two";
    assert_eq!(stage.newest_request(), ["user: go", answer, results]);
    assert_eq!(stage.notes(), ["echo call_1_0", "echo call_1_1"]);
    assert_eq!(text_of(&stage.shown(T).await), "working|done");
    stage.end().await;
}

/// S35: text, call, text, end, then the result: the trailing text stands where it was said, before a restart and after.
async fn s35_text_after_a_call_has_its_place(mode: Mode) {
    let reply = Reply::text("before").and_call("echo", text_arguments("one")).say("after");
    let mut stage = Stage::new(mode, [reply, Reply::text("done"), Reply::text("still")], with_echo).await;
    stage.say(T, "go").await;
    let asked =
        ["user: go", r#"model: say(before) call_1_0=echo{"text":"one"} say(after)"#, "results: call_1_0 Ok: one"];
    assert_eq!(stage.newest_request(), asked);
    stage.world.restart(&[T]).await;
    stage.say(T, "again").await;
    assert_eq!(stage.newest_request()[..3], asked);
    stage.end().await;
}

/// S36: two calls with one provider id in one response: two results reach the model, each with its own call.
async fn s36_two_calls_with_one_provider_id(mode: Mode) {
    let reply = Reply::new().and_call_with_id("same", "echo", text_arguments("one")).and_call_with_id(
        "same",
        "echo",
        text_arguments("two"),
    );
    let stage = Stage::new(mode, [reply, Reply::text("done")], with_echo).await;
    stage.say(T, "go").await;
    assert_eq!(stage.newest_request()[2], "results: call_1_0 Ok: one | call_1_1 Ok: two");
    assert_eq!(stage.notes().len(), 2);
    stage.end().await;
}

/// S37: five rounds whose calls all carry the provider id `bash:0`, then five with an empty id: each result pairs with
/// its own call, and none is taken for a duplicate.
async fn s37_provider_ids_that_repeat_or_are_empty(mode: Mode) {
    let round = |number: usize| {
        let id = if number < 5 { "bash:0" } else { "" };
        Reply::new().and_call_with_id(id, "echo", text_arguments(&format!("round {number}")))
    };
    let replies = (0..10).map(round).chain([Reply::text("done")]);
    let stage = Stage::new(mode, replies, with_echo).await;
    stage.say(T, "go").await;
    let request = stage.newest_request();
    let pairs: Vec<_> = request[1..].chunks(2).collect();
    assert_eq!(pairs.len(), 10);
    for (number, pair) in pairs.iter().enumerate() {
        let call = pair[0].split(['=', ' ']).nth(1).expect("a call");
        assert_eq!(pair[0], format!(r#"model: {call}=echo{{"text":"round {number}"}}"#));
        assert_eq!(pair[1], format!("results: {call} Ok: round {number}"));
    }
    stage.end().await;
}

/// S38: arguments that end in the middle are not dispatched: the model reads them back with an error, and goes on; so
/// it does after a restart.
async fn s38_arguments_cut_off(mode: Mode) {
    let broken = r#"{"text": "hel"#;
    let replies = [Reply::call("echo", broken), Reply::text("sorry"), Reply::text("fine")];
    let mut stage = Stage::new(mode, replies, with_echo).await;
    stage.say(T, "go").await;
    let request = stage.newest_request();
    assert_eq!(request[1], "model: call_1_0=echo{}");
    assert!(request[2].starts_with("results: call_1_0 Error:") && request[2].contains(broken), "{}", request[2]);
    assert_eq!(stage.notes(), [""; 0]);
    let kept = stage.messages(T).await.into_iter().find_map(|message| match message {
        Message::Assistant(assistant) => assistant.blocks.first().cloned(),
        _ => None,
    });
    let Some(Block::ToolCall(call)) = kept else { panic!("the call is kept: {kept:?}") };
    assert_eq!(call.arguments, Arguments::Broken(broken.into()));

    stage.world.restart(&[T]).await;
    stage.say(T, "again").await;
    assert_eq!(stage.newest_request()[..3], request);
    assert_eq!(text_of(&stage.shown(T).await), "sorry|fine");
    stage.end().await;
}

/// S38: the same where the answer reached the limit of its length.
async fn s38_arguments_cut_off_by_the_length(mode: Mode) {
    let cut = Reply::text("I will").and_call("echo", r#"{"text": "#).stop(StopReason::Length);
    let stage = Stage::new(mode, [cut, Reply::text("sorry")], with_echo).await;
    stage.say(T, "go").await;
    assert_eq!(stage.notes(), [""; 0]);
    assert_eq!(stage.requests().len(), 2);
    assert!(stage.shown(T).await.contains(&ItemKind::Ended { outcome: Outcome::Length }));
    stage.end().await;
}

/// Arguments that do not fit the schema are answered in the step that made the call: no call is planned, the error is
/// shown before the commit, and the model reads what is wrong.
async fn arguments_that_do_not_fit_never_reach_the_commit(mode: Mode) {
    let replies = [Reply::call("echo", r#"{"txet": 1}"#), Reply::text("sorry")];
    let stage = Stage::new(mode, replies, with_echo).await;
    stage.say(T, "go").await;
    let shown = stage.place("the result", |seen| matches!(seen, Seen::Event(AgentEvent::ToolResult { .. })));
    assert!(shown < stage.place("a commit", |seen| *seen == Seen::Committing));
    assert_eq!(stage.notes(), [""; 0]);
    let request = stage.newest_request();
    assert!(request[2].contains("call_1_0 Error:") && request[2].contains("text"), "{}", request[2]);
    stage.end().await;
}
