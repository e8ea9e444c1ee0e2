//! Completions that fail: what is retried, what is shown, and what is counted.

use selvedge::event::{Discard, FailureKind, Usage};
use selvedge::model::{ModelError, StopReason};
use selvedge::prelude::*;
use selvedge_tests::{Mode, text_of};

use crate::behaviour::kit::{Stage, T, no_tools, with_echo};

both_modes!(
    s49_a_broken_stream_is_retracted,
    s50_a_model_that_always_fails_is_given_up,
    s51_reasoning_and_a_timeout,
    s55_failures_that_no_retry_mends,
    s55_failures_that_a_retry_may_mend,
    s55_answers_that_end_early,
);

fn failed(kind: FailureKind) -> ModelError {
    ModelError::new(kind, "as the test wants it")
}

/// S49: "Hello wor", the stream breaks, the retry says "Hello world.": the first text is retracted where it was shown,
/// and everybody ends with the second, once.
async fn s49_a_broken_stream_is_retracted(mode: Mode) {
    let replies = [Reply::text("Hello wor").cut(), Reply::text("Hello world.")];
    let stage = Stage::new(mode, replies, no_tools).await;
    stage.send(T, "hi", Input::text("hi")).await.expect("the text is accepted");
    if mode == Mode::Local {
        for _ in 0..20 {
            stage.attach().await;
        }
    }
    stage.rest(T).await;
    let events = stage.watcher.events(T);
    let place = |wanted: AgentEvent| events.iter().position(|event| *event == wanted).expect("the event is shown");
    let retracted = place(AgentEvent::TurnDiscarded { step: 1, attempt: 1, scope: Discard::Attempt });
    assert!(place(AgentEvent::TextChunk { text: "Hello wor".into() }) < retracted);
    assert!(retracted < place(AgentEvent::CompletionStarted { step: 1, attempt: 2 }));
    assert_eq!(text_of(&stage.shown(T).await), "Hello world.");
    if mode == Mode::Local {
        let late = Transcript::from_snapshot(&stage.attach().await);
        assert_eq!(late.items(), stage.watcher.transcript(T).items());
    }
    stage.end().await;
}

/// S50: each attempt yields one chunk and fails: it stops at the budget, with a failure that nobody takes for a success
/// and with the tokens of all attempts; then the thread goes on.
async fn s50_a_model_that_always_fails_is_given_up(mode: Mode) {
    let failing = || Reply::text("x").usage(10, 1).fail(failed(FailureKind::Server));
    let stage = Stage::new(mode, (0..4).map(|_| failing()).chain([Reply::text("back").usage(7, 2)]), no_tools).await;
    stage.say(T, "hi").await;
    assert_eq!(stage.requests().len(), 4);
    let all = Usage { input: 40, output: 4, ..Usage::default() };
    let finished = stage.watcher.events(T).into_iter().find_map(|event| match event {
        AgentEvent::CompletionFinished { attempt, outcome, usage, .. } => Some((attempt, outcome, usage)),
        _ => None,
    });
    let Some((4, Outcome::Failed { failure: FailureKind::Server, .. }, usage)) = finished else {
        panic!("the completion does not fail as it should: {finished:?}")
    };
    assert_eq!(usage, all);
    assert_eq!(stage.record().await.usage, all);
    assert_eq!(text_of(&stage.shown(T).await), "");

    stage.say(T, "still there?").await;
    assert_eq!(stage.newest_request(), ["user: hi", "user: still there?"]);
    assert_eq!(stage.outline().await.last().map(String::as_str), Some("model: say(back) -> Stopped"));
    assert_eq!(stage.watcher.transcript(T).usage(), all + Usage { input: 7, output: 2, ..Usage::default() });
    stage.end().await;
}

/// S51: reasoning, then a timeout, then a retry: nothing of the failed attempt is kept.
async fn s51_reasoning_and_a_timeout(mode: Mode) {
    let failing = Reply::new().think("hm").say("so").fail(failed(FailureKind::Timeout));
    let stage = Stage::new(mode, [failing, Reply::new().think("aha").say("yes"), Reply::text("ok")], no_tools).await;
    stage.say(T, "hi").await;
    assert_eq!(stage.outline().await, ["user: hi", "model: think(aha) say(yes) -> Stopped"]);
    stage.say(T, "and?").await;
    assert_eq!(stage.newest_request(), ["user: hi", "model: think(aha) say(yes)", "user: and?"]);
    stage.end().await;
}

/// S55: what the provider refuses is not tried again, says what it is, and loses no input.
async fn s55_failures_that_no_retry_mends(mode: Mode) {
    for kind in [FailureKind::Auth, FailureKind::InvalidRequest, FailureKind::Other] {
        let stage = Stage::new(mode, [Reply::failing(failed(kind)), Reply::text("back")], no_tools).await;
        stage.say(T, "hi").await;
        assert_eq!(stage.requests().len(), 1, "{kind:?} is tried again");
        assert_eq!(stage.outline().await, ["user: hi".to_owned(), format!("model:  -> {kind:?}")]);
        stage.say(T, "again").await;
        assert_eq!(stage.newest_request(), ["user: hi", "user: again"]);
        assert_eq!(text_of(&stage.shown(T).await), "back");
        stage.end().await;
    }
}

/// S55: what may mend itself is tried again: too many requests (429), a timeout (408), a conflict (409, as its provider
/// reports it), an overload, a broken connection.
async fn s55_failures_that_a_retry_may_mend(mode: Mode) {
    let conflict = || ModelError::new(FailureKind::Other, "409").with_retryable(true);
    let errors = [
        failed(FailureKind::RateLimited),
        failed(FailureKind::Timeout),
        conflict(),
        failed(FailureKind::Overloaded),
        failed(FailureKind::Network),
    ];
    for error in errors {
        let kind = error.kind();
        let stage = Stage::new(mode, [Reply::failing(error), Reply::text("back")], no_tools).await;
        stage.say(T, "hi").await;
        assert_eq!(stage.outline().await, ["user: hi", "model: say(back) -> Stopped"], "{kind:?}");
        stage.end().await;
    }
}

/// S55: an answer that reached its length and one that was withheld are told apart, and a withheld call does not run.
async fn s55_answers_that_end_early(mode: Mode) {
    let replies = [
        Reply::text("and then").stop(StopReason::Length),
        Reply::call("echo", crate::behaviour::kit::text_arguments("no")).stop(StopReason::ContentFilter),
        Reply::text("fine"),
    ];
    let stage = Stage::new(mode, replies, with_echo).await;
    stage.say(T, "one").await;
    stage.say(T, "two").await;
    stage.say(T, "three").await;
    let outline = stage.outline().await;
    assert_eq!(outline[1], "model: say(and then) -> Length");
    assert!(outline[3].ends_with("-> ContentFilter"), "{}", outline[3]);
    assert!(outline[4].contains("NotExecuted"), "{}", outline[4]);
    assert_eq!(stage.notes(), [""; 0]);
    let ended = stage.shown(T).await;
    assert!(ended.contains(&ItemKind::Ended { outcome: Outcome::Length }));
    assert!(ended.contains(&ItemKind::Ended { outcome: Outcome::ContentFilter }));
    assert_eq!(text_of(&ended), "and then|fine");
    stage.end().await;
}
