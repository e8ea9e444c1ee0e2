//! Choices and their answers: who wins, what is refused, and what a restart keeps.

use std::time::Duration;

use selvedge::prelude::*;
use selvedge::runtime::AnswerError;
use selvedge_testkit::{Seen, Watcher};
use selvedge_tests::Mode;

use crate::behaviour::kit::{Build, Stage, T, ask};

both_modes!(
    a_choice_is_answered,
    s58_two_answers_and_an_unknown_choice,
    s60_a_pending_choice_after_a_crash,
    s60_a_pending_choice_after_a_restart,
    s62_two_calls_that_ask,
    a_choice_expires,
    an_answer_that_is_no_option,
);

fn with_ask(builder: Build, watcher: &Watcher) -> Build {
    builder.tool(ask(watcher, None))
}

/// A stage whose model calls `ask` once, and the choice.
async fn asked(mode: Mode) -> (Stage, UserChoice) {
    let stage = Stage::new(mode, [Reply::call("ask", "{}"), Reply::text("done")], with_ask).await;
    stage.post("go", Input::text("go")).await;
    let choice = stage.until_asked(1).await.remove(0);
    (stage, choice)
}

/// A call asks, somebody answers, and the call goes on with the answer.
async fn a_choice_is_answered(mode: Mode) {
    let (stage, choice) = asked(mode).await;
    assert_eq!((&*choice.prompt, choice.options.len(), choice.default), ("Which?", 2, 0));
    assert_eq!(choice.id, ChoiceId::from("call_1_0:1"));
    stage.choose(&choice, 1).await.expect("the answer counts");
    stage.rest(T).await;
    assert_eq!(stage.newest_request()[2], "results: call_1_0 Ok: blue");
    assert_eq!(stage.notes(), ["call_1_0 chose 1 Answered"]);
    let log = stage.watcher.log();
    assert!(!log.iter().any(|seen| matches!(seen, Seen::Dismissed(_))), "an answered choice is not dismissed");
    stage.end().await;
}

/// S58: two clients answer at once, and one wins; who answers a choice that never was hears so.
async fn s58_two_answers_and_an_unknown_choice(mode: Mode) {
    let (stage, choice) = asked(mode).await;
    let (first, second) = tokio::join!(stage.answer(T, &choice.id, 1), stage.answer(T, &choice.id, 0));
    first.expect("the first answer counts");
    assert!(matches!(second, Err(AnswerError::AlreadyAnswered(_))), "{second:?}");
    let unknown = stage.answer(T, &"call_9_9:1".into(), 0).await;
    assert!(matches!(unknown, Err(AnswerError::NotOpen(_))), "{unknown:?}");
    stage.rest(T).await;
    assert_eq!(stage.newest_request()[2], "results: call_1_0 Ok: blue");
    let late = stage.answer(T, &choice.id, 0).await;
    assert!(matches!(late, Err(AnswerError::AlreadyAnswered(_) | AnswerError::NotOpen(_))), "{late:?}");
    stage.end().await;
}

/// S60: the process dies while a choice is pending: whoever attaches afterwards is told of it, and can answer.
async fn s60_a_pending_choice_after_a_crash(mode: Mode) {
    let (mut stage, choice) = asked(mode).await;
    stage.world.crash_and_restart(&[T]).await;
    still_pending(stage, choice).await;
}

/// S60: the same after an orderly restart.
async fn s60_a_pending_choice_after_a_restart(mode: Mode) {
    let (mut stage, choice) = asked(mode).await;
    stage.world.restart(&[T]).await;
    still_pending(stage, choice).await;
}

async fn still_pending(stage: Stage, choice: UserChoice) {
    let pending = match stage.mode() {
        Mode::Local => stage.attach().await.choices,
        Mode::Step => stage.runner().run(&T.into()).await.expect("the step goes through").choices,
    };
    assert_eq!(pending, std::slice::from_ref(&choice));
    stage.choose(&choice, 1).await.expect("the answer counts");
    stage.rest(T).await;
    assert_eq!(stage.newest_request()[2], "results: call_1_0 Ok: blue");
    assert_eq!(stage.notes(), ["call_1_0 chose 1 Answered"]);
    stage.end().await;
}

/// S62: two calls ask: two choices, answered in either order.
async fn s62_two_calls_that_ask(mode: Mode) {
    for first in [0, 1] {
        let both = Reply::call("ask", "{}").and_call("ask", "{}");
        let stage = Stage::new(mode, [both, Reply::text("done")], with_ask).await;
        stage.post("go", Input::text("go")).await;
        let mut asked = stage.until_asked(2).await;
        asked.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
        assert_eq!([asked[0].id.as_str(), asked[1].id.as_str()], ["call_1_0:1", "call_1_1:1"]);
        stage.choose(&asked[first], first).await.expect("the answer counts");
        stage.until_record(|record| record.open_calls.len() == 1).await;
        stage.choose(&asked[1 - first], 1 - first).await.expect("the answer counts");
        stage.rest(T).await;
        assert_eq!(stage.newest_request()[2], "results: call_1_0 Ok: red | call_1_1 Ok: blue");
        stage.end().await;
    }
}

/// A choice whose time runs out is dismissed, and its default counts.
async fn a_choice_expires(mode: Mode) {
    let with_patience = |builder: Build, watcher: &Watcher| builder.tool(ask(watcher, Some(Duration::from_secs(60))));
    let stage = Stage::new(mode, [Reply::call("ask", "{}"), Reply::text("done")], with_patience).await;
    stage.post("go", Input::text("go")).await;
    let choice = stage.until_asked(1).await.remove(0);
    tokio::time::sleep(Duration::from_secs(58)).await;
    stage.go(T);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.notes(), [""; 0], "it expires before its time");
    tokio::time::sleep(Duration::from_secs(2)).await;
    stage.rest(T).await;
    assert_eq!(stage.notes(), ["call_1_0 chose 0 Expired"]);
    assert_eq!(stage.newest_request()[2], "results: call_1_0 Ok: red");
    stage.place("the dismissal", |seen| *seen == Seen::Dismissed(choice.id.as_str().into()));
    let late = stage.answer(T, &choice.id, 1).await;
    assert!(late.is_err(), "an expired choice is answered");
    stage.end().await;
}

/// An answer that is none of the options is refused, and the choice stays open.
async fn an_answer_that_is_no_option(mode: Mode) {
    let (stage, choice) = asked(mode).await;
    let refused = stage.answer(T, &choice.id, 2).await;
    assert!(matches!(refused, Err(AnswerError::NoSuchOption { options: 2, selected: 2 })), "{refused:?}");
    stage.choose(&choice, 1).await.expect("the choice is still open");
    stage.end().await;
}
