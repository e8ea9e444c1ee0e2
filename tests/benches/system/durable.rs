//! What durability costs: steps on SQLite with `synchronous=FULL`, against bare commits of the same file.

mod alone;
mod bare;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use selvedge::durable::{DurableObserver, Sessions};
use selvedge::event::Message;
use selvedge::live::Live;
use selvedge::observer::ObserverFactory;
use selvedge::prelude::*;

use crate::measure::{Spent, Stopwatch, Table};
use crate::memory::{Count, long_thread};
use crate::wiring::{call, chunks, limits, made, rest, runtime, work};

/// A folder for a measurement's databases, removed at its end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("selvedge-bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} is left behind: {error}", self.0.display());
        }
    }
}

/// Tool steps of `threads` threads: what they took, and how many commits waited for the disk.
async fn tool_steps(store: &SqliteStore, threads: usize, steps: u64) -> (Spent, u64) {
    let count = Arc::new(AtomicU64::new(0));
    let wanted = steps * threads as u64;
    let asked = Arc::new(AtomicU64::new(0));
    let model = made(move |_| if asked.fetch_add(1, Ordering::Relaxed) < wanted { call() } else { chunks(1) });
    let system = System::builder()
        .store(store.clone())
        .model(model)
        .tool(work(count.clone()))
        .limits(limits())
        .start()
        .await
        .unwrap();
    let mut lifecycle = system.lifecycle();
    let before = store.stats().synced;
    let watch = Stopwatch::start();
    for thread in 0..threads {
        system.send_text(&format!("t{thread}").into(), "go").await.unwrap();
    }
    while count.load(Ordering::Relaxed) < wanted {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let spent = watch.stop();
    let synced = store.stats().synced - before;
    rest(&mut lifecycle, threads).await;
    system.shutdown().await;
    (spent, synced)
}

pub(crate) fn one_thread(table: &mut Table) {
    const STEPS: u64 = 1_500;
    let folder = Folder::new("one");
    runtime().block_on(async {
        let bare = bare::commits_per_second(&folder.0.join("bare.db"), 2 * STEPS).await;
        let store = SqliteStore::open(folder.0.join("steps.db")).await.unwrap();
        let alone = STEPS as f64 / alone::tool_steps(&store, 1, STEPS).await.wall.as_secs_f64();
        let (spent, synced) = tool_steps(&store, 1, STEPS).await;
        store.close().await;
        let commits = synced as f64 / STEPS as f64;
        let what = "durable tool step, 1 thread: commits from input to dispatch";
        table.row(what, format!("{commits:.2}"), "≤ 2", commits < 2.01);
        let rate = STEPS as f64 / spent.wall.as_secs_f64();
        let ratio = rate / (bare / 2.0);
        let store_ratio = alone / (bare / 2.0);
        let measured = format!(
            "{ratio:.2} ({rate:.0} steps/s, {bare:.0} bare commits/s; the store without a runtime: {store_ratio:.2})"
        );
        table.row("durable tool step, 1 thread: of what its commits alone allow", measured, "≥ 0.8", ratio >= 0.8);
    });
}

pub(crate) fn hundred_threads(table: &mut Table) {
    const STEPS: u64 = 150;
    let folder = Folder::new("hundred");
    runtime().block_on(async {
        let bare_watch = Stopwatch::start();
        let bare = bare::grouped_steps_per_second(&folder.0.join("bare.db"), 100, STEPS).await;
        let bare_spent = bare_watch.stop();
        let store = SqliteStore::open(folder.0.join("steps.db")).await.unwrap();
        let steps = (100 * STEPS) as f64;
        let per_step = |spent: &Spent| spent.cpu.as_secs_f64() * 1e6 / steps;
        let alone = per_step(&alone::tool_steps(&store, 100, STEPS).await);
        let (spent, _) = tool_steps(&store, 100, STEPS).await;
        store.close().await;
        let rate = steps / spent.wall.as_secs_f64();
        let ratio = rate / bare;
        let measured = format!("{ratio:.2} ({rate:.0} over {bare:.0} steps/s)");
        table.row(
            "durable tool steps, 100 threads: of a bare group-committing writer",
            measured,
            "≥ 0.5",
            ratio >= 0.5,
        );
        let (cpu, bare) = (per_step(&spent), per_step(&bare_spent));
        let measured = format!("{cpu:.0} µs (the bare writer: {bare:.0}; the store without a runtime: {alone:.0})");
        table.row("durable tool steps, 100 threads: CPU per step", measured, "≤ 100 µs", cpu <= 100.0);
    });
}

pub(crate) fn cold_thread_fsyncs_and_bytes(table: &mut Table) {
    const TURNS: u64 = 1_000;
    let folder = Folder::new("cold");
    let path = folder.0.join("cold.db");
    runtime().block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        let answered = EventCollector::new();
        let observer = answered.clone();
        let synced = whole_turns(&store, TURNS, &answered, move || observer.clone()).await;
        let per_turn = synced as f64 / TURNS as f64;
        table.row("fsyncs of a whole turn with one call", format!("{per_turn:.2}"), "≤ 4", per_turn <= 4.01);

        let text = transcript_bytes(&store).await;
        store.close().await;
        let bytes = std::fs::metadata(&path).unwrap().len();
        let ratio = bytes as f64 / text as f64;
        let measured = format!("{ratio:.2} × ({bytes} over {text} bytes)");
        table.row("stored bytes over the transcript's", measured, "≤ 2 ×", ratio <= 2.0);

        let mut times: Vec<Duration> = Vec::new();
        for time in 0..7 {
            times.push(cold_start(&path, time).await);
        }
        times.sort();
        let millis = times[times.len() / 2].as_secs_f64() * 1e3;
        let measured = format!("{millis:.1} ms (median of 7)");
        table.row("a thread of 1,000 turns, cold, to its first model request", measured, "≤ 20 ms", millis <= 20.0);
    });
}

/// As above, with everything that the durable observer keeps beside it.
pub(crate) fn observed_turns(table: &mut Table) {
    const TURNS: u64 = 300;
    let folder = Folder::new("observed");
    runtime().block_on(async {
        let store = SqliteStore::open(folder.0.join("threads.db")).await.unwrap();
        let sessions = Sessions::open(folder.0.join("sessions.db")).await.unwrap();
        let (answered, live) = (EventCollector::new(), Live::default());
        let observer = {
            let (answered, sessions, store) = (answered.clone(), sessions.clone(), store.clone());
            move || {
                let durable = DurableObserver::new(sessions.clone(), Arc::new(store.clone()), &live);
                Tee::new(answered.clone(), durable)
            }
        };
        let before = sessions.commits();
        let synced = whole_turns(&store, TURNS, &answered, observer).await + sessions.commits() - before;
        let per_turn = synced as f64 / TURNS as f64;
        let what = "fsyncs of a whole turn with one call, with the durable observer";
        table.row(what, format!("{per_turn:.2}"), "≤ 6", per_turn <= 6.01);
        assert_eq!(sessions.verify(&store).await.unwrap(), []);
        sessions.close().await;
        store.close().await;
    });
}

/// Attaching to a cold thread of 100,000 messages, against one that has little more than the page.
pub(crate) fn attaching_to_a_page(table: &mut Table) {
    let folder = Folder::new("page");
    let path = folder.0.join("page.db");
    runtime().block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        for (thread, messages) in [("short", 2_000), ("long", 100_000)] {
            long_thread(&store, thread, messages, 100).await;
        }
        let mut medians = Vec::new();
        for thread in ["short", "long"] {
            let mut times = Vec::new();
            for _ in 0..15 {
                times.push(cold_attach(&store, thread).await);
            }
            times.sort();
            medians.push(times[times.len() / 2].as_secs_f64() * 1e3);
        }
        store.close().await;
        let ratio = medians[1] / medians[0];
        let measured = format!("{ratio:.2} × ({:.1} over {:.1} ms)", medians[1], medians[0]);
        table.row("attaching cold to the last page of 100,000 messages over 2,000", measured, "≤ 1.5 ×", ratio <= 1.5);
    });
}

/// From a system without drivers to the snapshot of a thread.
async fn cold_attach(store: &SqliteStore, thread: &str) -> Duration {
    let model = made(|_| chunks(1));
    let system = System::builder().store(store.clone()).model(model).observer(Count::default).start().await.unwrap();
    let (sender, snapshot) = std::sync::mpsc::sync_channel(1);
    let before = Instant::now();
    assert!(system.subscribe(&thread.into(), sender).await.unwrap());
    std::hint::black_box(snapshot.recv().unwrap());
    let spent = before.elapsed();
    system.shutdown().await;
    spent
}

/// Turns of input, call, result and answer; how many commits waited for the disk.
async fn whole_turns(
    store: &SqliteStore,
    turns: u64,
    answered: &EventCollector,
    observer: impl ObserverFactory,
) -> u64 {
    let asked = AtomicU64::new(0);
    let model =
        made(move |_| if asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { call() } else { chunks(40) });
    let system = System::builder()
        .store(store.clone())
        .model(model)
        .tool(work(Arc::default()))
        .observer(observer)
        .start()
        .await
        .unwrap();
    let before = store.stats().synced;
    for turn in 0..turns {
        let text = format!("question {turn}, which is as long as people's questions tend to be when they ask for work");
        system.send_text(&"t".into(), text).await.unwrap();
        let is_answer =
            |event: &AgentEvent| matches!(event, AgentEvent::CompletionFinished { outcome: Outcome::Stopped, .. });
        while !answered.take().iter().any(|seen| is_answer(&seen.event)) {
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        // The answer is shown before it is synced.
        while store.head(&"t".into()).await.unwrap().step < 2 * (turn + 1) {
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
    }
    let synced = store.stats().synced - before;
    system.shutdown().await;
    synced
}

/// What the transcript itself is made of: the text of its messages, the calls' arguments and results, and their ids.
async fn transcript_bytes(store: &SqliteStore) -> u64 {
    let page = store.history(&"t".into(), None, u64::MAX).await.unwrap();
    let messages = page.turns.iter().flat_map(|turn| &turn.messages);
    messages.map(|message: &Message| serde_json::to_string(message).unwrap().len() as u64).sum()
}

/// From opening the store to the first request that the model gets.
async fn cold_start(path: &std::path::Path, time: u32) -> Duration {
    let (sender, asked) = std::sync::mpsc::sync_channel(1);
    let model = made(move |request| {
        std::hint::black_box(request.context.iter().count());
        sender.try_send(Instant::now()).unwrap();
        chunks(1)
    });
    let before = Instant::now();
    let store = SqliteStore::open(path).await.unwrap();
    let system = System::builder().store(store.clone()).model(model).start().await.unwrap();
    system.send(&"t".into(), format!("cold {time}").into(), Input::text("and now?")).await.unwrap();
    let reached = asked.recv_timeout(Duration::from_secs(10)).unwrap();
    system.shutdown().await;
    store.close().await;
    reached.duration_since(before)
}
