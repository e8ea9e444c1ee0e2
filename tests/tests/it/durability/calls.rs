//! Calls around failures: one that succeeded stays so, one that is open stays open.

use selvedge::event::FailureKind;
use selvedge::model::{Gate, ModelError};
use selvedge::prelude::*;
use selvedge::store::{ThreadRecord, ToolDelivery};
use selvedge_testkit::{Fault, OperationKind, Select};
use selvedge_tests::{Mode, World, in_paused_time, text_of};

use crate::durability::kit::{DELIVERIES, MODES, Reached, a_while, caller, results, results_read};

/// S26: call A succeeded, the next completion fails for good: A does not go out again on retry, nor after a restart.
#[test]
fn s26_a_call_that_succeeded_does_not_go_out_again() {
    for mode in MODES {
        for delivery in DELIVERIES {
            // At once, and after all attempts.
            for (failure, attempts) in [(FailureKind::Auth, 1), (FailureKind::Server, 4)] {
                in_paused_time(fail_after_a_call(mode, delivery, failure, attempts));
            }
        }
    }
}

async fn fail_after_a_call(mode: Mode, delivery: ToolDelivery, failure: FailureKind, attempts: usize) {
    let failing = || Reply::text("well").fail(ModelError::new(failure, "on demand"));
    let replies = std::iter::once(Reply::call("act", "{}"))
        .chain((0..attempts).map(|_| failing()))
        .chain([Reply::text("done"), Reply::text("still done")]);
    let (model, reached) = (ScriptedModel::new(replies), Reached::default());
    let (shared, tool) = (model.clone(), reached.clone());
    let mut world =
        World::new(mode, move |builder| builder.model(shared.clone()).tool(tool.tool("act", delivery))).await;
    world.say("t", "hello").await;
    assert_eq!(model.requests().len(), 1 + attempts);
    let failed = |kind: &ItemKind| matches!(kind, ItemKind::Ended { outcome: Outcome::Failed { failure: how, .. } } if *how == failure);
    assert!(world.shown("t").await.iter().any(failed), "the failure is in the history");

    world.say("t", "again").await;
    world.check("t").await;
    world.crash_and_restart(&["t"]).await;
    world.say("t", "and again").await;
    assert_eq!(text_of(&world.shown("t").await), "done|still done");
    assert_eq!(reached.count(), 1, "{mode:?}, {delivery:?}");
    let results = results(&world.messages("t").await);
    assert_eq!(results.iter().map(|result| result.status).collect::<Vec<_>>(), [ToolStatus::Ok]);
    world.check("t").await;
}

/// S27: calls A and B, A answered, crash: B is still open; the model is not asked as if B had answered. An idempotent B
/// goes out again under its key, any other is settled as unknown; A does not go out again.
#[test]
fn s27_an_open_call_stays_open_over_a_crash() {
    for mode in MODES {
        for delivery in DELIVERIES {
            in_paused_time(crash_between_results(mode, delivery));
        }
    }
}

async fn crash_between_results(mode: Mode, delivery: ToolDelivery) {
    let (model, gate) = (caller(&["a", "b"]), Gate::new());
    let (a, b) = (Reached::default(), Reached::default());
    let (shared, door, tool_a, tool_b) = (model.clone(), gate.clone(), a.clone(), b.clone());
    let mut world = World::new(mode, move |builder| {
        let builder = builder.model(shared.clone()).tool(tool_a.tool("a", delivery));
        builder.tool(tool_b.held_tool("b", delivery, Some(&door)))
    })
    .await;
    world.send("t", "hello", Input::text("hello")).await.unwrap();
    world.go("t");
    gate.reached().await;
    let a_answered = |record: &ThreadRecord| {
        let waits = record.inbox.iter().any(|entry| matches!(entry.input, Input::ToolResult(_)));
        waits || record.open_calls.len() == 1
    };
    world.until("t", a_answered).await;
    a_while().await;
    assert_eq!(model.requests().len(), 1, "B is open");

    world.crash_and_restart(&["t"]).await;
    world.go("t");
    a_while().await;
    let record = world.store.load(&"t".into()).await.unwrap();
    if delivery == ToolDelivery::AtLeastOnce {
        assert!(record.open_calls.iter().any(|open| &*open.tool == "b"), "{mode:?}: B is still open");
        assert_eq!(model.requests().len(), 1, "{mode:?}: the model is asked as if B had answered");
        assert_eq!(b.all(), [("t/call_1_1".to_owned(), 1), ("t/call_1_1".to_owned(), 2)], "{mode:?}");
    }
    gate.open();
    world.rest("t").await;
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "{mode:?}, {delivery:?}");
    let read = results_read(requests.last().unwrap());
    let of_b = if delivery == ToolDelivery::AtLeastOnce { "acted" } else { "Outcome unknown" };
    assert_eq!(read[0], "acted", "{mode:?}, {delivery:?}");
    assert!(read[1].starts_with(of_b), "{mode:?}, {delivery:?}: {read:?}");
    assert_eq!(a.count(), 1, "{mode:?}, {delivery:?}: A had answered");
    assert_eq!(b.count(), if delivery == ToolDelivery::AtLeastOnce { 2 } else { 1 }, "{mode:?}");
    world.check("t").await;
}

/// A call that is answered while its thread is interrupted after a crash: the answer waits behind the interruption, and
/// the call is not said to have been left alone.
#[test]
fn s27_an_answer_behind_an_interruption_is_not_called_unexecuted() {
    in_paused_time(async {
        let (model, gate) = (caller(&["a", "b"]), Gate::new());
        let (shared, door, reached) = (model.clone(), gate.clone(), Reached::default());
        let mut world = World::new(Mode::Step, move |builder| {
            let builder = builder.model(shared.clone()).tool(reached.tool("a", ToolDelivery::AtLeastOnce));
            builder.tool(reached.held_tool("b", ToolDelivery::AtLeastOnce, Some(&door)))
        })
        .await;
        world.send("t", "hello", Input::text("hello")).await.unwrap();
        world.go("t");
        gate.reached().await;
        a_while().await;
        // A's answer is in the inbox; what interrupts comes after it, but a step that dies takes neither.
        world.crash_and_restart(&["t"]).await;
        gate.open();
        world.interrupt("t").await.unwrap();
        world.rest("t").await;
        let statuses: Vec<_> = results(&world.messages("t").await).iter().map(|result| result.status).collect();
        assert!(!statuses.contains(&ToolStatus::NotExecuted), "{statuses:?}");
        assert_eq!(statuses.len(), 2);
        world.check("t").await;
    });
}

/// A call has answered, and its answer waits behind an interruption when the process dies: the call ran, and nobody says
/// that it did not, nor that this is not known.
#[test]
fn s27_an_answer_behind_an_interruption_that_a_crash_left() {
    for mode in MODES {
        for delivery in DELIVERIES {
            in_paused_time(async move {
                let (mut world, _, gate, reached) = in_a_call(mode, delivery).await;
                world.faults().inject(Select::kind(OperationKind::Sync), Fault::FailBefore);
                world.interrupt("t").await.unwrap();
                world.faults().inject(Select::kind(OperationKind::Accept).next(), Fault::DieAfter);
                gate.open();
                a_while().await;
                assert!(world.faults().is_dead());

                world.crash_and_restart(&["t"]).await;
                world.rest("t").await;
                let results = results(&world.messages("t").await);
                let statuses: Vec<_> = results.iter().map(|result| result.status).collect();
                assert_eq!(statuses, [ToolStatus::Interrupted], "{mode:?}, {delivery:?}");
                assert_eq!(reached.count(), 1, "{mode:?}, {delivery:?}");
                world.check("t").await;
            });
        }
    }
}

/// A call that must not run twice has answered, and its answer waits behind more inputs than one step takes when the
/// process dies: the call is not settled as unknown before the answer's turn has come.
#[test]
fn s27_an_answer_far_behind_in_the_inbox_counts() {
    for mode in MODES {
        in_paused_time(async move {
            let (gate, reached) = (Gate::new(), Reached::default());
            let model = ScriptedModel::new([Reply::call("act", "{}"), Reply::text("done")]);
            let (shared, door, tool) = (model.clone(), gate.clone(), reached.clone());
            let mut world = World::new(mode, move |builder| {
                builder.model(shared.clone()).tool(tool.held_tool("act", ToolDelivery::AtMostOnce, Some(&door)))
            })
            .await;
            world.send("t", "hello", Input::text("hello")).await.unwrap();
            world.go("t");
            gate.reached().await;
            // Whatever the running process makes of these, it cannot keep it.
            world.faults().inject(Select::kind(OperationKind::Sync), Fault::FailBefore);
            for text in ["a", "b", "c", "d", "e"] {
                world.send("t", text, Input::queued(text)).await.unwrap();
            }
            world.faults().inject(Select::kind(OperationKind::Accept).next(), Fault::DieAfter);
            gate.open();
            a_while().await;
            assert!(world.faults().is_dead());
            world.limits().inputs_per_step = 2;
            world.crash_and_restart(&["t"]).await;
            world.rest("t").await;
            let results = results(&world.messages("t").await);
            assert_eq!(results.iter().map(|result| result.status).collect::<Vec<_>>(), [ToolStatus::Ok], "{mode:?}");
            assert_eq!(reached.count(), 1, "{mode:?}");
            world.check("t").await;
        });
    }
}

/// A world whose thread is in a call that is held.
async fn in_a_call(mode: Mode, delivery: ToolDelivery) -> (World, ScriptedModel, Gate, Reached) {
    let (model, gate, reached) = (caller(&["act"]), Gate::new(), Reached::default());
    let (shared, door, tool) = (model.clone(), gate.clone(), reached.clone());
    let world = World::new(mode, move |builder| {
        builder.model(shared.clone()).tool(tool.held_tool("act", delivery, Some(&door)))
    })
    .await;
    world.send("t", "hello", Input::text("hello")).await.unwrap();
    world.go("t");
    gate.reached().await;
    (world, model, gate, reached)
}

/// S24: the process dies while a tool runs, and no result ever comes: whoever attaches afterwards is shown the call as open
/// or as what became of it, new input is answered, and the model reads one result.
#[test]
fn s24_a_call_whose_result_never_comes() {
    for mode in MODES {
        for delivery in DELIVERIES {
            in_paused_time(crash_in_a_call(mode, delivery));
        }
    }
}

async fn crash_in_a_call(mode: Mode, delivery: ToolDelivery) {
    let (mut world, model, gate, reached) = in_a_call(mode, delivery).await;
    world.crash_and_restart(&["t"]).await;
    world.go("t");
    a_while().await;
    let at = format!("{mode:?}, {delivery:?}");
    let record = world.store.load(&"t".into()).await.unwrap();
    let settled = results(&world.messages("t").await);
    if delivery == ToolDelivery::AtLeastOnce {
        assert_eq!((record.open_calls.len(), settled.len(), reached.count()), (1, 0, 2), "{at}: it runs again");
    } else {
        assert_eq!((record.open_calls.len(), reached.count()), (0, 1), "{at}: it does not run again");
        assert_eq!(settled.iter().map(|result| result.status).collect::<Vec<_>>(), [ToolStatus::Unknown], "{at}");
    }
    if mode == Mode::Local {
        assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
        let snapshot = world.watcher.newest_snapshot("t").unwrap();
        let open: Vec<_> = snapshot.open_calls.iter().map(|call| call.call_id.clone()).collect();
        let expected: Vec<_> = record.open_calls.iter().map(|call| call.call_id.clone()).collect();
        assert_eq!(open, expected, "{at}");
    }

    world.send("t", "still there?", Input::text("still there?")).await.unwrap();
    // It calls the tool once more, which answers now.
    gate.open();
    world.rest("t").await;
    let statuses: Vec<_> = results(&world.messages("t").await).iter().map(|result| result.status).collect();
    let left = if delivery == ToolDelivery::AtLeastOnce { ToolStatus::Interrupted } else { ToolStatus::Unknown };
    assert_eq!(statuses, [left, ToolStatus::Ok], "{at}");
    assert!(text_of(&world.shown("t").await).ends_with("done"), "{at}");
    assert_eq!(model.violations(), Vec::<String>::new(), "{at}");
    world.check("t").await;
}
