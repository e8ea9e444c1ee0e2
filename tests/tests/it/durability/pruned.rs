//! Threads whose beginning was removed are threads like any other.

use std::sync::Arc;

use selvedge::event::Timestamp;
use selvedge::model::RequestMessage;
use selvedge::prelude::*;
use selvedge::sqlite::{Keep, Prune};
use selvedge_testkit::Chance;
use selvedge_tests::{Mode, World};

/// Calls, sometimes twice, or answers; the scripted model checks each request that it gets.
fn model(chance: &Chance) -> ScriptedModel {
    let chance = chance.clone();
    ScriptedModel::from_fn(move |request| match request.context.last() {
        Some(RequestMessage::User(_)) if chance.below(2) == 0 => Reply::text("let me see").and_call("act", "{}"),
        Some(RequestMessage::ToolResults(_)) if chance.below(3) == 0 => Reply::call("act", "{}").and_call("act", "{}"),
        _ => Reply::text("done"),
    })
}

#[tokio::test]
async fn a_thread_that_is_pruned_again_and_again_goes_on() {
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    // In real time: SQLite works on threads of its own.
    let test = async move {
        let store = SqliteStore::open(folder.path().join("threads.db")).await.unwrap();
        let chance = Chance::of_seed(seed);
        let model = model(&chance);
        let wired = model.clone();
        let act = || tool(ToolSpec::new("act", "Acts."), |_call: ToolContext| async { Ok(ToolOutput::text("done")) });
        let wiring = move |builder: selvedge::Builder<_>| builder.model(wired.clone()).tool(act());
        let mut world = World::over(Mode::Step, Arc::new(store.clone()), wiring).await;
        let (mut removed, thread) = (0, ThreadId::from("t"));
        for round in 0..12 {
            world.say("t", &format!("text {round}")).await;
            if round % 3 == 2 {
                let keep = Keep::Newest(1 + chance.below(4));
                let (whole_threads, at, dry_run) = (false, Timestamp(round), false);
                let plan = Prune { whole_threads, keep, thread: Some(thread.clone()), at, dry_run };
                // A step runner lets go of a thread after each of its runs.
                let report = store.prune(&plan).await.unwrap();
                removed += report.removed.iter().map(|one| one.turns).sum::<u64>();
                let verified = store.verify(|finding| panic!("{finding}")).await.unwrap();
                assert_eq!(verified.findings, 0);
                // Viewers of before have seen more; those who come now begin with what remains.
                world.restart(&["t"]).await;
            }
        }
        world.check("t").await;
        assert!(removed > 6, "{removed} turns");
        assert_eq!(model.violations(), Vec::<String>::new());
        let shown = world.shown("t").await;
        assert!(matches!(shown.first(), Some(ItemKind::Compaction { .. })), "{:?}", shown.first());
    };
    tokio::task::LocalSet::new().run_until(test).await;
}
