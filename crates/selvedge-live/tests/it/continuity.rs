//! Cursors and epochs: what follows on what, and what does not.

use std::sync::Arc;

use selvedge_event::AgentEvent;
use selvedge_live::{Cursor, FrameKind, Live, ResyncReason, Subscribe, Subscriber};

use crate::stage::{Stage, Viewer, choice, in_paused_time, live, now, text};

fn after(cursor: Cursor) -> Subscribe {
    Subscribe { resume: Some(cursor), ..Subscribe::default() }
}

/// Resumes and sees why that is not possible; what it shows is right all the same.
async fn refused(stage: &Stage, live: &Live, cursor: Cursor) -> ResyncReason {
    let mut viewer = Viewer::new(stage.subscribe(live, after(cursor)).await);
    viewer.catch_up().await;
    viewer.check(&stage.reference(), "after a refused resume");
    assert_eq!(viewer.resyncs.len(), 1);
    assert_eq!(viewer.snapshots, 1);
    viewer.resyncs[0]
}

async fn cursor_of(mut subscriber: Subscriber) -> Cursor {
    while now(&mut subscriber).await.is_some() {}
    subscriber.cursor().unwrap()
}

/// A thread with a feed that has seen two steps, and the cursor of its newest frame.
async fn two_steps(live: &Live) -> (Stage, Cursor) {
    let stage = Stage::new(live, "t");
    let subscriber = stage.subscribe(live, Subscribe::default()).await;
    stage.step("one");
    stage.step("two");
    let cursor = cursor_of(subscriber).await;
    (stage, cursor)
}

#[test]
fn a_resume_gives_exactly_the_rest_after_every_cursor() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        stage.step("before");
        let mut viewer = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
        stage.begin();
        stage.think(&["hm", "so"]);
        stage.say("this");
        stage.retry();
        stage.say("that");
        stage.sync();
        stage.commit(&[choice(1)]);
        stage.dismiss(&choice(1).id);
        stage.sync_dismissal();
        stage.commit(&[]);
        let mut moments = Vec::new();
        while let Some(frame) = now(&mut viewer.subscriber).await {
            viewer.take(&frame);
            moments.push((frame, viewer.transcript.clone()));
        }
        for (place, (frame, shown)) in moments.iter().enumerate() {
            let subscriber = stage.subscribe(&live, after(frame.cursor)).await;
            let mut resumed = Viewer::resumed(subscriber, shown.clone());
            for (expected, _) in &moments[place + 1..] {
                let given = now(&mut resumed.subscriber).await.unwrap();
                assert!(Arc::ptr_eq(&given, expected), "{} after {}", given.cursor, frame.cursor);
                resumed.take(&given);
            }
            assert!(now(&mut resumed.subscriber).await.is_none());
            resumed.check(&stage.reference(), "resumed");
        }
    });
}

#[test]
fn a_cursor_of_before_a_restart_is_not_resumed() {
    in_paused_time(async {
        let live = Live::default();
        let (stage, cursor) = two_steps(&live).await;
        stage.restart(&live);
        assert_eq!(refused(&stage, &live, cursor).await, ResyncReason::OtherEpoch);
    });
}

#[test]
fn a_thread_that_was_made_anew_is_another_one() {
    in_paused_time(async {
        let live = Live::default();
        let hub = Arc::new(live.hub());
        let old = Stage::of(hub.clone(), "t", 1);
        let mut viewer = Viewer::new(old.subscribe(&live, Subscribe::default()).await);
        old.step("old");
        viewer.catch_up().await;
        // The same name, and as far as the old one: only its creation tells.
        let new = Stage::of(hub, "t", 2);
        new.step_elsewhere("new");
        let cursor = viewer.subscriber.cursor().unwrap();
        assert_eq!(refused(&new, &live, cursor).await, ResyncReason::OtherEpoch);
        assert_eq!(viewer.subscriber.next().await.unwrap().cursor, cursor, "its viewers hear of it");
    });
}

#[test]
fn a_thread_that_begins_anew_under_its_viewers_resyncs_them() {
    in_paused_time(async {
        let live = Live::default();
        let hub = Arc::new(live.hub());
        let old = Stage::of(hub.clone(), "t", 1);
        let new = Stage::of(hub, "t", 2);
        old.step("old");
        // The viewer attaches to whatever there is of that name: the new one, when it asks again.
        let attach = {
            let (old, new, asked) = (old.attach(), new.attach(), std::sync::atomic::AtomicBool::new(false));
            Arc::new(move |thread, request| {
                let again = asked.swap(true, std::sync::atomic::Ordering::Relaxed);
                if again { new.attach(thread, request) } else { old.attach(thread, request) }
            })
        };
        let mut viewer = Viewer::new(live.subscribe(attach, "t".into(), Subscribe::default()).await.unwrap());
        viewer.catch_up().await;
        viewer.check(&old.reference(), "the old one");
        new.begin();
        viewer.catch_up().await;
        assert_eq!(viewer.resyncs, [ResyncReason::Discontinued]);
        new.say("new");
        viewer.catch_up().await;
        viewer.check(&new.reference(), "the new one");
    });
}

#[test]
fn a_step_that_others_ran_is_not_left_out() {
    in_paused_time(async {
        let live = Live::default();
        let (stage, cursor) = two_steps(&live).await;
        let mut viewer = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
        viewer.catch_up().await;
        stage.step_elsewhere("unseen");
        assert_eq!(refused(&stage, &live, cursor).await, ResyncReason::OtherEpoch, "seen at the next attach");
        viewer.catch_up().await;
        assert_eq!(viewer.resyncs, [ResyncReason::Discontinued]);
        viewer.check(&stage.reference(), "after an attach");

        stage.step_elsewhere("unseen again");
        stage.step("seen");
        viewer.catch_up().await;
        assert_eq!(viewer.resyncs.len(), 2, "seen at the next event");
        viewer.check(&stage.reference(), "after an event");
    });
}

/// What the runtime does after an error of a commit, and after a crash: the step again, under its number.
#[test]
fn a_step_that_is_committed_again_keeps_its_feed() {
    in_paused_time(async {
        let live = Live::default();
        let (stage, _) = two_steps(&live).await;
        let mut viewer = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
        viewer.catch_up().await;
        stage.begin();
        stage.say("three");
        stage.sync();
        let mut between = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
        let snapshot = stage.snapshot();
        let turn = snapshot.history.last().unwrap();
        stage.event(&AgentEvent::TurnDiscarded { step: 3, attempt: 0, scope: selvedge_event::Discard::Step });
        selvedge_event::replay::turn(turn).iter().for_each(|event| stage.event(event));
        stage.commit(&[]);
        stage.step("four");
        for viewer in [&mut viewer, &mut between] {
            viewer.catch_up().await;
            viewer.check(&stage.reference(), "at the end");
            assert_eq!(viewer.resyncs, []);
        }
    });
}

#[test]
fn cursors_that_nobody_gave_out_are_not_resumed() {
    in_paused_time(async {
        let live = Live::default();
        let (stage, cursor) = two_steps(&live).await;
        for seq in [cursor.seq + 1, u64::MAX] {
            assert_eq!(refused(&stage, &live, Cursor { seq, ..cursor }).await, ResyncReason::Ahead);
        }
        let stranger = "0000000000000000.1".parse().unwrap();
        assert_eq!(refused(&stage, &live, stranger).await, ResyncReason::OtherEpoch);
    });
}

#[test]
fn a_cursor_whose_rest_is_kept_no_more_is_not_resumed() {
    in_paused_time(async {
        let live = live(4000);
        let (stage, cursor) = two_steps(&live).await;
        stage.begin();
        (0..50).for_each(|_| stage.say("more than there is room for"));
        assert_eq!(refused(&stage, &live, cursor).await, ResyncReason::Overrun);
    });
}

#[test]
fn a_feed_that_was_given_up_for_others_is_not_resumed() {
    in_paused_time(async {
        let mut options = selvedge_live::LiveOptions::default();
        options.total_bytes = 100_000;
        let live = Live::new(options);
        let (stage, cursor) = two_steps(&live).await;
        let watched = Stage::new(&live, "watched");
        let mut viewer = Viewer::new(watched.subscribe(&live, Subscribe::default()).await);
        viewer.catch_up().await;
        let hub = Arc::new(live.hub());
        for other in 0..300 {
            let other = Stage::of(hub.clone(), &format!("other {other}"), 1);
            drop(other.subscribe(&live, Subscribe::default()).await);
            other.step("something");
            assert!(live.stats().bytes <= 100_000, "{:?}", live.stats());
        }
        assert_eq!(refused(&stage, &live, cursor).await, ResyncReason::OtherEpoch);
        watched.step("still watched");
        viewer.catch_up().await;
        viewer.check(&watched.reference(), "whoever is up to date goes on");
        assert_eq!(viewer.resyncs, []);
    });
}

#[test]
fn a_reader_that_is_too_far_behind_resyncs_by_itself() {
    in_paused_time(async {
        let live = live(20_000);
        let stage = Stage::new(&live, "t");
        let mut viewer = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
        viewer.catch_up().await;
        stage.begin();
        (0..500).for_each(|_| stage.say("chunk "));
        assert!(live.stats().bytes < 25_000);
        viewer.catch_up().await;
        assert_eq!(viewer.resyncs, [ResyncReason::Overrun]);
        viewer.check(&stage.reference(), "with a fresh snapshot");
        stage.sync();
        viewer.catch_up().await;
        viewer.check(&stage.reference(), "and goes on");
    });
}

#[test]
fn a_subscriber_that_never_reads_is_dropped_and_lets_go_of_its_snapshot() {
    in_paused_time(async {
        let live = live(20_000);
        let stage = Stage::new(&live, "t");
        stage.step("history");
        let mut silent = stage.subscribe(&live, Subscribe::default()).await;
        let turn = Arc::downgrade(stage.snapshot().history.last().unwrap());
        let held = turn.strong_count();
        assert_eq!(live.stats().subscribers, 1);
        stage.begin();
        (0..500).for_each(|_| stage.say("chunk "));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        assert_eq!(live.stats().subscribers, 0);
        assert_eq!(turn.strong_count(), held, "the history is shared with the thread");
        let reason = silent.next().await.unwrap();
        assert!(matches!(reason.kind, FrameKind::Resync { .. }), "{reason:?}");
        assert!(matches!(silent.next().await.unwrap().kind, FrameKind::Snapshot(_)));
    });
}

#[test]
fn a_reader_that_lags_is_given_neighbouring_text_as_one() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        let mut viewer = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
        viewer.catch_up().await;
        stage.begin();
        (0..300).for_each(|_| stage.say("chunk "));
        let mut frames = 0;
        while let Some(frame) = now(&mut viewer.subscriber).await {
            viewer.take(&frame);
            frames += 1;
        }
        assert!(frames < 10, "{frames} frames");
        assert_eq!(viewer.resyncs, []);
        viewer.check(&stage.reference(), "at the end");
        let cursor = viewer.subscriber.cursor().unwrap();
        assert_eq!(cursor.seq, 302, "the cursor of the last of them");
        stage.event(&text("!"));
        viewer.catch_up().await;
        viewer.check(&stage.reference(), "and goes on");
    });
}
