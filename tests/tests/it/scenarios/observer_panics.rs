//! S93: the observer panics. The shard and its other threads run on, and nothing goes out that is not committed.

use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge_testkit::{Panic, Seen};
use selvedge_tests::{in_paused_time, text_of};

use crate::scenarios::kit::{asked, local, local_with, notes, noting, obliging, written};

/// S93: in the middle of a turn: what was shown is retracted, and the turn is run again; another thread that streams
/// meanwhile notices nothing.
#[test]
fn s93_a_panic_at_an_event() {
    in_paused_time(async {
        let gate = Gate::new();
        let held = gate.clone();
        let model = ScriptedModel::from_fn(move |request| match &*asked(request) {
            "other" => Reply::text("half ").wait(&held).say("whole"),
            text => Reply::new().say("re: ").say(text),
        });
        let world = local(&model).await;
        world.send("u", "other", Input::text("other")).await.unwrap();
        gate.reached().await;

        world.watcher.panic_once(Panic::AtEvent("text_chunk"));
        world.say("t", "hello").await;
        gate.open();
        world.rest("u").await;

        world.check("t").await;
        world.check("u").await;
        assert_eq!(text_of(&world.shown("t").await), "re: hello");
        assert_eq!(text_of(&world.shown("u").await), "half whole");
        let discarded = |event: &AgentEvent| matches!(event, AgentEvent::TurnDiscarded { .. });
        assert_eq!(world.watcher.events("t").iter().filter(|event| discarded(event)).count(), 1);
    });
}

/// S93: at every kind of event in turn, also while an earlier panic is being dealt with.
#[test]
fn s93_a_panic_at_every_kind_of_event() {
    let kinds = [
        "user_input",
        "completion_started",
        "thinking_started",
        "thinking_chunk",
        "thinking_ended",
        "text_chunk",
        "tool_call",
        "tool_result",
        "completion_finished",
        "info",
        "turn_discarded",
    ];
    for kind in kinds {
        in_paused_time(async {
            let model = ScriptedModel::from_fn(|request| match &*asked(request) {
                "done" => Reply::text("bye"),
                _ => Reply::new().think("hm").say("I look").and_call("look", "{}"),
            });
            let world = local_with(&model, |builder, watcher| builder.tool(noting("look", watcher))).await;
            // Something else fails first, so that there is a discard and a notice to panic at.
            world.watcher.panic_once(Panic::AtEvent("text_chunk"));
            world.watcher.panic_once(Panic::AtEvent(kind));
            world.say("t", "hello").await;
            world.check("t").await;
            assert_eq!(text_of(&world.shown("t").await), "I look|bye", "{kind}");
            assert_eq!(notes(&world.watcher), ["look {}"], "{kind}");
        });
    }
}

/// S93: in the commit: the call goes out once the commit has been awaited again, and once.
#[test]
fn s93_a_panic_in_a_commit() {
    in_paused_time(async {
        let world = local_with(&obliging(), |builder, watcher| builder.tool(noting("look", watcher))).await;
        world.watcher.panic_once(Panic::InCommit);
        world.say("t", "call look").await;
        world.check("t").await;
        assert_eq!(text_of(&world.shown("t").await), "re: done");
        let told: Vec<String> = world
            .watcher
            .log()
            .into_iter()
            .filter_map(|seen| match seen {
                Seen::Committing => Some("committing".to_owned()),
                Seen::Committed => Some("committed".to_owned()),
                Seen::Note(note) => Some(note),
                _ => None,
            })
            .collect();
        assert_eq!(told[..4], ["committing", "committing", "committed", "look {}"]);
        assert_eq!(notes(&world.watcher).len(), 1);
    });
}

/// S93: in the commit, and again while the synced turn is emitted anew.
#[test]
fn s93_a_panic_while_a_step_is_resumed() {
    in_paused_time(async {
        let world = local_with(&obliging(), |builder, watcher| builder.tool(noting("look", watcher))).await;
        world.watcher.panic_once(Panic::InCommit);
        world.watcher.panic_once(Panic::AtEvent("turn_discarded"));
        world.say("t", "call look").await;
        world.check("t").await;
        assert_eq!(notes(&world.watcher), ["look {}"]);
        assert_eq!(text_of(&world.shown("t").await), "re: done");
    });
}

/// S93: at a subscriber: it is told that it is not installed; the thread, and whoever comes next, notice nothing.
#[test]
fn s93_a_panic_at_a_subscriber() {
    in_paused_time(async {
        let gate = Gate::new();
        let held = gate.clone();
        let model = ScriptedModel::from_fn(move |_| Reply::text("half ").wait(&held).say("whole"));
        let world = local(&model).await;
        world.send("t", "hello", Input::text("hello")).await.unwrap();
        gate.reached().await;
        world.watcher.panic_once(Panic::AtSubscribe);
        assert!(!world.system().subscribe(&"t".into(), ()).await.unwrap());
        assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
        gate.open();
        world.rest("t").await;
        world.check("t").await;
        assert_eq!(text_of(&world.shown("t").await), "half whole");
    });
}

/// S93: for ever: a step that pays for a completion and then fails is not tried for ever, but waits for its next input.
#[test]
fn s93_a_panic_for_ever() {
    in_paused_time(async {
        let model = obliging();
        let mut world = local(&model).await;
        world.limits().step_failures = 3;
        world.restart(&[]).await;
        (0..3).for_each(|_| world.watcher.panic_once(Panic::AtEvent("text_chunk")));
        world.send("t", "hello", Input::text("hello")).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(600)).await;
        assert_eq!(model.requests().len(), 3, "it is not tried again");
        assert_eq!(world.store.load(&"t".into()).await.unwrap().inbox.len(), 1, "and what was accepted waits");

        world.say("t", "again").await;
        world.check("t").await;
        assert_eq!(written(&world, "t").await, ["hello", "again"]);
    });
}
