//! Events, then sync, then commit, then dispatch; and what an interruption says of a call on either side of it.

use std::sync::Arc;

use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge::store::ToolDelivery;
use selvedge_testkit::{Fault, Moment, OperationKind, Seen, Select, Watcher};
use selvedge_tests::{Mode, World, in_paused_time};

use crate::durability::kit::{MODES, Reached, a_while, caller, results, results_read};

/// A world whose tool leaves a note with the watcher when it is reached.
async fn noting(mode: Mode) -> World {
    let (watcher, model) = (Watcher::new(), caller(&["act"]));
    let notes = watcher.clone();
    World::watched(mode, Arc::new(MemoryStore::default()), watcher, move |builder| {
        let notes = notes.clone();
        let act = tool(ToolSpec::new("act", "Does something."), move |_: ToolContext| {
            notes.note("act");
            async { Ok(ToolOutput::text("acted")) }
        });
        builder.model(model.clone()).tool(act)
    })
    .await
}

fn count(world: &World, wanted: &Seen) -> usize {
    world.watcher.log().iter().filter(|seen| *seen == wanted).count()
}

fn acts(world: &World) -> usize {
    count(world, &Seen::Note("act".into()))
}

/// S17: a store whose sync fails, then blocks, then an `on_commit` that blocks, then errs twice: nothing reaches the
/// tool before both have returned Ok.
#[test]
fn s17_nothing_is_dispatched_before_sync_and_commit() {
    for mode in MODES {
        for moment in Moment::BOTH {
            in_paused_time(hold_the_barrier(mode, moment));
        }
    }
}

async fn hold_the_barrier(mode: Mode, moment: Moment) {
    let world = noting(mode).await;
    world.faults().inject(Select::kind(OperationKind::Sync).next(), Fault::FailBefore);
    let sync = world.faults().hold(Select::kind(OperationKind::Sync).nth(2), moment);
    let commit = Gate::new();
    world.watcher.hold_commits(&commit);
    world.watcher.fail_commits(2);
    world.send("t", "hello", Input::text("hello")).await.unwrap();
    world.go("t");

    sync.reached(1).await;
    a_while().await;
    assert_eq!((count(&world, &Seen::Committing), acts(&world)), (0, 0), "{mode:?}: the sync has not returned");
    sync.open();
    commit.reached().await;
    a_while().await;
    assert_eq!((count(&world, &Seen::Committed), acts(&world)), (0, 0), "{mode:?}: the commit has not returned");
    commit.open();
    world.rest("t").await;

    let log = world.watcher.log();
    let place = |wanted: &Seen| log.iter().position(|seen| seen == wanted).unwrap();
    let (committed, act) = (place(&Seen::Committed), place(&Seen::Note("act".into())));
    assert!(committed < act, "{mode:?}: {log:#?}");
    let tries = log[..committed].iter().filter(|seen| **seen == Seen::Committing).count();
    assert_eq!((tries, acts(&world)), (3, 1), "{mode:?}: two errors, then one dispatch");
    world.check("t").await;
}

/// S17, for good: as long as `on_commit` errs, nothing is dispatched; when it does not any more, the call goes out once.
#[test]
fn s17_a_commit_that_errs_dispatches_nothing() {
    for mode in MODES {
        in_paused_time(async move {
            let world = noting(mode).await;
            world.watcher.fail_commits(u32::MAX);
            world.send("t", "hello", Input::text("hello")).await.unwrap();
            world.go("t");
            a_while().await;
            assert!(count(&world, &Seen::Committing) > 2, "{mode:?}: the commit is tried again");
            assert_eq!(acts(&world), 0, "{mode:?}");
            world.watcher.fail_commits(0);
            world.rest("t").await;
            assert_eq!(acts(&world), 1, "{mode:?}");
            world.check("t").await;
        });
    }
}

/// S29, the first half: an interrupt before the dispatch: the model reads "not executed". Only a resident thread can be
/// interrupted there.
#[test]
fn s29_interrupted_before_the_dispatch() {
    in_paused_time(async {
        let (gate, reached) = (Gate::new(), Reached::default());
        let model =
            ScriptedModel::new([Reply::text("let me see").and_call("act", "{}").wait(&gate), Reply::text("done")]);
        let (shared, tool) = (model.clone(), reached.clone());
        let world = World::new(Mode::Local, move |builder| {
            builder.model(shared.clone()).tool(tool.tool("act", ToolDelivery::AtMostOnce))
        })
        .await;
        world.send("t", "hello", Input::text("hello")).await.unwrap();
        gate.reached().await;
        world.interrupt("t").await.unwrap();
        world.rest("t").await;
        world.say("t", "go on").await;
        let read = results_read(model.requests().last().unwrap());
        assert!(read[0].starts_with("Not executed"), "{read:?}");
        assert_eq!(reached.count(), 0);
        world.check("t").await;
    });
}

/// How S29 interrupts.
#[derive(Debug, Clone, Copy)]
enum By {
    Interrupt,
    Text,
}

/// S29, the second half: an interrupt while the tool runs: the model reads "interrupted, may have executed", and the
/// tool's own late answer changes nothing.
#[test]
fn s29_interrupted_while_the_tool_runs() {
    for mode in MODES {
        for by in [By::Interrupt, By::Text] {
            in_paused_time(interrupt_a_running_call(mode, by));
        }
    }
}

async fn interrupt_a_running_call(mode: Mode, by: By) {
    let (gate, reached) = (Gate::new(), Reached::default());
    let model = ScriptedModel::new([Reply::call("act", "{}"), Reply::text("done")]);
    let (shared, door, tool) = (model.clone(), gate.clone(), reached.clone());
    let world = World::new(mode, move |builder| {
        builder.model(shared.clone()).tool(tool.held_tool("act", ToolDelivery::AtMostOnce, Some(&door)))
    })
    .await;
    world.send("t", "hello", Input::text("hello")).await.unwrap();
    world.go("t");
    gate.reached().await;
    match by {
        By::Interrupt => world.interrupt("t").await.unwrap(),
        By::Text => drop(world.send("t", "stop", Input::text("stop")).await.unwrap()),
    }
    world.go("t");
    world.until("t", |record| record.open_calls.is_empty()).await;
    gate.open();
    a_while().await;
    world.rest("t").await;
    if let By::Interrupt = by {
        assert_eq!(model.requests().len(), 1, "{mode:?}: an interruption alone asks for nothing");
        world.say("t", "go on").await;
    }
    let read = results_read(model.requests().last().unwrap());
    assert!(read[0].contains("may have executed"), "{mode:?}, {by:?}: {read:?}");
    let results = results(&world.messages("t").await);
    assert_eq!(results.iter().map(|result| result.status).collect::<Vec<_>>(), [ToolStatus::Interrupted]);
    assert_eq!(reached.count(), 1);
    world.check("t").await;
}
