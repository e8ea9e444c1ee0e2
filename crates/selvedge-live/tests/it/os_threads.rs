//! The publisher on a thread of its own, as a shard is, and subscribers on others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use selvedge_live::{ClientId, Ended, Live, LiveOptions, Subscribe};
use selvedge_testkit::Chance;

use crate::stage::{Stage, Viewer};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_time().build().unwrap()
}

/// A shard that runs some steps and shuts down.
fn shard(stage: &Stage, steps: u32, chunks: u32) -> std::thread::JoinHandle<()> {
    let stage = stage.clone();
    std::thread::spawn(move || {
        for step in 0..steps {
            stage.begin();
            for chunk in 0..chunks {
                stage.say(&format!("{step}.{chunk} "));
            }
            stage.sync();
            stage.commit(&[]);
        }
        stage.shut_down();
    })
}

/// Nobody misses a wake-up: each reads until the shard is gone, and has seen everything.
#[test]
fn readers_on_other_threads_see_everything() {
    let runtime = runtime();
    runtime.block_on(async {
        for round in 0..20 {
            let live = Live::default();
            let stage = Stage::new(&live, "t");
            let mut readers = Vec::new();
            for _ in 0..8 {
                let mut viewer = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
                readers.push(tokio::spawn(async move {
                    while let Some(frame) = viewer.subscriber.next().await {
                        viewer.take(&frame);
                    }
                    viewer
                }));
            }
            let shard = shard(&stage, 10, 20);
            for reader in readers {
                let viewer = tokio::time::timeout(Duration::from_secs(20), reader).await.expect("a wake-up is lost");
                let viewer = viewer.unwrap();
                assert!(matches!(viewer.subscriber.ended(), Some(Ended::Closed)));
                viewer.check(&stage.reference(), &format!("round {round}"));
                assert_eq!(viewer.snapshots, 1);
            }
            shard.join().unwrap();
        }
    });
}

/// Readers that are slow, leave, resume, replace one another and fall out of a small ring, while the shard goes on.
#[test]
fn readers_that_come_and_go_are_right_whenever_they_read_on() {
    let seed = std::env::var("SELVEDGE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    println!("SELVEDGE_SEED={seed}");
    let runtime = runtime();
    runtime.block_on(async {
        let mut options = LiveOptions::default();
        (options.ring_bytes, options.lag_bytes, options.coalesce_bytes) = (40_000, 30_000, 4_000);
        options.pace = Duration::from_micros(100);
        let live = Live::new(options);
        let stage = Stage::new(&live, "t");
        let over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..12)
            .map(|number| {
                let (live, stage, over) = (live.clone(), stage.clone(), over.clone());
                let chance = Chance::of_seed(seed * 1000 + number);
                tokio::spawn(async move { come_and_go(&live, &stage, &over, &chance, number).await })
            })
            .collect();
        let shard = {
            let stage = stage.clone();
            std::thread::spawn(move || {
                for step in 0..60 {
                    stage.begin();
                    (0..150).for_each(|chunk| stage.say(&format!("{step}.{chunk} ")));
                    stage.sync();
                    stage.commit(&[]);
                }
            })
        };
        while !shard.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        shard.join().unwrap();
        over.store(true, Ordering::Release);
        for reader in readers {
            let mut viewer = tokio::time::timeout(Duration::from_secs(20), reader).await.unwrap().unwrap();
            viewer.catch_up().await;
            viewer.check(&stage.reference(), "when the thread is at rest");
        }
        let bytes = live.stats().bytes;
        assert!(bytes < 45_000, "{bytes}");
    });
}

/// Reads, leaves and comes back until the thread is at rest.
async fn come_and_go(live: &Live, stage: &Stage, over: &AtomicBool, chance: &Chance, number: u64) -> Viewer {
    // Some share a name: one of them replaces the other.
    let client = (number < 8).then(|| ClientId::from(format!("client {number}")));
    let subscribe = || Subscribe { client: client.clone(), ..Subscribe::default() };
    let mut viewer = Viewer::new(stage.subscribe(live, subscribe()).await);
    while !over.load(Ordering::Acquire) {
        for _ in 0..chance.below(200) {
            let next = tokio::time::timeout(Duration::from_millis(5), viewer.subscriber.next()).await;
            let Ok(Some(frame)) = next else { break };
            viewer.take(&frame);
        }
        chance.pause().await;
        if chance.below(4) == 0 {
            let Viewer { subscriber, transcript, .. } = viewer;
            let resume = subscriber.cursor();
            if chance.below(2) == 0 {
                drop(subscriber);
            }
            viewer = Viewer::resumed(stage.subscribe(live, Subscribe { resume, ..subscribe() }).await, transcript);
        }
    }
    viewer
}
