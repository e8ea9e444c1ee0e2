//! Choices, for observers that keep them.

use selvedge_event::{CallId, ChoiceId, ThreadId};
use selvedge_observer::ThreadObserver;

use super::ObserverHarness;
use super::scenes::Scene;
use super::stage::{Stage, cut_off};

/// A thread with an open call, and the names of two choices of it. `None` if the observer keeps no choices.
async fn asked<H: ObserverHarness>() -> Option<(Stage<H>, ThreadId, [ChoiceId; 2])> {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    stage.harness.choices(&thread).await?;
    stage.step(&thread, &Scene::user("do it").calls(1)).await;
    let call = CallId::of(1, 0);
    Some((stage, thread, [ChoiceId::of(&call, 1), ChoiceId::of(&call, 2)]))
}

async fn expect<H: ObserverHarness>(stage: &Stage<H>, thread: &ThreadId, choices: &[&ChoiceId], when: &str) {
    let kept = stage.harness.choices(thread).await.unwrap_or_default();
    assert_eq!(kept.iter().collect::<Vec<_>>(), choices, "{when}");
}

/// The runtime shows a choice as soon as its hook has returned.
pub async fn a_choice_is_kept_when_its_hook_has_returned<H: ObserverHarness>() {
    let Some((mut stage, thread, [first, second])) = asked::<H>().await else { return };
    let turn = stage.synced(&thread, &Scene::asks(&first)).await;
    let choice = turn.changes().choices_opened[0].clone();
    stage.observer().on_user_choice_required(thread.as_str(), &choice).await.expect("the hook succeeds");
    expect(&stage, &thread, &[&first], "before the commit").await;
    turn.commit(stage.observer()).await.expect("the hooks succeed");
    expect(&stage, &thread, &[&first], "after the commit").await;
    stage.step(&thread, &Scene::asks(&second)).await;
    expect(&stage, &thread, &[&first, &second], "oldest first").await;
}

/// A choice that waits is put before the observer again with its step.
pub async fn a_choice_that_is_required_again_is_kept_once<H: ObserverHarness>() {
    let Some((mut stage, thread, [first, second])) = asked::<H>().await else { return };
    stage.step(&thread, &Scene::asks(&first)).await;
    stage.step(&thread, &Scene::asks(&second)).await;
    for _ in 0..2 {
        stage.crash().await;
        expect(&stage, &thread, &[&first, &second], "after a crash").await;
        stage.resume(&thread).await;
        expect(&stage, &thread, &[&first, &second], "after the resumption").await;
    }
}

/// The process dies, or the future is dropped, while the hook is under way.
pub async fn a_choice_whose_hook_was_cut_off_is_kept_in_the_end<H: ObserverHarness>() {
    for polls in 0..8 {
        for crashes in [false, true] {
            let Some((mut stage, thread, [first, _])) = asked::<H>().await else { return };
            let turn = stage.synced(&thread, &Scene::asks(&first)).await;
            let choice = turn.changes().choices_opened[0].clone();
            cut_off(stage.observer().on_user_choice_required(thread.as_str(), &choice), polls).await;
            if crashes {
                drop(turn);
                stage.crash().await;
                stage.resume(&thread).await;
            } else {
                stage.emit_again(&turn);
                turn.commit(stage.observer()).await.expect("the hooks succeed");
            }
            expect(&stage, &thread, &[&first], &format!("after {polls} polls")).await;
            stage.check(&thread, "after the choice").await;
        }
    }
}

/// An answer is not a dismissal: no hook tells of it, and its step shows nothing.
pub async fn a_choice_that_is_answered_is_gone<H: ObserverHarness>() {
    let Some((mut stage, thread, [first, second])) = asked::<H>().await else { return };
    stage.step(&thread, &Scene::asks(&first)).await;
    stage.step(&thread, &Scene::asks(&second)).await;
    stage.step(&thread, &Scene::answers(&second)).await;
    expect(&stage, &thread, &[&first], "after the answer").await;
    stage.step(&thread, &Scene::user("by the way").answers_too(&first)).await;
    expect(&stage, &thread, &[], "after an answer among other inputs").await;
}

/// An interruption makes a choice moot.
pub async fn a_dismissed_choice_is_gone<H: ObserverHarness>() {
    let Some((mut stage, thread, [first, second])) = asked::<H>().await else { return };
    stage.step(&thread, &Scene::asks(&first)).await;
    stage.step(&thread, &Scene::asks(&second)).await;
    stage.observer().on_user_choice_dismissed(thread.as_str(), first.as_str()).await.expect("the hook succeeds");
    expect(&stage, &thread, &[&second], "as soon as the hook has returned").await;
    stage.step(&thread, &Scene::silent().dismisses(&first)).await;
    expect(&stage, &thread, &[&second], "after the step").await;
    stage.crash().await;
    expect(&stage, &thread, &[&second], "after a crash").await;
}

/// The result of a call takes its choices along.
pub async fn a_choice_ends_with_its_call<H: ObserverHarness>() {
    let Some((mut stage, thread, [first, second])) = asked::<H>().await else { return };
    stage.step(&thread, &Scene::asks(&first)).await;
    stage.step(&thread, &Scene::asks(&second)).await;
    stage.step(&thread, &Scene::default().result(CallId::of(1, 0), "done").answer("so be it")).await;
    expect(&stage, &thread, &[], "after the result").await;
    stage.check(&thread, "after the result").await;
}

/// Choices belong to their thread, though their names repeat.
pub async fn choices_of_threads_do_not_mix<H: ObserverHarness>() {
    let Some((mut stage, thread, [first, _])) = asked::<H>().await else { return };
    let other = ThreadId::from("other");
    stage.step(&other, &Scene::user("you too").calls(1)).await;
    stage.step(&thread, &Scene::asks(&first)).await;
    stage.step(&other, &Scene::asks(&first)).await;
    stage.step(&thread, &Scene::silent().dismisses(&first)).await;
    expect(&stage, &thread, &[], "the thread whose choice was dismissed").await;
    expect(&stage, &other, &[&first], "the other thread").await;
}
