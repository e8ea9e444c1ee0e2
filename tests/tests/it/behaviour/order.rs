//! The barrier, seen from outside: events, then sync, then commit, then dispatch.

use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge_testkit::{Moment, OperationKind, Seen, Select};
use selvedge_tests::Mode;

use crate::behaviour::kit::{Stage, T, text_arguments, with_echo};

both_modes!(
    nothing_overtakes_the_sync_or_the_commit,
    a_failing_commit_dispatches_nothing,
    every_step_is_committed_once,
);

fn finished(seen: &Seen) -> bool {
    matches!(seen, Seen::Event(AgentEvent::CompletionFinished { .. }))
}

async fn a_stage(mode: Mode) -> Stage {
    Stage::new(mode, [Reply::call("echo", text_arguments("one")), Reply::text("done")], with_echo).await
}

/// A store that is slow to sync, then an observer that is slow to commit: as long as either is at it, the call stays in.
async fn nothing_overtakes_the_sync_or_the_commit(mode: Mode) {
    for moment in Moment::BOTH {
        let stage = a_stage(mode).await;
        let commit = Gate::new();
        let sync = stage.faults().hold(Select::kind(OperationKind::Sync).next(), moment);
        stage.watcher.hold_commits(&commit);
        stage.post("go", Input::text("go")).await;
        sync.reached(1).await;
        tokio::time::sleep(std::time::Duration::from_secs(30)).await;
        let events = stage.place("the end of the completion", finished);
        assert!(!stage.watcher.log().contains(&Seen::Committing), "a commit before the sync has returned");
        sync.open();
        commit.reached().await;
        tokio::time::sleep(std::time::Duration::from_secs(30)).await;
        assert_eq!(stage.notes(), [""; 0], "a dispatch before the commit has returned");
        commit.open();
        stage.rest(T).await;
        let order = [
            events,
            stage.place("the commit", |seen| *seen == Seen::Committing),
            stage.place("its end", |seen| *seen == Seen::Committed),
            stage.place("the dispatch", |seen| *seen == Seen::Note("echo call_1_0".into())),
            stage.place("the result", |seen| matches!(seen, Seen::Event(AgentEvent::ToolResult { .. }))),
        ];
        assert!(order.is_sorted(), "{order:?}");
        stage.end().await;
    }
}

/// A commit that errs dispatches nothing; the step stays synced, is committed again under its number, and its call goes
/// out once.
async fn a_failing_commit_dispatches_nothing(mode: Mode) {
    let stage = a_stage(mode).await;
    stage.watcher.fail_commits(2);
    stage.post("go", Input::text("go")).await;
    stage.until_record(|record| record.head.step == 1).await;
    assert_eq!(stage.notes(), [""; 0]);
    stage.rest(T).await;
    let begun = stage
        .watcher
        .log()
        .iter()
        .take_while(|seen| **seen != Seen::Committed)
        .filter(|seen| **seen == Seen::Committing)
        .count();
    assert_eq!(begun, 3);
    assert!(
        stage.place("the commit", |seen| *seen == Seen::Committed)
            < stage.place("the dispatch", |seen| matches!(seen, Seen::Note(_)))
    );
    assert_eq!(stage.notes(), ["echo call_1_0"]);
    assert_eq!(stage.requests().len(), 2);
    stage.end().await;
}

/// One commit per step that synced, whatever the step did.
async fn every_step_is_committed_once(mode: Mode) {
    let stage = a_stage(mode).await;
    stage.say(T, "go").await;
    let committed = stage.watcher.log().iter().filter(|seen| **seen == Seen::Committed).count();
    assert_eq!(committed as u64, stage.record().await.head.step);
    assert_eq!(stage.faults().count(&Select::kind(OperationKind::Sync)), committed);
    stage.end().await;
}
