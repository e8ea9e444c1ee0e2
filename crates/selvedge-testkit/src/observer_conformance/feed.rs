//! What is shown, and then committed.

use selvedge_event::{AgentEvent, Discard, ThreadId};
use selvedge_observer::ThreadObserver;

use super::ObserverHarness;
use super::scenes::{Scene, conversation};
use super::stage::Stage;

/// After each step, what is committed is what the history says.
pub async fn what_is_committed_is_what_the_history_says<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    for (number, scene) in conversation().iter().enumerate() {
        stage.step(&thread, scene).await;
        stage.check(&thread, &format!("after step {}", number + 1)).await;
    }
}

/// Events of every kind, also such as no step of today's runtime emits, in orders that it does not emit them in.
pub async fn no_event_is_too_much<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    let scenes = conversation();
    stage.step(&thread, &scenes[0]).await;
    let void = AgentEvent::TurnDiscarded { step: 2, attempt: 0, scope: Discard::Step };
    for scene in &scenes {
        let mut events = scene.at(2).events;
        stage.emit(&thread, &events);
        stage.emit(&thread, std::slice::from_ref(&void));
        events.reverse();
        stage.emit(&thread, &events);
        stage.emit(&thread, std::slice::from_ref(&void));
    }
    let url = AgentEvent::OAuthRequired { call_id: "call_1_0".into(), auth_url: "https://sign.in".into() };
    stage.emit(&thread, &[url, void]);
    stage.step(&thread, &Scene::user("hello").answer("hi")).await;
    stage.check(&thread, "after everything was discarded").await;
}

/// What is void is not committed: neither of an attempt, nor of a step that could not be synced.
pub async fn a_discarded_step_leaves_nothing<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    for scene in conversation() {
        let step = stage.next(&thread).await;
        stage.emit(&thread, &Scene::user("void").answer("void too").calls(1).at(step).events);
        stage.emit(&thread, &[AgentEvent::TurnDiscarded { step, attempt: 2, scope: Discard::Step }]);
        stage.check(&thread, &format!("after step {step} was discarded")).await;
        stage.step(&thread, &scene).await;
        stage.check(&thread, &format!("after step {step} was run again")).await;
    }
}

/// What is shown of a step and not committed is not kept.
pub async fn nothing_is_committed_before_its_commit<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    stage.step(&thread, &conversation()[0]).await;
    let before = stage.harness.committed(&thread).await;
    let turn = stage.synced(&thread, &Scene::user("hello").answer("hi")).await;
    assert_eq!(stage.harness.committed(&thread).await, before, "something is kept of a step that is not committed");
    turn.commit(stage.observer()).await.expect("the hooks succeed");
    stage.check(&thread, "after the commit").await;
}

/// Two threads whose events and commits come in between one another's.
pub async fn threads_do_not_mix<H: ObserverHarness>() {
    let mut stage = Stage::<H>::new().await;
    let threads = [ThreadId::from("one"), ThreadId::from("two"), ThreadId::from("one/two")];
    for scene in conversation() {
        let mut turns = Vec::new();
        for thread in &threads {
            turns.push((thread, stage.synced(thread, &scene).await));
        }
        for (thread, turn) in turns.into_iter().rev() {
            turn.commit(stage.observer()).await.expect("the hooks succeed");
            stage.check(thread, "in between").await;
        }
    }
    // One that is ahead of the others.
    stage.step(&threads[1], &Scene::user("more").answer("of it")).await;
    for thread in &threads {
        stage.check(thread, "at the end").await;
    }
}

/// Steps that show nothing, or nothing that names them.
pub async fn a_step_may_show_nothing<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    for scene in [Scene::silent(), Scene::user("a").answer("b"), Scene::view(), Scene::silent(), Scene::user("c")] {
        stage.step(&thread, &scene).await;
        stage.check(&thread, "after a step").await;
    }
}

/// Whatever people and models write.
pub async fn any_text_is_kept<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("a 'name' with \"quotes\" and ümläuts 🧵"));
    let long = "long ".repeat(200_000);
    let texts =
        ["'; DROP TABLE x; --", "\"", "\u{0}nul\u{0}", "\r\n\t", "🧵👩‍👩‍👧‍👦", "שלום \u{202e}abc", "\u{feff}", "%_\\", &long];
    for text in texts {
        stage.step(&thread, &Scene::user(text).answer(text).calls(1)).await;
        let call = selvedge_event::CallId::of(stage.next(&thread).await - 1, 0);
        stage.step(&thread, &Scene::default().result(call, text).answer(text)).await;
        stage.check(&thread, &format!("after {:?}", &text[..text.floor_char_boundary(40)])).await;
    }
}

/// An observer that knows nothing of a thread is not harmed by the end of one of its choices.
pub async fn a_thread_may_be_unknown<H: ObserverHarness>() {
    let (stage, thread) = (Stage::<H>::new().await, ThreadId::from("unknown"));
    stage.observer().on_user_choice_dismissed(thread.as_str(), "call_1_0:1").await.expect("the hook succeeds");
    stage.emit(&thread, &[AgentEvent::Info { text: "a note".into(), call_id: None }]);
    stage.check(&thread, "after a note").await;
}
