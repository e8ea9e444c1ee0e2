//! Attaching at the moments that are easy to get wrong.

use std::cell::RefCell;
use std::sync::Arc;

use selvedge::event::ItemId;
use selvedge::model::{Gate, ModelEvent};
use selvedge::prelude::*;
use selvedge::store::ToolDelivery;
use selvedge_testkit::{Moment, OperationKind, Select, Watcher};
use selvedge_tests::{Mode, World, in_paused_time};
use tokio::sync::mpsc;

use crate::durability::kit::{MODES, Reached, caller};

fn reasoning(text: &str) -> ModelEvent {
    ModelEvent::Reasoning(text.into())
}

/// A world in local mode whose model gives one reply.
async fn world_of(reply: Reply) -> World {
    let model = ScriptedModel::new([reply]);
    World::new(Mode::Local, move |builder| builder.model(model.clone())).await
}

/// Attaches to `t`: the snapshot, folded.
async fn attach(world: &World) -> (ReplaySnapshot, Transcript) {
    assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
    let snapshot = world.watcher.newest_snapshot("t").unwrap();
    let transcript = Transcript::from_snapshot(&snapshot);
    (snapshot, transcript)
}

fn thinking(transcript: &Transcript) -> Vec<(String, bool)> {
    let thinking = transcript.items().iter().filter_map(|item| match &item.kind {
        ItemKind::Thinking { text, done } => Some((text.clone(), *done)),
        _ => None,
    });
    thinking.collect()
}

/// S04: three reasoning chunks, attach, two more, end, text: the snapshot holds the partial reasoning and says that a
/// completion runs; afterwards no reasoning is in progress.
#[test]
fn s04_the_snapshot_holds_partial_reasoning() {
    in_paused_time(async {
        let (middle, ended, spoken) = (Gate::new(), Gate::new(), Gate::new());
        let reply = Reply::new()
            .event(ModelEvent::ReasoningStarted)
            .event(reasoning("a"))
            .event(reasoning("b"))
            .event(reasoning("c"))
            .wait(&middle)
            .event(reasoning("d"))
            .event(reasoning("e"))
            .event(ModelEvent::ReasoningEnded { native: Some("{\"signed\":1}".into()) })
            .wait(&ended)
            .say("answer")
            .wait(&spoken);
        let world = world_of(reply).await;
        world.send("t", "hello", Input::text("hello")).await.unwrap();

        middle.reached().await;
        let (snapshot, transcript) = attach(&world).await;
        let partial = snapshot.partial.unwrap();
        assert_eq!((partial.step, partial.attempt, partial.thinking), (1, Some(1), true));
        assert_eq!(transcript.completion(), Some((1, 1)));
        assert_eq!(thinking(&transcript), [("abc".to_owned(), false)]);

        middle.open();
        ended.reached().await;
        let (snapshot, transcript) = attach(&world).await;
        assert!(!snapshot.partial.unwrap().thinking, "the reasoning has ended");
        assert_eq!(thinking(&transcript), [("abcde".to_owned(), true)]);

        ended.open();
        spoken.reached().await;
        let (snapshot, _) = attach(&world).await;
        assert!(!snapshot.partial.unwrap().thinking, "no stale reasoning beside the text");

        spoken.open();
        world.rest("t").await;
        let (snapshot, transcript) = attach(&world).await;
        assert_eq!((snapshot.partial, transcript.completion()), (None, None));
        assert_eq!(thinking(&transcript), [("abcde".to_owned(), true)]);
        world.check("t").await;
    });
}

/// Where somebody attaches in S05.
#[derive(Debug, Clone, Copy)]
enum At {
    LastChunk,
    Sync(Moment),
    Commit(Moment),
    Dispatch,
}

/// S05: attach between the last chunk and `CompletionFinished`, around the sync, around the commit hook and at the
/// dispatch: the subscriber ends finished, with one terminal event or a snapshot that says so.
#[test]
fn s05_whoever_attaches_late_ends_finished() {
    let [before, after] = Moment::BOTH;
    for at in [At::LastChunk, At::Sync(before), At::Sync(after), At::Commit(before), At::Commit(after), At::Dispatch] {
        in_paused_time(attach_late(at));
    }
}

async fn attach_late(at: At) {
    let (chunk, tool_gate) = (Gate::new(), Gate::new());
    if !matches!(at, At::LastChunk) {
        chunk.open();
    }
    let model = ScriptedModel::new([Reply::text("let me see").and_call("act", "{}").wait(&chunk), Reply::text("done")]);
    let (reached, gate) = (Reached::default(), tool_gate.clone());
    let world = World::new(Mode::Local, move |builder| {
        builder.model(model.clone()).tool(reached.held_tool("act", ToolDelivery::AtMostOnce, Some(&gate)))
    })
    .await;
    let (commit, mut sync) = (Gate::new(), None);
    match at {
        At::Sync(moment) => sync = Some(world.faults().hold(Select::kind(OperationKind::Sync).next(), moment)),
        At::Commit(moment) => world.watcher.hold_commit(1, moment, &commit),
        At::LastChunk | At::Dispatch => {}
    }
    world.send("t", "hello", Input::text("hello")).await.unwrap();
    match at {
        At::LastChunk => chunk.reached().await,
        At::Sync(_) => sync.as_ref().unwrap().reached(1).await,
        At::Commit(_) => commit.reached().await,
        At::Dispatch => tool_gate.reached().await,
    }

    let (_, transcript) = attach(&world).await;
    let seen = world.watcher.events("t").len();
    let said_so = transcript.completion().is_none();
    assert_eq!(said_so, !matches!(at, At::LastChunk), "{at:?}");
    chunk.open();
    commit.open();
    tool_gate.open();
    drop(sync);
    world.rest("t").await;
    let events = world.watcher.events("t");
    let ends = |event: &&AgentEvent| matches!(event, AgentEvent::CompletionFinished { step: 1, .. });
    let terminal = events[seen..].iter().filter(ends).count();
    assert_eq!(terminal + usize::from(said_so), 1, "{at:?}: one end, in the snapshot or after it");
    world.check("t").await;
}

/// S09: text, call, result, text: the transcript built live and the one built from a snapshot have the same items, order
/// and ids; and so has the one of the history, in both modes.
#[test]
fn s09_live_and_replayed_are_the_same() {
    for mode in MODES {
        in_paused_time(async move {
            let model = caller(&["act"]);
            let reached = Reached::default();
            let world = World::new(mode, move |builder| {
                builder.model(model.clone()).tool(reached.tool("act", ToolDelivery::AtMostOnce))
            })
            .await;
            world.say("t", "hello").await;
            let live = world.watcher.transcript("t");
            let ids: Vec<ItemId> = live.items().iter().map(|item| item.id).collect();
            let expected = [(1, 0), (1, 1), (1, 2), (2, 0)].map(|(step, place)| ItemId { step, place });
            assert_eq!(ids, expected);
            let kinds: Vec<&ItemKind> = live.items().iter().map(|item| &item.kind).collect();
            assert!(
                matches!(
                    kinds[..],
                    [
                        ItemKind::User { .. },
                        ItemKind::Text { .. },
                        ItemKind::ToolCall { result: Some((2, _)), .. },
                        ItemKind::Text { .. }
                    ]
                ),
                "{kinds:#?}"
            );
            world.check("t").await;
            if mode == Mode::Local {
                let (_, replayed) = attach(&world).await;
                assert_eq!(replayed.items(), live.items());
            }
        });
    }
}

/// A client of S10: everything that it is sent.
type Inbox = mpsc::UnboundedReceiver<AgentEvent>;

/// An observer with its own list of subscribers, each with its own queue.
#[derive(Default)]
struct Room(RefCell<Vec<mpsc::UnboundedSender<AgentEvent>>>);

impl ThreadObserver for Room {
    type SubscribeRequest = mpsc::UnboundedSender<AgentEvent>;

    fn on_event(&self, _: &str, event: &AgentEvent) {
        self.0.borrow().iter().for_each(|client| client.send(event.clone()).unwrap());
    }

    fn on_subscribe(&self, _: &str, client: Self::SubscribeRequest, _: ReplaySnapshot) {
        self.0.borrow_mut().push(client);
    }
}

fn everything(inbox: &mut Inbox) -> Vec<AgentEvent> {
    std::iter::from_fn(|| inbox.try_recv().ok()).collect()
}

/// S10: two clients on one thread, one of them sends: both see the same events in the same order, the input's echo
/// included.
#[test]
fn s10_two_clients_see_the_same() {
    in_paused_time(async {
        let model = caller(&["act"]);
        let tool = Reached::default().tool("act", ToolDelivery::AtMostOnce);
        let builder = System::builder().store(MemoryStore::default()).model(model).tool(tool);
        let system = builder.observer(Room::default).start_local().await.unwrap();
        let thread: ThreadId = "t".into();
        system.send(&thread, "hello".into(), Input::text("hello")).await.unwrap();
        let ((to_a, mut a), (to_b, mut b)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        crate::durability::kit::a_while().await;
        assert!(system.subscribe(&thread, to_a).await.unwrap());
        assert!(system.subscribe(&thread, to_b).await.unwrap());

        system.send(&thread, "more".into(), Input::text("more")).await.unwrap();
        crate::durability::kit::a_while().await;
        let (a, b) = (everything(&mut a), everything(&mut b));
        assert_eq!(a, b);
        let echo = AgentEvent::UserInput { step: 3, input_id: "more".into(), text: Arc::from("more") };
        assert_eq!(a.first(), Some(&echo));
        let finished = a.iter().filter(|event| matches!(event, AgentEvent::CompletionFinished { .. })).count();
        assert_eq!(finished, 2, "the call's completion and the answer's");
        system.shutdown().await;
    });
}

/// What S05 rests on: the hook that is held has been entered, or has done its part.
#[test]
fn s05_a_held_commit_is_held_where_it_says() {
    for (moment, committed) in [(Moment::Before, false), (Moment::After, true)] {
        in_paused_time(async move {
            let gate = Gate::new();
            let watcher = Watcher::new();
            watcher.hold_commit(1, moment, &gate);
            let model = caller(&[]);
            let store = Arc::new(MemoryStore::default());
            let world = World::watched(Mode::Local, store, watcher, move |builder| builder.model(model.clone())).await;
            world.send("t", "hello", Input::text("hello")).await.unwrap();
            gate.reached().await;
            assert_eq!(world.watcher.log().contains(&selvedge_testkit::Seen::Committed), committed);
            gate.open();
            world.rest("t").await;
            world.check("t").await;
        });
    }
}
