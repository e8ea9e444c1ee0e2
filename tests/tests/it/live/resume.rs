//! Resuming after a cursor: exactly the rest, or a resync and a snapshot.

use std::sync::Arc;
use std::time::Duration;

use selvedge::live::{Live, LiveOptions, ResyncReason, Subscribe};
use selvedge_tests::in_paused_time;

use crate::live::kit::{Watched, chunks};
use crate::scenarios::kit::obliging;

/// Cursors strictly increase; resuming after any of them gives exactly the rest.
#[test]
fn s06_ten_thousand_chunks_and_a_resume_after_every_cursor() {
    in_paused_time(async {
        let mut options = LiveOptions::default();
        let roomy = 16 * 1024 * 1024;
        (options.ring_bytes, options.lag_bytes, options.coalesce_bytes) = (roomy, roomy, roomy);
        let watched = Watched::new(Live::new(options), &chunks(10_000, "chunk ")).await;
        watched.say("t", "warm up").await;
        let mut viewer = watched.subscribe("t", Subscribe::default()).await;
        watched.say("t", "as fast as possible").await;
        viewer.catch_up().await;
        let frames = viewer.frames;
        assert!(frames.len() > 10_000);
        assert!(frames.windows(2).all(|pair| pair[0].cursor < pair[1].cursor));
        for (place, frame) in frames.iter().enumerate() {
            let rest = &frames[place + 1..];
            let mut resumed = watched.resume("t", frame.cursor).await;
            // All of the rest at every hundredth cursor, its beginning at the others.
            let count = if place.is_multiple_of(97) { rest.len() } else { rest.len().min(2) };
            for expected in &rest[..count] {
                let given = resumed.subscriber.next().await.unwrap();
                assert!(Arc::ptr_eq(&given, expected), "{} after {}", given.cursor, frame.cursor);
            }
            if count == rest.len() {
                assert!(resumed.next().await.is_none(), "nothing comes after the rest");
            }
        }
    });
}

/// Whoever resumes at a cursor of before a restart begins again.
#[test]
fn a_resume_across_a_restart_is_a_resync() {
    in_paused_time(async {
        let live = Live::default();
        let watched = Watched::new(live.clone(), &obliging()).await;
        watched.say("t", "one").await;
        let mut viewer = watched.subscribe("t", Subscribe::default()).await;
        watched.say("t", "two").await;
        viewer.catch_up().await;
        let cursor = viewer.subscriber.cursor().unwrap();
        watched.system.shutdown().await;
        let store = watched.store.clone();
        drop((watched, viewer));

        let watched = Watched::over(store, live, &obliging()).await;
        let mut resumed = watched.resume("t", cursor).await;
        watched.say("t", "three").await;
        resumed.catch_up().await;
        assert_eq!(resumed.resyncs(), [ResyncReason::OtherEpoch]);
        assert_eq!(resumed.transcript.items(), watched.durable("t").await.items());
    });
}

/// The thread is deleted and made anew, as long as the old one: neither who watches nor who resumes takes one for the
/// other.
#[test]
fn a_resume_in_another_thread_of_the_same_name_is_a_resync() {
    in_paused_time(async {
        let watched = Watched::new(Live::default(), &obliging()).await;
        watched.say("t", "old").await;
        let mut viewer = watched.subscribe("t", Subscribe::default()).await;
        watched.say("t", "old too").await;
        viewer.catch_up().await;
        let cursor = viewer.subscriber.cursor().unwrap();
        watched.system.delete(&"t".into()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        watched.say("t", "new").await;
        watched.say("t", "new too").await;

        let mut resumed = watched.resume("t", cursor).await;
        resumed.catch_up().await;
        viewer.catch_up().await;
        let expected = watched.durable("t").await;
        assert_eq!(resumed.transcript.items(), expected.items());
        assert_eq!(resumed.resyncs(), [ResyncReason::OtherEpoch]);
        assert_eq!(viewer.transcript.items(), expected.items());
        assert_eq!(viewer.resyncs(), [ResyncReason::Discontinued]);
    });
}

/// The thread is deleted in the middle of its first step, which nobody could tell from that of its successor.
#[test]
fn a_thread_that_is_deleted_in_its_first_step_is_not_mixed_with_the_next() {
    in_paused_time(async {
        let gate = selvedge::model::Gate::new();
        let replies = [selvedge::prelude::Reply::text("old half").wait(&gate), selvedge::prelude::Reply::text("new")];
        let watched = Watched::new(Live::default(), &selvedge::prelude::ScriptedModel::new(replies)).await;
        watched.system.send_text(&"t".into(), "old").await.unwrap();
        gate.reached().await;
        let mut viewer = watched.subscribe("t", Subscribe::default()).await;
        viewer.catch_up().await;
        assert_eq!(viewer.transcript.items().len(), 2);
        watched.system.delete(&"t".into()).await.unwrap();
        watched.say("t", "new").await;
        viewer.catch_up().await;
        assert_eq!(viewer.transcript.items(), watched.durable("t").await.items());
    });
}

/// What comes after the cursor is kept no more.
#[test]
fn a_resume_after_an_overrun_is_a_resync() {
    in_paused_time(async {
        let watched = Watched::new(Live::default(), &chunks(5_000, "chunk ")).await;
        watched.say("t", "one").await;
        let mut viewer = watched.subscribe("t", Subscribe::default()).await;
        viewer.next().await.unwrap();
        let cursor = viewer.subscriber.cursor().unwrap();
        drop(viewer);
        watched.say("t", "two").await;
        let mut resumed = watched.resume("t", cursor).await;
        resumed.catch_up().await;
        assert_eq!(resumed.resyncs(), [ResyncReason::Overrun]);
        assert_eq!(resumed.transcript.items(), watched.durable("t").await.items());
    });
}

/// The driver has left and another serves the resume: the feed is the observer's, not the driver's.
#[test]
fn a_resume_goes_on_past_a_driver_that_has_left() {
    in_paused_time(async {
        let watched = Watched::new(Live::default(), &obliging()).await;
        watched.say("t", "one").await;
        let mut viewer = watched.subscribe("t", Subscribe::default()).await;
        watched.say("t", "two").await;
        viewer.catch_up().await;
        let cursor = viewer.subscriber.cursor().unwrap();
        drop(viewer);
        tokio::time::sleep(Duration::from_secs(5)).await;
        watched.say("t", "three").await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let mut resumed = watched.resume("t", cursor).await;
        resumed.catch_up().await;
        let expected = ["user_input", "completion_started", "text_chunk", "completion_finished", "committed"];
        assert_eq!(resumed.kinds(), expected);
    });
}
