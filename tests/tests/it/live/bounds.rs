//! Subscribers that are slow, or do not read at all.

use std::sync::Arc;
use std::time::Duration;

use selvedge::live::{Live, LiveObserver, LiveOptions, LiveRequest, ResyncReason, Subscribe};
use selvedge::prelude::*;
use selvedge_tests::in_paused_time;

use crate::live::kit::{Watched, chunks};

/// A ring, one frame that is larger, and the feed itself.
fn bound() -> u64 {
    LiveOptions::default().ring_bytes as u64 + 8 * 1024
}

/// 5,000 chunks, one event per second: it ends complete, or is told to resync and then is.
async fn one_event_per_second(live: Live) -> (Vec<ResyncReason>, usize) {
    let watched = Watched::new(live, &chunks(5_000, "chunk ")).await;
    watched.say("t", "one").await;
    let mut slow = watched.subscribe("t", Subscribe::default()).await;
    slow.next().await.unwrap();
    watched.say("t", "two").await;
    assert!(watched.live.stats().bytes <= bound(), "{:?}", watched.live.stats());
    while slow.next().await.is_some() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(slow.transcript.items(), watched.durable("t").await.items(), "never silently short");
    (slow.resyncs(), slow.frames.len())
}

#[test]
fn s13_a_slow_reader_resyncs_and_is_complete() {
    in_paused_time(async {
        let (resyncs, _) = one_event_per_second(Live::default()).await;
        assert_eq!(resyncs, [ResyncReason::Lagging]);
    });
}

#[test]
fn s13_a_slow_reader_for_whom_there_is_room_is_given_text_in_larger_pieces() {
    in_paused_time(async {
        let mut options = LiveOptions::default();
        let roomy = 8 * 1024 * 1024;
        (options.ring_bytes, options.lag_bytes) = (roomy, roomy);
        let live = Live::new(options);
        let watched = Watched::new(live, &chunks(5_000, "chunk ")).await;
        watched.say("t", "one").await;
        let mut slow = watched.subscribe("t", Subscribe::default()).await;
        slow.next().await.unwrap();
        watched.say("t", "two").await;
        while slow.next().await.is_some() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(slow.resyncs(), []);
        assert!(slow.frames.len() < 500, "{} frames", slow.frames.len());
        assert_eq!(slow.transcript.items(), watched.durable("t").await.items());
    });
}

/// A system that streams 10 MB: whoever never reads is dropped with a reason, whoever reads ends complete.
#[test]
fn s14_a_subscriber_that_never_reads() {
    in_paused_time(async {
        let mut options = LiveOptions::default();
        // Longer than what a driver emits between two chances for others, who share its thread here.
        options.lag_bytes = options.ring_bytes;
        let watched = Watched::new(Live::new(options), &chunks(5_000, &"x".repeat(2048))).await;
        watched.say("t", "one").await;
        let mut silent = watched.subscribe("t", Subscribe::default()).await;
        let mut others = Vec::new();
        for _ in 0..3 {
            let mut other = watched.subscribe("t", Subscribe::default()).await;
            others.push(tokio::task::spawn_local(async move {
                other.catch_up().await;
                other
            }));
        }
        let (sent, most) = tokio::join!(watched.say("t", "two"), async {
            let mut most = 0;
            for _ in 0..1000 {
                tokio::task::yield_now().await;
                most = watched.live.stats().bytes.max(most);
            }
            most
        });
        let () = sent;
        assert!(most <= bound(), "{most} bytes");
        for other in others {
            let other = other.await.unwrap();
            assert_eq!(other.transcript.items(), watched.durable("t").await.items(), "the others are complete");
            assert_eq!(other.resyncs(), []);
        }
        assert_eq!(watched.live.stats().subscribers, 0, "it was dropped, and the others have left");
        silent.next().await.unwrap();
        assert_eq!(silent.resyncs(), [ResyncReason::Overrun], "with a reason");
        silent.catch_up().await;
        let durable = watched.durable("t").await;
        let page = silent.transcript.items();
        assert!(
            !page.is_empty() && durable.items().ends_with(page),
            "the latest page, from its first turn to its last"
        );
    });
}

/// A million events of 2 KB, at the observer: the frames of a silent subscriber are bounded whatever comes.
#[test]
fn s14_a_million_events_that_nobody_reads() {
    in_paused_time(async {
        let live = Live::default();
        let observer = Arc::new(LiveObserver::new(&live));
        let attach = {
            let observer = observer.clone();
            Arc::new(move |thread: ThreadId, request: LiveRequest| {
                observer.on_subscribe(thread.as_str(), request, empty(&thread));
                async { Ok(()) }
            })
        };
        let mut silent = live.subscribe(attach.clone(), "t".into(), Subscribe::default()).await.unwrap();
        let mut reader = live.subscribe(attach, "t".into(), Subscribe::default()).await.unwrap();
        let event = AgentEvent::Info { text: "x".repeat(2048).into(), call_id: None };
        let (mut read, mut most) = (0, 0);
        reader.next().await.unwrap();
        for round in 0..25_000 {
            (0..40).for_each(|_| observer.on_event("t", &event));
            most = live.stats().bytes.max(most);
            let mut frames = Vec::new();
            while frames.len() < 40 {
                reader.next_many(&mut frames, 40).await;
            }
            read += frames.len();
            assert!(frames.iter().all(|frame| frame.event() == Some(&event)), "in round {round}");
        }
        assert_eq!(read, 1_000_000, "the others are unaffected");
        assert!(most <= bound(), "{most} bytes");
        assert!(silent.next().await.is_some());
    });
}

fn empty(thread: &ThreadId) -> ReplaySnapshot {
    ReplaySnapshot {
        thread_id: thread.clone(),
        created_at: selvedge::event::Timestamp(0),
        step: 0,
        committed: 0,
        history: selvedge::event::History::default(),
        older: None,
        partial: None,
        open_calls: Vec::new(),
        choices: Vec::new(),
        oauth: Vec::new(),
        views: Vec::new(),
        usage: selvedge::event::Usage::default(),
    }
}
