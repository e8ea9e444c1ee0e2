//! Steps that are committed again, in whatever way that comes about.

use selvedge_event::ThreadId;
use selvedge_observer::ThreadObserver;

use super::ObserverHarness;
use super::scenes::conversation;
use super::stage::{Stage, cut_off};

/// How many polls of a hook are tried before it is dropped.
const POLLS: usize = 12;

/// A commit that the runtime does not know of is made again: after a crash, and in the same process.
pub async fn a_step_that_is_committed_again_changes_nothing<H: ObserverHarness>() {
    for crashes in [false, true] {
        let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
        for scene in conversation() {
            stage.step(&thread, &scene).await;
            let once = stage.harness.committed(&thread).await;
            for _ in 0..2 {
                if crashes {
                    stage.crash().await;
                }
                stage.resume(&thread).await;
                assert_eq!(stage.harness.committed(&thread).await, once, "crashes: {crashes}");
            }
            stage.check(&thread, "after a step was committed again").await;
        }
    }
}

/// The process dies before the hook is called.
pub async fn a_crash_before_the_commit_is_made_good<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    for scene in conversation() {
        drop(stage.synced(&thread, &scene).await);
        stage.crash().await;
        stage.resume(&thread).await;
        stage.check(&thread, "after the resumption").await;
    }
}

/// The process dies before anything of the step is durable: another one runs it.
pub async fn a_crash_before_the_sync_is_made_good<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    for scene in conversation() {
        let step = stage.next(&thread).await;
        stage.emit(&thread, &scene.at(step).events);
        stage.crash().await;
        if step > 1 {
            stage.resume(&thread).await;
        }
        stage.step(&thread, &scene).await;
        stage.check(&thread, "after the step was run again").await;
    }
}

/// The process dies while the hook is under way.
pub async fn a_crash_within_the_commit_is_made_good<H: ObserverHarness>() {
    cut_commits::<H>(true).await;
}

/// The hook's future is dropped while it is under way, and the process lives.
pub async fn a_commit_that_is_dropped_is_made_good<H: ObserverHarness>() {
    cut_commits::<H>(false).await;
}

async fn cut_commits<H: ObserverHarness>(crashes: bool) {
    for polls in 0..POLLS {
        let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
        for scene in conversation() {
            let turn = stage.synced(&thread, &scene).await;
            cut_off(stage.observer().on_commit(thread.as_str()), polls).await;
            if crashes {
                drop(turn);
                stage.crash().await;
                stage.resume(&thread).await;
            } else {
                stage.emit_again(&turn);
                turn.commit(stage.observer()).await.expect("the hooks succeed");
            }
            stage.check(&thread, &format!("cut off after {polls} polls")).await;
        }
    }
}

/// Somebody beside the observer errs, so that the runtime tries the step again without its having failed here.
pub async fn a_step_that_is_tried_again_changes_nothing<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    for scene in conversation() {
        let turn = stage.synced(&thread, &scene).await;
        stage.observer().on_commit(thread.as_str()).await.expect("the hook succeeds");
        let once = stage.harness.committed(&thread).await;
        stage.emit_again(&turn);
        turn.commit(stage.observer()).await.expect("the hooks succeed");
        assert_eq!(stage.harness.committed(&thread).await, once);
        stage.check(&thread, "after the second try").await;
    }
}

/// What is committed outlives the process.
pub async fn what_is_committed_survives_a_crash<H: ObserverHarness>() {
    let (mut stage, thread) = (Stage::<H>::new().await, ThreadId::from("t"));
    for scene in conversation() {
        stage.step(&thread, &scene).await;
        let before = stage.harness.committed(&thread).await;
        stage.crash().await;
        assert_eq!(stage.harness.committed(&thread).await, before, "a crash has changed what was committed");
        // Each mark is lost: a new process begins with the step that it finds.
        stage.resume(&thread).await;
    }
    stage.check(&thread, "at the end").await;
}
