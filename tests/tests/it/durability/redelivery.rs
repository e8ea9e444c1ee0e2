//! What is accepted is there, once, whatever happens and however often it is delivered.

use selvedge::prelude::*;
use selvedge::store::Acceptance;
use selvedge_testkit::{Fault, OperationKind, Select};
use selvedge_tests::{Mode, World, in_paused_time, text_of};

use crate::durability::kit::{MODES, a_while, echo, insist, user_texts};

async fn echoing(mode: Mode) -> (World, ScriptedModel) {
    let model = echo();
    let shared = model.clone();
    (World::new(mode, move |builder| builder.model(shared.clone())).await, model)
}

/// S18: `send` has resolved; crash at once: the input is there after the restart and is processed once.
#[test]
fn s18_what_was_accepted_survives() {
    for mode in MODES {
        in_paused_time(async move {
            let (mut world, _) = echoing(mode).await;
            let texts = ["a", "b", "c", "d"];
            for text in texts {
                let sent = world.send("t", text, Input::queued(text)).await.unwrap();
                assert!(matches!(sent, Acceptance::Accepted(_)));
                world.crash_and_restart(&["t"]).await;
            }
            world.rest("t").await;
            assert_eq!(user_texts(&world.messages("t").await), texts, "{mode:?}");
            world.check("t").await;
        });
    }
}

/// S19: crash after the turn is synced; the same input is delivered again: once in the history.
#[test]
fn s19_redelivery_after_the_sync_changes_nothing() {
    for mode in MODES {
        in_paused_time(async move {
            let (mut world, model) = echoing(mode).await;
            world.faults().inject(Select::kind(OperationKind::Sync).next(), Fault::DieAfter);
            insist(&world, "t", "hello").await;
            world.go("t");
            a_while().await;
            assert!(world.faults().is_dead());

            world.crash_and_restart(&["t"]).await;
            let again = world.send("t", "hello", Input::text("hello")).await.unwrap();
            assert_eq!(again, Acceptance::Duplicate, "{mode:?}");
            world.rest("t").await;
            a_while().await;
            let again = world.send("t", "hello", Input::text("hello")).await.unwrap();
            assert_eq!(again, Acceptance::Duplicate, "{mode:?}");
            world.rest("t").await;
            assert_eq!(user_texts(&world.messages("t").await), ["hello"], "{mode:?}");
            assert_eq!(text_of(&world.shown("t").await), "you said hello", "{mode:?}");
            assert_eq!(model.requests().len(), 1, "{mode:?}: the turn was durable, nobody pays for it again");
            world.check("t").await;
        });
    }
}

/// S20: the store errs once while a thread loads, then an old input is redelivered: the load is retried, or fails
/// loudly; nothing is processed twice.
#[test]
fn s20_a_load_that_fails_once_forgets_nothing() {
    for mode in MODES {
        for kind in [OperationKind::Claim, OperationKind::Load, OperationKind::History] {
            for fault in [Fault::FailBefore, Fault::FailAfter] {
                in_paused_time(fail_while_loading(mode, kind, fault));
            }
        }
    }
}

async fn fail_while_loading(mode: Mode, kind: OperationKind, fault: Fault) {
    let (mut world, model) = echoing(mode).await;
    world.say("t", "hello").await;
    world.restart(&["t"]).await;
    world.faults().inject(Select::kind(kind).next(), fault);

    if let Ok(again) = world.send("t", "hello", Input::text("hello")).await {
        assert_eq!(again, Acceptance::Duplicate);
    }
    insist(&world, "t", "hello").await;
    if world.try_rest("t").await.is_err() {
        world.rest("t").await;
    }
    assert!(world.faults().count(&Select::kind(kind)) > 0, "{mode:?}: nothing was loaded by {kind:?}");
    assert_eq!(user_texts(&world.messages("t").await), ["hello"], "{mode:?}, {kind:?}, {fault:?}");
    assert_eq!(model.requests().len(), 1, "{mode:?}, {kind:?}, {fault:?}");

    world.say("t", "more").await;
    assert_eq!(user_texts(&world.messages("t").await), ["hello", "more"], "{mode:?}, {kind:?}, {fault:?}");
    world.check("t").await;
}

/// S20, the loud half: a store that does not come back while a thread loads is an error for whoever asks, not a thread
/// that looks empty.
#[test]
fn s20_a_load_that_fails_for_good_is_loud() {
    for kind in [OperationKind::Claim, OperationKind::Load, OperationKind::History] {
        in_paused_time(async move {
            let (mut world, model) = echoing(Mode::Local).await;
            world.say("t", "hello").await;
            world.restart(&["t"]).await;
            world.faults().inject(Select::kind(kind), Fault::FailBefore);
            assert!(world.send("t", "more", Input::text("more")).await.is_err(), "{kind:?}");
            assert!(world.system().subscribe(&"t".into(), ()).await.is_err(), "{kind:?}");
            assert_eq!(world.watcher.subscribers("t"), 0, "{kind:?}: nobody is shown an empty thread");

            world.faults().clear();
            insist(&world, "t", "more").await;
            world.rest("t").await;
            assert_eq!(user_texts(&world.messages("t").await), ["hello", "more"], "{kind:?}");
            assert_eq!(model.requests().len(), 2, "{kind:?}");
        });
    }
}
