//! What one subscriber is given, and when.

use std::sync::Arc;

use selvedge_live::{AttachError, Ended, FrameKind, Live, Subscribe};

use crate::stage::{Stage, Viewer, choice, in_paused_time, kinds, live, now};

#[test]
fn a_subscriber_gets_a_snapshot_and_what_follows() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        stage.step("before");
        stage.begin();
        let mut viewer = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
        stage.say("after");
        stage.sync();
        stage.commit(&[]);
        viewer.catch_up().await;
        viewer.check(&stage.reference(), "at the end");
        assert_eq!(viewer.snapshots, 1);
    });
}

#[test]
fn a_thread_that_nobody_has_subscribed_to_has_no_feed() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        stage.step("unseen");
        assert_eq!(live.stats().feeds, 0);
        assert_eq!(live.stats().bytes, 0);
    });
}

#[test]
fn commits_carry_their_step_wherever_the_subscriber_came_in() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        stage.step("one");
        stage.begin();
        stage.sync();
        // Between the sync and the commit.
        let mut subscriber = stage.subscribe(&live, Subscribe::default()).await;
        stage.commit(&[]);
        stage.sync_silently();
        stage.commit(&[]);
        stage.step("four");
        let mut steps = Vec::new();
        while let Some(frame) = now(&mut subscriber).await {
            if let FrameKind::Committed { step } = frame.kind {
                steps.push(step);
            }
        }
        assert_eq!(steps, [2, 3, 4]);
    });
}

#[test]
fn a_choice_is_shown_when_its_step_is_committed() {
    in_paused_time(async {
        let live = Live::default();
        let hub = Arc::new(live.hub());
        let stage = Stage::of(hub.clone(), "t", 1);
        stage.step("one");
        let mut early = stage.subscribe(&live, Subscribe::default()).await;
        assert_eq!(kinds(&mut early).await, ["snapshot"]);
        stage.sync_silently();
        hub.choice_required("t", &choice(1));
        assert_eq!(kinds(&mut early).await, [] as [&str; 0], "its hook has returned, its step is not committed");
        let mut late = stage.subscribe(&live, Subscribe::default()).await;
        hub.committed("t");
        assert_eq!(kinds(&mut early).await, ["committed", "choice_required"]);
        assert_eq!(kinds(&mut late).await, ["snapshot", "committed", "choice_required"]);
    });
}

#[test]
fn a_choice_whose_step_is_run_again_is_shown_once() {
    in_paused_time(async {
        let live = Live::default();
        let hub = Arc::new(live.hub());
        let stage = Stage::of(hub.clone(), "t", 1);
        stage.step("one");
        let mut subscriber = stage.subscribe(&live, Subscribe::default()).await;
        stage.begin();
        hub.choice_required("t", &choice(1));
        stage.discard();
        stage.begin();
        stage.sync();
        stage.commit(&[choice(1)]);
        let shown = kinds(&mut subscriber).await;
        assert_eq!(shown.iter().filter(|kind| *kind == "choice_required").count(), 1, "{shown:?}");
    });
}

#[test]
fn a_dismissed_choice_is_in_no_later_snapshot() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        stage.begin();
        stage.sync();
        let mut early = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
        stage.commit(&[choice(1)]);
        early.catch_up().await;
        early.check(&stage.reference(), "required");
        stage.dismiss(&choice(1).id);
        // The runtime's own snapshot has it until the step is synced.
        assert_eq!(stage.snapshot().choices.len(), 1);
        let mut late = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
        stage.sync_dismissal();
        stage.commit(&[]);
        for viewer in [&mut early, &mut late] {
            viewer.catch_up().await;
            viewer.check(&stage.reference(), "dismissed");
        }
    });
}

/// S03 where the frames are made.
#[test]
fn s03_a_later_subscription_of_a_client_replaces_the_earlier() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        let again = || Subscribe { client: Some("tab".into()), ..Subscribe::default() };
        let mut first = stage.subscribe(&live, again()).await;
        assert_eq!(kinds(&mut first).await, ["snapshot"]);
        let mut other = stage.subscribe(&live, Subscribe { client: Some("phone".into()), ..again() }).await;
        let mut second = stage.subscribe(&live, again()).await;
        assert_eq!(live.stats().subscribers, 2);
        stage.step("hello");
        assert!(first.next().await.is_none());
        assert!(matches!(first.ended(), Some(Ended::Replaced)));
        let all = ["snapshot", "user_input", "completion_started", "text_chunk", "completion_finished", "committed"];
        assert_eq!(kinds(&mut second).await, all);
        assert_eq!(kinds(&mut other).await, all);
    });
}

/// A replaced subscriber that was about to attach again must not take the place back.
#[test]
fn s03_the_later_subscription_counts_also_when_the_earlier_attaches_again() {
    in_paused_time(async {
        let live = live(2000);
        let stage = Stage::new(&live, "t");
        let again = || Subscribe { client: Some("tab".into()), ..Subscribe::default() };
        let mut first = stage.subscribe(&live, again()).await;
        stage.begin();
        (0..50).for_each(|_| stage.say("too much for the ring"));
        assert!(matches!(first.next().await.unwrap().kind, FrameKind::Snapshot(_)));
        assert!(matches!(first.next().await.unwrap().kind, FrameKind::Resync { .. }), "it is out of the feed");
        let mut second = stage.subscribe(&live, again()).await;
        assert!(first.next().await.is_none());
        assert!(matches!(first.ended(), Some(Ended::Replaced)));
        assert_eq!(kinds(&mut second).await, ["snapshot"]);
    });
}

#[test]
fn a_shut_down_system_ends_its_subscribers_after_their_last_frame() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        let mut subscriber = stage.subscribe(&live, Subscribe::default()).await;
        stage.step("last words");
        let waiting = tokio::spawn(async move {
            let mut frames = 0;
            while subscriber.next().await.is_some() {
                frames += 1;
            }
            (frames, matches!(subscriber.ended(), Some(Ended::Closed)))
        });
        stage.shut_down();
        assert_eq!(waiting.await.unwrap(), (6, true));
        let refused = live.subscribe(stage.attach(), stage.thread(), Subscribe::default()).await.unwrap_err();
        assert!(matches!(refused, AttachError::Refused(_)));
        assert_eq!(live.stats().bytes, 0);
    });
}

#[test]
fn a_request_that_nobody_takes_is_an_error() {
    in_paused_time(async {
        let live = Live::default();
        let attach = Arc::new(|_, request| async move {
            drop(request);
            Ok(())
        });
        let error = live.subscribe(attach, "t".into(), Subscribe::default()).await.unwrap_err();
        assert!(matches!(error, AttachError::NotTaken));
    });
}

#[test]
fn a_subscriber_that_leaves_is_forgotten() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        let subscriber = stage.subscribe(&live, Subscribe::default()).await;
        assert_eq!(live.stats().subscribers, 1);
        drop(subscriber);
        assert_eq!(live.stats().subscribers, 0);
        assert_eq!(live.stats().feeds, 1, "it may come back");
    });
}

/// One frame and one JSON for all.
#[test]
fn all_subscribers_share_a_frame_and_its_json() {
    in_paused_time(async {
        let live = Live::default();
        let stage = Stage::new(&live, "t");
        let mut subscribers = Vec::new();
        for _ in 0..20 {
            subscribers.push(stage.subscribe(&live, Subscribe::default()).await);
        }
        stage.step("one text");
        let mut texts = std::collections::HashSet::new();
        for subscriber in &mut subscribers {
            assert_eq!(kinds(subscriber).await.len(), 6);
        }
        stage.step("another");
        for subscriber in &mut subscribers {
            while let Some(frame) = now(subscriber).await {
                texts.insert((frame.cursor.seq, frame.json().as_ptr()));
            }
        }
        assert_eq!(texts.len(), 5, "five frames were made, and five texts");
    });
}
