//! Live fan-out: what subscribers cost, each by itself and the threads that they watch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use selvedge::live::{Frame, FrameKind, Live, LiveObserver, LiveOptions, LiveRequest, Subscribe, Subscriber};
use selvedge::prelude::*;
use tokio::sync::{Barrier, broadcast};

use crate::durable::Folder;
use crate::measure::Table;
use crate::wiring::{call, chunks, limits, made, runtime, work};

const SUBSCRIBERS: usize = 1_000;
/// Events that are published before everybody has to have them.
const BURST: usize = 2_000;
const BURSTS: usize = 10;
const DELIVERIES: f64 = (SUBSCRIBERS * BURST * BURSTS) as f64;

fn event() -> AgentEvent {
    AgentEvent::TextChunk { text: "a chunk of text ".into() }
}

/// Whoever attaches gets an empty thread.
fn attach_by_hand(observer: &Arc<LiveObserver>) -> Arc<dyn selvedge::live::Attach> {
    let observer = observer.clone();
    Arc::new(move |thread: ThreadId, request: LiveRequest| {
        let snapshot = ReplaySnapshot {
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
        };
        observer.on_subscribe(thread.as_str(), request, snapshot);
        async { Ok(()) }
    })
}

/// Bounds under which nobody is dropped and nothing is merged: every delivery is one of a frame of its own.
fn roomy() -> LiveOptions {
    let mut options = LiveOptions::default();
    (options.ring_bytes, options.lag_bytes, options.coalesce_bytes) = (64 << 20, 64 << 20, 64 << 20);
    options.total_bytes = 256 << 20;
    options
}

pub(crate) fn thousand_subscribers(table: &mut Table) {
    let baseline = runtime().block_on(broadcast_deliveries());
    let (rate, texts) = runtime().block_on(live_deliveries());
    let measured = format!(
        "{:.0} million/s, each with its JSON (tokio's broadcast, nothing serialised: {:.0})",
        rate / 1e6,
        baseline / 1e6
    );
    table.row("fan-out to 1,000 subscribers: deliveries", measured, "≥ 30 million/s", rate >= 3e7);
    let measured = format!("{:.2}", texts as f64 / (BURST * BURSTS) as f64);
    table.row("fan-out to 1,000 subscribers: serialisations per event", measured, "1", texts == BURST * BURSTS);
}

/// Deliveries per second, and how many different texts there were.
async fn live_deliveries() -> (f64, usize) {
    let live = Live::new(roomy());
    let observer = Arc::new(LiveObserver::new(&live));
    let attach = attach_by_hand(&observer);
    let barrier = Arc::new(Barrier::new(SUBSCRIBERS + 1));
    let mut tasks = Vec::new();
    for number in 0..SUBSCRIBERS {
        let mut subscriber = live.subscribe(attach.clone(), "t".into(), Subscribe::default()).await.unwrap();
        let barrier = barrier.clone();
        tasks.push(tokio::spawn(async move {
            let mut texts = Vec::new();
            subscriber.next().await.unwrap();
            barrier.wait().await;
            for _ in 0..BURSTS {
                deliver(&mut subscriber, if number < 10 { Some(&mut texts) } else { None }).await;
                barrier.wait().await;
            }
            texts
        }));
    }
    barrier.wait().await;
    let before = Instant::now();
    for _ in 0..BURSTS {
        (0..BURST).for_each(|_| observer.on_event("t", &event()));
        barrier.wait().await;
    }
    let rate = DELIVERIES / before.elapsed().as_secs_f64();
    let mut texts = std::collections::HashSet::new();
    for task in tasks {
        texts.extend(task.await.unwrap().into_iter().map(|frame: Arc<Frame>| frame.json().as_ptr() as usize));
    }
    (rate, texts.len())
}

/// Reads a burst, frame by frame, with the JSON that a server would write.
async fn deliver(subscriber: &mut Subscriber, mut kept: Option<&mut Vec<Arc<Frame>>>) {
    for _ in 0..BURST {
        let frame = subscriber.next().await.unwrap();
        std::hint::black_box(frame.json());
        if let Some(kept) = &mut kept {
            kept.push(frame);
        }
    }
}

/// The baseline: the same events to as many receivers of a broadcast channel.
async fn broadcast_deliveries() -> f64 {
    let (sender, _) = broadcast::channel::<Arc<AgentEvent>>(2 * BURST);
    let barrier = Arc::new(Barrier::new(SUBSCRIBERS + 1));
    for _ in 0..SUBSCRIBERS {
        let (mut receiver, barrier) = (sender.subscribe(), barrier.clone());
        tokio::spawn(async move {
            barrier.wait().await;
            for _ in 0..BURSTS {
                for _ in 0..BURST {
                    std::hint::black_box(receiver.recv().await.unwrap());
                }
                barrier.wait().await;
            }
        });
    }
    barrier.wait().await;
    let before = Instant::now();
    for _ in 0..BURSTS {
        (0..BURST).for_each(|_| drop(sender.send(Arc::new(event()))));
        barrier.wait().await;
    }
    DELIVERIES / before.elapsed().as_secs_f64()
}

pub(crate) fn busy_thread(table: &mut Table) {
    const PAIRS: usize = 41;
    let folder = Folder::new("fanout");
    let (mut costs, mut rates) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        // Next to one another, and in turn, so that a disk that is slow for a while is so for both.
        let rate = |subscribers: usize| {
            let path = folder.0.join(format!("{subscribers}-{pair}.db"));
            runtime().block_on(steps_per_second(&path, subscribers))
        };
        let (alone, watched) = if pair % 2 == 0 {
            (rate(0), rate(100))
        } else {
            let watched = rate(100);
            (rate(0), watched)
        };
        costs.push(100.0 * (1.0 - watched / alone));
        rates.push(alone);
    }
    let (cost, alone) = (median(&mut costs), median(&mut rates));
    let measured = format!("{cost:.1} % (of {alone:.0} steps/s, median of {PAIRS} pairs)");
    table.row("100 subscribers on a busy thread: cost of its durable steps", measured, "≤ 5 %", cost <= 5.0);
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Durable tool steps of one thread that is watched by some.
async fn steps_per_second(path: &std::path::Path, subscribers: usize) -> f64 {
    const STEPS: u64 = 500;
    let store = SqliteStore::open(path).await.unwrap();
    let (count, asked, live) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0), Live::default());
    let model = made(move |_| if asked.fetch_add(1, Ordering::Relaxed) < STEPS { call() } else { chunks(1) });
    let observed = live.clone();
    let system = System::builder()
        .store(store.clone())
        .model(model)
        .tool(work(count.clone()))
        .limits(limits())
        .observer(move || LiveObserver::new(&observed))
        .start()
        .await
        .unwrap();
    system.send_text(&"t".into(), "go").await.unwrap();
    for _ in 0..subscribers {
        let attach = selvedge::attach_to(&system);
        let mut subscriber = live.subscribe(attach, "t".into(), Subscribe::default()).await.unwrap();
        tokio::spawn(async move {
            while let Some(frame) = subscriber.next().await {
                if !matches!(frame.kind, FrameKind::Snapshot(_)) {
                    std::hint::black_box(frame.json());
                }
            }
        });
    }
    let (begun, before) = (count.load(Ordering::Relaxed), Instant::now());
    while count.load(Ordering::Relaxed) < STEPS {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let rate = (STEPS - begun) as f64 / before.elapsed().as_secs_f64();
    system.shutdown().await;
    store.close().await;
    rate
}

pub(crate) fn silent_subscriber(table: &mut Table) {
    const EVENTS: usize = 1_000_000;
    runtime().block_on(async {
        let live = Live::default();
        let observer = Arc::new(LiveObserver::new(&live));
        let attach = attach_by_hand(&observer);
        let silent = live.subscribe(attach.clone(), "t".into(), Subscribe::default()).await.unwrap();
        let text = AgentEvent::TextChunk { text: "x".repeat(2048).into() };
        let (mut most, before) = (0, Instant::now());
        for place in 0..EVENTS {
            observer.on_event("t", &text);
            if place.is_multiple_of(1024) {
                most = most.max(live.stats().bytes);
            }
        }
        let each = before.elapsed() / u32::try_from(EVENTS).unwrap();
        let bound = LiveOptions::default().ring_bytes as u64 + 16 * 1024;
        let measured = format!("{} KiB at most ({each:?} per event)", most / 1024);
        table.row(
            "a subscriber that never reads, a million events of 2 KB: bytes held",
            measured,
            "≤ 528 KiB",
            most <= bound,
        );
        drop(silent);
    });
}
