//! Threads that keep no more of their history than a page: whatever looks further back finds what is there.

use selvedge::event::{
    AssistantMessage, Block, Message, ModelRef, ReplaySnapshot, Timestamp, TurnRecord, Usage, UserMessage,
};
use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge::runtime::ForkError;
use selvedge::store::{Changes, Epoch, SyncRequest, SyncToken};
use selvedge_testkit::{OperationKind, Select};
use selvedge_tests::{World, in_paused_time, text_of};

use crate::scenarios::kit::{asked, held, local_with, obliging, results, written};

/// A world whose threads keep one turn.
async fn with_short_pages(
    model: &ScriptedModel,
    tools: impl Fn(selvedge::Builder<fn() -> NullObserver>) -> selvedge::Builder<fn() -> NullObserver> + 'static,
) -> World {
    let mut world = local_with(model, move |builder, _| tools(builder)).await;
    world.limits().page = 0;
    world.restart(&[]).await;
    world
}

async fn attach(world: &World, thread: &str) -> ReplaySnapshot {
    assert!(world.system().subscribe(&thread.into(), ()).await.unwrap());
    world.watcher.newest_snapshot(thread).unwrap()
}

/// How often histories were read.
fn reads(world: &World) -> usize {
    world.faults().count(&Select::kind(OperationKind::History))
}

/// The page says where older turns begin; the store has them; together they are the whole.
#[test]
fn a_viewer_pages_back_from_where_its_snapshot_begins() {
    in_paused_time(async {
        let world = with_short_pages(&obliging(), |builder| builder).await;
        for text in ["one", "two", "three"] {
            world.say("t", text).await;
        }
        let snapshot = attach(&world, "t").await;
        assert_eq!((snapshot.history.len(), snapshot.older, snapshot.step), (1, Some(3), 3));
        let mut steps = vec![3];
        let mut older = snapshot.older;
        while older.is_some() {
            let page = world.store.history(&"t".into(), older, 0).await.unwrap();
            steps.extend(page.turns.iter().map(|turn| turn.step));
            older = page.older;
        }
        assert_eq!(steps, [3, 2, 1]);
        world.check("t").await;
    });
}

/// The model is asked with all of it, though nobody keeps it: after a load, and on from there.
#[test]
fn the_model_is_asked_with_what_is_older_than_the_page() {
    in_paused_time(async {
        let model = obliging();
        let mut world = with_short_pages(&model, |builder| builder).await;
        for text in ["one", "two", "three"] {
            world.say("t", text).await;
        }
        world.restart(&["t"]).await;
        world.say("t", "four").await;
        let read = world.faults().bytes_read();
        world.say("t", "five").await;
        assert_eq!(world.faults().bytes_read(), read, "it is read once");
        let lengths: Vec<usize> = model.requests().iter().map(|request| request.context.len()).collect();
        assert_eq!(lengths, [1, 3, 5, 7, 9]);
        world.check("t").await;
    });
}

/// A call that is older than the page is found with its arguments, and goes out again.
#[test]
fn a_call_that_is_older_than_the_page_goes_out_again_after_a_crash() {
    in_paused_time(async {
        let gate = Gate::new();
        let tool_gate = gate.clone();
        let mut world = with_short_pages(&obliging(), move |builder| {
            let gate = tool_gate.clone();
            builder.tool(tool(ToolSpec::new("hold", "Waits.").idempotent(), move |call: ToolContext| {
                let gate = gate.clone();
                async move {
                    gate.pass().await;
                    Ok(format!("passed {}", call.key()).into())
                }
            }))
        })
        .await;
        world.say("t", "one").await;
        world.send("t", "two", Input::text("call hold")).await.unwrap();
        gate.reached().await;
        for number in 0..3 {
            let text = format!("meanwhile {number}");
            world.send("t", &text, Input::queued(&*text)).await.unwrap();
            world.until("t", |record| record.inbox.is_empty()).await;
        }
        world.crash_and_restart(&["t"]).await;
        gate.reached().await;
        let snapshot = attach(&world, "t").await;
        assert!(snapshot.older.is_some_and(|older| older > 2), "{snapshot:?}");
        assert_eq!(snapshot.open_calls.len(), 1);
        gate.open();
        world.rest("t").await;
        assert_eq!(results(&world, "t").await, [(ToolStatus::Ok, "passed t/call_2_0".to_owned())]);
        world.check("t").await;
    });
}

/// Whether a call is open at a step is known also of steps that are older than the page.
#[test]
fn a_fork_at_a_step_that_is_older_than_the_page() {
    in_paused_time(async {
        let gate = Gate::new();
        let tool_gate = gate.clone();
        let world = with_short_pages(&obliging(), move |builder| builder.tool(held("hold", &tool_gate))).await;
        world.say("t", "one").await;
        world.send("t", "two", Input::text("call hold")).await.unwrap();
        gate.reached().await;
        world.send("t", "meanwhile", Input::queued("meanwhile")).await.unwrap();
        world.until("t", |record| record.inbox.is_empty()).await;
        gate.open();
        world.rest("t").await;
        world.say("t", "three").await;
        let fork = async |at, to: &str| world.system().fork(&"t".into(), Some(at), to.into()).await;
        for at in [2, 3] {
            let refused = fork(at, "no").await;
            assert!(matches!(refused, Err(ForkError::Unsafe(unsafe_at)) if unsafe_at == at), "{refused:?}");
        }
        for at in [0, 1, 4, 5] {
            assert_eq!(fork(at, &format!("f{at}")).await.unwrap(), at);
        }
        world.say("f1", "in the fork").await;
        assert_eq!(written(&world, "f1").await, ["one", "in the fork"]);
    });
}

/// The bound on completions in a row holds across a restart that leaves the row out of the page.
#[test]
fn the_bound_on_completions_counts_those_that_are_older_than_the_page() {
    in_paused_time(async {
        let gate = Gate::new();
        let tool_gate = gate.clone();
        let model = ScriptedModel::from_fn(|request| match request.context.len() {
            7 => Reply::call("hold", "{}"),
            _ => Reply::call("echo", "{}"),
        });
        let mut world = with_short_pages(&model, move |builder| {
            builder
                .tool(held("hold", &tool_gate))
                .tool(tool(ToolSpec::new("echo", "Echoes."), |_| async { Ok("hi".into()) }))
        })
        .await;
        world.limits().completions_in_a_row = 6;
        world.restart(&[]).await;
        world.send("t", "go", Input::text("go")).await.unwrap();
        gate.reached().await;
        world.crash_and_restart(&["t"]).await;
        world.rest("t").await;
        assert_eq!(model.requests().len(), 6, "as many as are allowed, before and after the crash");
        assert!(matches!(world.shown("t").await.last(), Some(ItemKind::Ended { .. })));
    });
}

/// What another process has appended meanwhile is shown, also what is no longer on the page that a load finds.
#[test]
fn news_of_another_process_that_are_older_than_the_page_are_shown() {
    in_paused_time(async {
        let world = with_short_pages(&obliging(), |builder| builder).await;
        world.say("t", "one").await;
        attach(&world, "t").await;
        // Somebody else takes the thread over, as if this process had been given up for dead.
        let head = world.store.head(&"t".into()).await.unwrap();
        world.store.release(&"t".into(), head.epoch).await.unwrap();
        let owner = world.store.register("another").await.unwrap();
        let epoch = world.store.claim(&"t".into(), &owner).await.unwrap();
        for number in 1..=3 {
            append(&*world.store, "t", epoch, head.step + number, &format!("other {number}")).await;
        }
        world.store.release(&"t".into(), epoch).await.unwrap();
        world.send("t", "two", Input::queued("two")).await.unwrap();
        world.rest("t").await;
        world.check("t").await;
        assert_eq!(written(&world, "t").await, ["one", "other 1", "other 2", "other 3", "two"]);
    });
}

/// A turn of another process: a text and its answer.
async fn append(store: &dyn ConversationStore, thread: &str, epoch: Epoch, step: u64, text: &str) {
    let user = UserMessage { input_id: text.into(), text: text.into() };
    let answer = AssistantMessage {
        attempt: 1,
        model: ModelRef { api: "a".into(), provider: "b".into(), model: "c".into() }.into(),
        blocks: vec![Block::Text { text: "so".into(), native: None }],
        outcome: Outcome::Stopped,
        usage: Usage::default(),
    };
    let messages = vec![Message::User(user.into()), Message::Assistant(answer.into())];
    let turn = TurnRecord { step, at: Timestamp(0), messages };
    let (token, committed) = (SyncToken(step), step - 1);
    let request = SyncRequest { thread: thread.into(), epoch, turn, token, committed, changes: Changes::default() };
    store.sync(request).await.unwrap();
}

/// Attaching reads the page, and so does answering a question: what the model is asked is read when it is asked.
#[test]
fn neither_attaching_nor_answering_reads_what_the_model_is_asked() {
    in_paused_time(async {
        let gate = Gate::new();
        let tool_gate = gate.clone();
        let mut world = with_short_pages(&obliging(), move |builder| {
            let gate = tool_gate.clone();
            builder.tool(tool(ToolSpec::new("ask", "Asks.").idempotent(), move |call: ToolContext| {
                let gate = gate.clone();
                async move {
                    let chosen = call.choose("Which?", vec!["this".into(), "that".into()], 0, None).await?;
                    gate.pass().await;
                    Ok(format!("{}", chosen.selected).into())
                }
            }))
        })
        .await;
        for text in ["one", "two", "three", "call ask"] {
            world.send("t", text, Input::text(text)).await.unwrap();
            world.until("t", |record| record.inbox.is_empty()).await;
        }
        world.until("t", |record| !record.choices.is_empty()).await;
        world.crash_and_restart(&["t"]).await;
        attach(&world, "t").await;
        let choice = world.store.load(&"t".into()).await.unwrap().choices[0].0.id.clone();
        world.answer("t", &choice, 1).await.unwrap();
        gate.reached().await;
        // The load: the page, the open call, and what is unanswered; the latter two are on the page.
        assert_eq!(reads(&world), 1);
        gate.open();
        world.rest("t").await;
        assert_eq!(results(&world, "t").await, [(ToolStatus::Ok, "1".to_owned())]);
        assert!(reads(&world) > 1);
        assert!(text_of(&world.shown("t").await).ends_with("re: done"));
        world.check("t").await;
    });
}

/// Step mode keeps nothing, and asks with everything.
#[test]
fn step_mode_asks_with_what_is_older_than_the_page() {
    in_paused_time(async {
        let model = obliging();
        let checked = model.clone();
        let wiring = move |builder: selvedge::Builder<_>| builder.model(model.clone());
        let mut world = World::new(selvedge_tests::Mode::Step, wiring).await;
        world.limits().page = 0;
        world.restart(&[]).await;
        for text in ["one", "two", "three"] {
            world.say("t", text).await;
        }
        assert_eq!(checked.requests().iter().map(|request| request.context.len()).collect::<Vec<_>>(), [1, 3, 5]);
        assert_eq!(asked(&checked.requests()[2]), "three");
        world.check("t").await;
    });
}
