//! Choices and the observer's hooks: what is awaited before what.

use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge::runtime::AnswerError;
use selvedge_testkit::{Seen, Watcher};
use selvedge_tests::{Mode, in_paused_time, text_of};

use crate::behaviour::kit::{Build, Stage, T, ask};

both_modes!(
    s59_a_choice_made_moot_by_text,
    a_choice_is_dismissed_by_an_interruption,
    a_dismissal_that_errs_is_tried_again,
    a_choice_is_required_before_its_step_is_committed,
);

fn with_ask(builder: Build, watcher: &Watcher) -> Build {
    builder.tool(ask(watcher, None))
}

async fn asked(mode: Mode, last: &str) -> (Stage, UserChoice) {
    let stage = Stage::new(mode, [Reply::call("ask", "{}"), Reply::text(last)], with_ask).await;
    stage.post("go", Input::text("go")).await;
    let choice = stage.until_asked(1).await.remove(0);
    (stage, choice)
}

fn is_text(seen: &Seen, wanted: &str) -> bool {
    matches!(seen, Seen::Event(AgentEvent::UserInput { text, .. }) if &**text == wanted)
}

/// S59: a choice is pending, the user writes, then somebody answers: the choice is dismissed first, and durably; the
/// answer is refused; the thread goes on with the text.
async fn s59_a_choice_made_moot_by_text(mode: Mode) {
    let (stage, choice) = asked(mode, "fine").await;
    stage.send(T, "no", Input::text("never mind")).await.expect("the text is accepted");
    let late = stage.choose(&choice, 1).await;
    assert!(matches!(late, Err(AnswerError::NotOpen(_))), "{late:?}");
    stage.rest(T).await;
    let dismissed = stage.place("the dismissal", |seen| *seen == Seen::Dismissed(choice.id.as_str().into()));
    assert!(dismissed < stage.place("the text", |seen| is_text(seen, "never mind")));
    assert!(dismissed < stage.place("a result", |seen| matches!(seen, Seen::Event(AgentEvent::ToolResult { .. }))));
    assert_eq!(stage.record().await.choices, []);
    assert_eq!(stage.notes(), ["call_1_0 chose 0 Dismissed"], "the call hears that the default counts");
    let outline = stage.outline().await;
    assert!(outline[2].starts_with("result: call_1_0 Interrupted"), "{}", outline[2]);
    assert_eq!(outline[3..], ["user: never mind", "model: say(fine) -> Stopped"]);
    let later = stage.answer(T, &choice.id, 1).await;
    assert!(matches!(later, Err(AnswerError::NotOpen(_))), "{later:?}");
    stage.end().await;
}

/// An interruption without text dismisses what is pending, and the thread idles.
async fn a_choice_is_dismissed_by_an_interruption(mode: Mode) {
    let (stage, choice) = asked(mode, "back").await;
    stage.stop().await;
    stage.rest(T).await;
    stage.place("the dismissal", |seen| *seen == Seen::Dismissed(choice.id.as_str().into()));
    assert_eq!(stage.record().await.choices, []);
    assert_eq!(stage.requests().len(), 1);
    assert_eq!(stage.outline().await.len(), 3);
    stage.say(T, "on").await;
    assert_eq!(text_of(&stage.shown(T).await), "back");
    stage.end().await;
}

/// A dismissal that errs fails the step before anything of it is shown or synced; it is tried again until it holds.
async fn a_dismissal_that_errs_is_tried_again(mode: Mode) {
    let (stage, choice) = asked(mode, "fine").await;
    let step = stage.record().await.head.step;
    stage.watcher.fail_dismissals(2);
    stage.send(T, "no", Input::text("never mind")).await.expect("the text is accepted");
    if mode == Mode::Step {
        let failed = stage.runner().step(&T.into()).await;
        assert!(matches!(failed, Err(selvedge::runtime::StepError::Observer(_))), "{failed:?}");
        assert_eq!(stage.record().await.head.step, step);
    }
    stage.go(T);
    stage.until_record(|record| record.head.step > step).await;
    stage.rest(T).await;
    let dismissed = stage.place("the dismissal", |seen| *seen == Seen::Dismissed(choice.id.as_str().into()));
    assert!(dismissed < stage.place("the text", |seen| is_text(seen, "never mind")));
    assert_eq!(text_of(&stage.shown(T).await), "fine");
    stage.end().await;
}

/// The observer has a choice before the commit of the step that opens it.
async fn a_choice_is_required_before_its_step_is_committed(mode: Mode) {
    let (stage, _) = asked(mode, "unused").await;
    let log = stage.watcher.log();
    let required = stage.place("the choice", |seen| matches!(seen, Seen::Required(_)));
    assert_eq!(log[required + 1..required + 3], [Seen::Committing, Seen::Committed]);
    stage.stop().await;
    stage.end().await;
}

/// As long as the hook has not returned, nobody sees the choice and nobody can answer it. Local mode, where others are
/// there to see it.
#[test]
fn a_choice_is_shown_to_nobody_before_its_hook_returns() {
    in_paused_time(async {
        let stage = Stage::new(Mode::Local, [Reply::call("ask", "{}"), Reply::text("done")], with_ask).await;
        let hook = Gate::new();
        stage.watcher.hold_choices(&hook);
        stage.post("go", Input::text("go")).await;
        hook.reached().await;
        assert_eq!(stage.attach().await.choices, []);
        let early = stage.answer(T, &"call_1_0:1".into(), 1).await;
        assert!(matches!(early, Err(AnswerError::NotOpen(_))), "{early:?}");
        hook.open();
        let choice = stage.until_asked(1).await.remove(0);
        assert_eq!(stage.attach().await.choices, std::slice::from_ref(&choice));
        stage.choose(&choice, 1).await.expect("the answer counts");
        stage.rest(T).await;
        assert_eq!(stage.attach().await.choices, []);
        stage.end().await;
    });
}
