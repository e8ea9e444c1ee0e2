//! Forks: another thread goes on from a safe place in the history of one that is busy.

use selvedge::event::ChoiceId;
use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge::runtime::{ForkError, SendError};
use selvedge_tests::{World, in_paused_time, text_of};

use crate::scenarios::kit::{asked, held, local, local_with, obliging, results, written};

/// Forks `t` to `f`, lets both go on, and checks them. Gives back the step of the fork.
async fn fork(world: &World) -> u64 {
    let step = world.system().fork(&"t".into(), None, "f".into()).await.unwrap();
    // Viewers of the fork begin with what it shares.
    assert!(world.system().subscribe(&"f".into(), ()).await.unwrap());
    world.say("f", "in the fork").await;
    world.check("f").await;
    assert_eq!(written(world, "f").await, ["one", "in the fork"]);
    assert!(text_of(&world.shown("f").await).ends_with("re: in the fork"));
    step
}

/// S78: a call is open.
#[test]
fn s78_fork_while_a_call_is_open() {
    in_paused_time(async {
        let gate = Gate::new();
        let tool_gate = gate.clone();
        let world = local_with(&obliging(), move |builder, _| builder.tool(held("hold", &tool_gate))).await;
        world.say("t", "one").await;
        world.send("t", "two", Input::text("call hold")).await.unwrap();
        world.until("t", |record| !record.open_calls.is_empty()).await;
        let open_at = world.store.head(&"t".into()).await.unwrap().step;

        assert_eq!(fork(&world).await, open_at - 1, "the newest step at which no call was open");
        let refused = world.system().fork(&"t".into(), Some(open_at), "g".into()).await;
        assert!(matches!(refused, Err(ForkError::Unsafe(at)) if at == open_at), "{refused:?}");

        gate.open();
        world.rest("t").await;
        world.check("t").await;
        assert_eq!(results(&world, "t").await, [(ToolStatus::Ok, "passed".to_owned())]);
        assert_eq!(written(&world, "t").await, ["one", "call hold"], "nothing of the fork is in it");
    });
}

/// S78: a completion streams.
#[test]
fn s78_fork_while_streaming() {
    in_paused_time(async {
        let gate = Gate::new();
        let held = gate.clone();
        let model = ScriptedModel::from_fn(move |request| match &*asked(request) {
            "two" => Reply::text("half ").wait(&held).say("whole"),
            text => Reply::text(format!("re: {text}")),
        });
        let world = local(&model).await;
        world.say("t", "one").await;
        world.send("t", "two", Input::text("two")).await.unwrap();
        gate.reached().await;

        assert_eq!(fork(&world).await, 1);
        gate.open();
        world.rest("t").await;
        world.check("t").await;
        assert_eq!(text_of(&world.shown("t").await), "re: one|half whole");
    });
}

/// S78: a choice is pending.
#[test]
fn s78_fork_while_a_choice_is_pending() {
    in_paused_time(async {
        let world = local_with(&obliging(), |builder, _| {
            builder.tool(tool(ToolSpec::new("ask", "Asks."), |call| async move {
                let chosen = call.choose("Which?", vec!["this".into(), "that".into()], 0, None).await?;
                Ok(format!("{:?} {}", chosen.end, chosen.selected).into())
            }))
        })
        .await;
        world.say("t", "one").await;
        world.send("t", "two", Input::text("call ask")).await.unwrap();
        world.until("t", |record| !record.choices.is_empty()).await;

        assert_eq!(fork(&world).await, 1);
        let forked = world.store.load(&"f".into()).await.unwrap();
        assert_eq!((forked.choices, forked.open_calls), (vec![], vec![]), "the question is the parent's");
        world.answer("t", &ChoiceId::from("call_2_0:1"), 1).await.unwrap();
        world.rest("t").await;
        world.check("t").await;
        assert_eq!(results(&world, "t").await, [(ToolStatus::Ok, "Answered 1".to_owned())]);
    });
}

#[test]
fn forks_that_cannot_be() {
    in_paused_time(async {
        let world = local(&obliging()).await;
        world.say("t", "one").await;
        world.say("u", "one").await;
        let fork = async |from: &str, at, to: &str| world.system().fork(&from.into(), at, to.into()).await.unwrap_err();
        assert!(matches!(fork("t", Some(2), "f").await, ForkError::Unsafe(2)), "a step that is not reached");
        assert!(matches!(fork("t", None, "u").await, ForkError::Exists(thread) if thread.as_str() == "u"));
        let unknown = fork("nobody", None, "f").await;
        assert!(matches!(unknown, ForkError::Send(SendError::NoSuchThread(_))), "{unknown:?}");
        assert!(world.store.load(&"f".into()).await.is_err());
        // Step 0 is before everything.
        assert_eq!(world.system().fork(&"t".into(), Some(0), "f".into()).await.unwrap(), 0);
        world.say("f", "fresh").await;
        assert_eq!(written(&world, "f").await, ["fresh"]);
    });
}
