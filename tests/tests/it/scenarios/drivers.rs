//! Drivers come and go; threads stay.

use std::sync::Arc;
use std::time::Duration;

use selvedge::event::Timestamp;
use selvedge::prelude::*;
use selvedge::runtime::{LifecycleKind, Wake};
use selvedge::store::{AcceptRequest, Create, NewInput};
use selvedge_testkit::Panic;
use selvedge_tests::{Mode, World, in_paused_time, text_of};
use tokio::sync::broadcast::Receiver;

use crate::scenarios::kit::{local, local_with, obliging, written};

/// The notices so far, as words.
fn told(notices: &mut Receiver<selvedge::runtime::Lifecycle>) -> Vec<String> {
    let mut told = Vec::new();
    while let Ok(notice) = notices.try_recv() {
        let what = match notice.kind {
            LifecycleKind::Resident => "resident",
            LifecycleKind::Gone => "gone",
            LifecycleKind::StepFailed(_) => "step failed",
            _ => "other",
        };
        told.push(format!("{} {what}", notice.thread));
    }
    told
}

async fn idle_out() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

/// A driver with nothing to wait for leaves, and the thread is found again by whatever comes next.
#[test]
fn a_driver_idles_out_and_the_thread_is_found_again() {
    in_paused_time(async {
        let world = local(&obliging()).await;
        let mut notices = world.system().lifecycle();
        world.say("t", "one").await;
        assert_eq!(told(&mut notices), ["t resident"]);
        idle_out().await;
        assert_eq!(told(&mut notices), ["t gone"]);

        assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
        assert_eq!(told(&mut notices), ["t resident"], "a subscriber makes it resident");
        idle_out().await;
        assert_eq!(told(&mut notices), ["t gone"]);
        assert_eq!(world.store.unfinished().await.unwrap(), [], "and nothing is left to do");

        world.say("t", "two").await;
        assert_eq!(told(&mut notices), ["t resident"]);
        world.check("t").await;
        assert_eq!(text_of(&world.shown("t").await), "re: one|re: two");
    });
}

/// A subscribed call sends news long after the driver has left.
#[test]
fn news_finds_its_thread_after_the_driver_has_left() {
    in_paused_time(async {
        let world = local_with(&obliging(), |builder, _| {
            builder.tool(tool(ToolSpec::new("watch", "Watches."), |call| {
                let news = call.subscription();
                tokio::runtime::Handle::current().spawn(async move {
                    tokio::time::sleep(Duration::from_secs(600)).await;
                    news.send("it rains", true).await.expect("the thread is found");
                });
                async { Ok(ToolOutput::text("watching").subscribed()) }
            }))
        })
        .await;
        let mut notices = world.system().lifecycle();
        world.say("t", "call watch").await;
        idle_out().await;
        assert_eq!(told(&mut notices).last().map(String::as_str), Some("t gone"));
        tokio::time::sleep(Duration::from_secs(500)).await;
        let shown = async |world: &World| {
            let news =
                |kind: &ItemKind| matches!(kind, ItemKind::SubscriptionEvent { text, .. } if &**text == "it rains");
            world.shown("t").await.iter().any(news)
        };
        assert!(!shown(&world).await);
        tokio::time::sleep(Duration::from_secs(190)).await;
        assert!(shown(&world).await);
        world.rest("t").await;
        world.check("t").await;
    });
}

/// A step that fails is told, with what failed.
#[test]
fn a_failed_step_is_told() {
    in_paused_time(async {
        let world = local(&obliging()).await;
        let mut notices = world.system().lifecycle();
        world.watcher.panic_once(Panic::AtEvent("text_chunk"));
        world.say("t", "one").await;
        let mut failed = None;
        while let Ok(notice) = notices.try_recv() {
            if let LifecycleKind::StepFailed(text) = notice.kind {
                failed = Some(text);
            }
        }
        assert!(failed.expect("it is told").contains("the watcher was told to panic"));
    });
}

/// What stands in the inboxes when a system starts is worked off, without anybody asking for it.
#[test]
fn a_backlog_is_worked_off_at_the_start() {
    in_paused_time(async {
        let mut world = local(&obliging()).await;
        world.crash();
        for thread in ["t", "u", "v"] {
            for text in ["one", "two"] {
                let input = NewInput { id: text.into(), input: Input::queued(text), at: selvedge::event::Timestamp(0) };
                let request = AcceptRequest { thread: thread.into(), inputs: vec![input], create: Create::Unclaimed };
                world.store.accept(request).await.unwrap();
            }
        }
        world.start().await;
        for thread in ["t", "u", "v"] {
            world.rest(thread).await;
            world.check(thread).await;
            assert_eq!(written(&world, thread).await, ["one", "two"]);
            assert_eq!(text_of(&world.shown(thread).await), "re: two");
        }
    });
}

/// A deleted thread is gone, whatever it was doing, and its name is free.
#[test]
fn a_deleted_thread_is_gone() {
    in_paused_time(async {
        let world = local(&obliging()).await;
        world.say("t", "one").await;
        world.system().delete(&"t".into()).await.unwrap();
        assert!(world.store.load(&"t".into()).await.is_err());
        world.say("t", "one").await;
        assert_eq!(written(&world, "t").await, ["one"], "its name is free, and the input's id is new to it");
    });
}

/// What was shown of a step that is abandoned is void: whoever still watches must not take it for the beginning of what
/// comes after it, in the same thread or in another of its name.
#[test]
fn a_thread_that_is_deleted_in_the_middle_of_a_step_takes_back_what_it_has_shown() {
    in_paused_time(async {
        let gate = selvedge::model::Gate::new();
        let world = local(&ScriptedModel::new([Reply::text("half a ").wait(&gate).say("sentence")])).await;
        world.send("t", "one", Input::text("one")).await.unwrap();
        gate.reached().await;
        assert_eq!(world.watcher.transcript("t").items().len(), 2);
        world.system().delete(&"t".into()).await.unwrap();
        let last = world.watcher.events("t").pop();
        assert!(matches!(last, Some(AgentEvent::TurnDiscarded { step: 1, .. })), "{last:?}");
        assert_eq!(world.watcher.transcript("t").items(), []);
    });
}

/// A snapshot tells which thread it is of, whether the thread was loaded or created here, and how far it is committed.
#[test]
fn a_snapshot_names_its_thread_by_its_creation() {
    in_paused_time(async {
        let world = local(&obliging()).await;
        world.say("t", "one").await;
        let created_at = world.store.load(&"t".into()).await.unwrap().created_at;
        for _ in 0..2 {
            assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
            let snapshot = world.watcher.newest_snapshot("t").unwrap();
            assert_eq!((snapshot.created_at, snapshot.step, snapshot.committed), (created_at, 1, 1));
            idle_out().await;
        }
    });
}

/// Of the threads that were left unfinished, a system goes on with those that it is told to; the others go on when
/// somebody asks for them.
#[test]
fn a_system_wakes_the_threads_that_it_is_told_to() {
    in_paused_time(async {
        for (wake, woken) in
            [(Wake::all(), vec!["t", "u"]), (Wake::none(), vec![]), (Wake::only(["u".into(), "x".into()]), vec!["u"])]
        {
            let store = Arc::new(MemoryStore::default());
            for thread in ["t", "u"] {
                let input = NewInput { id: "left".into(), input: Input::text("left"), at: Timestamp(0) };
                let inputs = vec![input];
                let request = AcceptRequest { thread: thread.into(), inputs, create: Create::Unclaimed };
                store.accept(request).await.unwrap();
            }
            let (model, chosen) = (obliging(), wake.clone());
            let wiring = move |builder: selvedge::Builder<_>| builder.model(model.clone()).wake(chosen.clone());
            let world = World::over(Mode::Local, store, wiring).await;
            idle_out().await;
            let mut done = Vec::new();
            for thread in ["t", "u"] {
                let waits = world.store.load(&thread.into()).await.unwrap().inbox.len();
                done.extend((waits == 0).then_some(thread));
            }
            assert_eq!(done, woken, "{wake:?}");
            for thread in ["t", "u"] {
                world.send(thread, "more", Input::queued("more")).await.unwrap();
                world.rest(thread).await;
                assert_eq!(written(&world, thread).await, ["left", "more"], "{wake:?}");
            }
        }
    });
}
