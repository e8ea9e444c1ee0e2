//! Threads that others run, make anew, or fork: for observers that can derive what they have not been shown.

use selvedge_event::{ThreadId, Timestamp};

use super::ObserverHarness;
use super::scenes::{Scene, conversation};
use super::stage::Stage;

/// Somebody else drives the thread for a while; this process notices, and shows what it has missed.
pub async fn steps_that_others_ran_are_made_good<H: ObserverHarness>() {
    let scenes = conversation();
    for missed in 1..4 {
        let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
        if !stage.harness.derives() {
            return;
        }
        let (before, rest) = scenes.split_at(2);
        for scene in before {
            stage.step(&thread, scene).await;
        }
        for scene in &rest[..missed] {
            stage.step_elsewhere(&thread, scene).await;
        }
        stage.show_since(&thread, 2).await;
        for scene in &rest[missed..] {
            stage.step(&thread, scene).await;
            stage.check(&thread, &format!("after others ran {missed} steps")).await;
        }
    }
}

/// Somebody else drives the thread while this process does not run.
pub async fn steps_that_nobody_saw_are_made_good<H: ObserverHarness>() {
    let scenes = conversation();
    for missed in 1..scenes.len() {
        let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
        if !stage.harness.derives() {
            return;
        }
        for scene in &scenes[..missed] {
            stage.step_elsewhere(&thread, scene).await;
        }
        for scene in &scenes[missed..] {
            stage.step(&thread, scene).await;
            stage.check(&thread, &format!("after {missed} steps that nobody saw")).await;
        }
    }
}

/// A fork begins with a history that nobody was shown under its name.
pub async fn a_fork_has_what_it_shares<H: ObserverHarness>() {
    let (mut stage, parent) = (Stage::<H>::new().await, ThreadId::from("t"));
    if !stage.harness.derives() {
        return;
    }
    for scene in &conversation()[..4] {
        stage.step(&parent, scene).await;
    }
    for step in [0, 4] {
        let fork = ThreadId::from(format!("fork {step}"));
        stage.store.fork(&parent, step, &fork, Timestamp(9)).await.expect("the thread is forked");
        stage.step(&fork, &Scene::user("elsewhere").answer("yes")).await;
        stage.check(&fork, "after the fork's first step").await;
        stage.step(&fork, &Scene::user("on").answer("and on")).await;
        stage.check(&fork, "after the fork's second step").await;
    }
    stage.check(&parent, "after the forks").await;
}

/// A thread is deleted, and another of its name begins.
pub async fn a_thread_that_is_made_anew_has_nothing_of_the_old_one<H: ObserverHarness>() {
    for old in 1..4 {
        let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
        if !stage.harness.derives() {
            return;
        }
        for scene in &conversation()[..old] {
            stage.step(&thread, scene).await;
        }
        stage.delete(&thread).await;
        for text in ["new", "newer", "newest", "news"] {
            stage.step(&thread, &Scene::user(text).answer("so it is")).await;
            stage.check(&thread, &format!("after {old} steps of another")).await;
        }
    }
}
