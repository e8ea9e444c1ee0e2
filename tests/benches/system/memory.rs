//! What the runtime itself costs: everything in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use selvedge::event::{AssistantMessage, Block, Message, ModelRef, Text, TurnRecord, Usage, UserMessage};
use selvedge::model::{Context, ModelEvent, RequestMessage};
use selvedge::prelude::*;
use selvedge::store::{AcceptRequest, Changes, Create, NewInput, SyncRequest, SyncToken};

use crate::measure::{Stopwatch, Table};
use crate::wiring::{chunks, limits, made, runtime};

/// Counts events, so that the work cannot be left out, and hands out snapshots.
#[derive(Clone, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl ThreadObserver for Count {
    type SubscribeRequest = std::sync::mpsc::SyncSender<ReplaySnapshot>;

    fn on_event(&self, _: &str, event: &AgentEvent) {
        if !matches!(event, AgentEvent::Info { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn on_subscribe(&self, _: &str, request: Self::SubscribeRequest, snapshot: ReplaySnapshot) {
        request.try_send(snapshot).unwrap();
    }
}

pub(crate) fn events_per_second(table: &mut Table) {
    const EVENTS: usize = 3_000_000;
    let pushed = {
        // The baseline: the same chunks through a bounded channel, one by one.
        let (sender, receiver) = std::sync::mpsc::sync_channel(1024);
        let watch = Stopwatch::start();
        let producer = std::thread::spawn(move || chunks(EVENTS).for_each(|event| sender.send(event).unwrap()));
        let received = receiver.iter().filter(|event| matches!(event, ModelEvent::Text(_))).count();
        producer.join().unwrap();
        received as f64 / watch.stop().wall.as_secs_f64()
    };
    let runtime = runtime();
    let count = Count::default();
    let observer = count.clone();
    let rate = runtime.block_on(async {
        let system = System::builder()
            .store(MemoryStore::default())
            .model(made(|_| chunks(EVENTS)))
            .observer(move || observer.clone())
            .start()
            .await
            .unwrap();
        let before = Instant::now();
        system.send_text(&"t".into(), "go").await.unwrap();
        while count.0.load(Ordering::Relaxed) < EVENTS {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        let rate = EVENTS as f64 / before.elapsed().as_secs_f64();
        system.shutdown().await;
        rate
    });
    let measured = format!("{:.1} million/s (a bounded channel alone: {:.1})", rate / 1e6, pushed / 1e6);
    table.row("events through a no-op observer, model to observer", measured, "≥ 10 million/s", rate >= 1e7);
}

pub(crate) fn plain_step(table: &mut Table) {
    const STEPS: u32 = 100_000;
    let cpu = steps_on_resident_threads(STEPS, 20);
    let pushed = {
        let watch = Stopwatch::start();
        for _ in 0..STEPS {
            drop(std::hint::black_box(chunks(20).collect::<Vec<_>>()));
        }
        watch.stop().cpu / STEPS
    };
    let measured = format!("{:.1} µs of CPU (collecting its chunks in a vector: {:.2})", micros(cpu), micros(pushed));
    table.row("a plain step in memory, 20 chunks", measured, "≤ 10 µs", micros(cpu) <= 10.0);
}

/// Threads that take turns, so that no history grows long.
const THREADS: u32 = 200;

/// Processor time per step, where each step is one user text answered in chunks.
fn steps_on_resident_threads(steps: u32, chunk_count: usize) -> Duration {
    let local = tokio::task::LocalSet::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    local.block_on(&runtime, async {
        let count = Count::default();
        let observer = count.clone();
        let system = System::builder()
            .store(MemoryStore::default())
            .model(made(move |_| chunks(chunk_count)))
            .observer(move || observer.clone())
            .start_local()
            .await
            .unwrap();
        let per_step = chunk_count + 3;
        // Resident threads in turn; each has long finished its step when its turn comes again.
        let expected = |step: u32| step.saturating_sub(THREADS / 2) as usize * per_step;
        let mut watch = Stopwatch::start();
        for step in 0..steps + THREADS {
            if step == THREADS {
                watch = Stopwatch::start();
            }
            let thread = ThreadId::from(format!("t{}", step % THREADS));
            system.send(&thread, format!("{step}").into(), Input::queued("go")).await.unwrap();
            while count.0.load(Ordering::Relaxed) < expected(step) {
                tokio::task::yield_now().await;
            }
        }
        watch.stop().cpu / steps
    })
}

/// A history of as many messages, half of them the model's, so many in a turn.
pub(crate) async fn long_thread(store: &dyn ConversationStore, thread: &str, messages: u64, per_turn: u64) {
    let thread = ThreadId::from(thread);
    let model = ModelRef { api: "bench".into(), provider: "bench".into(), model: "bench".into() };
    let input =
        |n: u64| NewInput { id: format!("{n}").into(), input: Input::text("x"), at: selvedge::event::Timestamp(0) };
    let request = AcceptRequest { thread: thread.clone(), inputs: vec![input(0)], create: Create::Unclaimed };
    store.accept(request).await.unwrap();
    let owner = store.register("bench").await.unwrap();
    let epoch = store.claim(&thread, &owner).await.unwrap();
    for step in 1..=messages / per_turn {
        let pair = |place: u64| {
            let user = UserMessage {
                input_id: format!("m{step}.{place}").into(),
                text: "a question of forty bytes or so, roughly".into(),
            };
            let answer = AssistantMessage {
                attempt: 1,
                model: model.clone().into(),
                blocks: vec![Block::Text { text: "an answer of a hundred bytes ".repeat(4).into(), native: None }],
                outcome: Outcome::Stopped,
                usage: Usage::default(),
            };
            [Message::User(user.into()), Message::Assistant(answer.into())]
        };
        let messages = (0..per_turn / 2).flat_map(pair).collect();
        let turn = TurnRecord { step, at: selvedge::event::Timestamp(0), messages };
        let consumed = if step == 1 { vec![1] } else { Vec::new() };
        let changes = Changes { consumed, ..Changes::default() };
        let request =
            SyncRequest { thread: thread.clone(), epoch, turn, token: SyncToken(step), committed: step - 1, changes };
        store.sync(request).await.unwrap();
    }
    store.release(&thread, epoch).await.unwrap();
}

pub(crate) fn step_at_length(table: &mut Table) {
    let [short, long] = [10, 10_000].map(|length| {
        best_of(5, || {
            on_long_thread(length, |system, thread, count| async move {
                const STEPS: u32 = 400;
                let watch = Instant::now();
                for step in 0..STEPS {
                    let before = count.load(Ordering::Relaxed);
                    system.send(&thread, format!("s{step}").into(), Input::queued("go")).await.unwrap();
                    while count.load(Ordering::Relaxed) < before + 23 {
                        tokio::task::yield_now().await;
                    }
                }
                watch.elapsed() / STEPS
            })
        })
    });
    let ratio = short_to_long(short, long);
    let measured = format!("{ratio:.2} × ({:.1} over {:.1} µs)", micros(long), micros(short));
    table.row("a step at 10,000 messages over one at 10", measured, "≤ 1.2 ×", ratio <= 1.2);
}

pub(crate) fn attach_at_length(table: &mut Table) {
    let [short, long] = [10, 10_000].map(|length| {
        best_of(5, || {
            on_long_thread(length, |system, thread, _| async move {
                const TIMES: u32 = 2_000;
                let watch = Instant::now();
                for _ in 0..TIMES {
                    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
                    assert!(system.subscribe(&thread, sender).await.unwrap());
                    std::hint::black_box(receiver.recv().unwrap());
                }
                watch.elapsed() / TIMES
            })
        })
    });
    let ratio = short_to_long(short, long);
    let measured = format!("{ratio:.2} × ({:.1} over {:.1} µs)", micros(long), micros(short));
    table.row("attaching at 10,000 messages over 10", measured, "≤ 1.5 ×", ratio <= 1.5);
}

/// Puts a request together from the kept bytes of 10,000 messages, against the copying of as many bytes at once.
pub(crate) fn assembling(table: &mut Table) {
    let (format, user) =
        (Text::from("bench"), RequestMessage::User("a message of two hundred bytes ".repeat(7).into()));
    let context: Context = std::iter::repeat_n(user, 10_000).collect();
    let assemble = || context.encoded(&format, |message| format!("{message:?}").into_bytes()).concat();
    let whole = assemble();
    let timed = |run: &dyn Fn() -> Vec<u8>| {
        best_of(20, || {
            let watch = Instant::now();
            std::hint::black_box(run());
            watch.elapsed()
        })
    };
    let (assembled, copied) = (timed(&assemble), timed(&|| whole.clone()));
    let each = (micros(assembled) - micros(copied)) / 10_000.0 * 1e3;
    let measured = format!(
        "{:.0} µs ({:.0} to copy the {} KB at once; {each:.0} ns a message)",
        micros(assembled),
        micros(copied),
        whole.len() / 1000
    );
    table.row("a request put together from 10,000 kept messages", measured, "its copying", each <= 20.0);
}

type Observed = <Count as ThreadObserver>::SubscribeRequest;

/// Runs something on a resident thread with a history.
fn on_long_thread<T, Fut: Future<Output = T>>(
    messages: u64,
    run: impl Fn(RunningSystem<Observed>, ThreadId, Arc<AtomicUsize>) -> Fut,
) -> T {
    let local = tokio::task::LocalSet::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    local.block_on(&runtime, async {
        let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::default());
        long_thread(&*store, "t", messages, 2).await;
        let count = Count::default();
        let observer = count.clone();
        let mut limits = limits();
        limits.idle = Duration::from_secs(600);
        let system = System::builder()
            .shared_store(store)
            // What is old is not touched: the copying of its bytes has a row of its own.
            .model(made(|request| {
                std::hint::black_box(request.context.last());
                chunks(20)
            }))
            .observer(move || observer.clone())
            .limits(limits)
            .start_local()
            .await
            .unwrap();
        // Load it, and encode what is old, before the clock starts.
        let thread = ThreadId::from("t");
        system.send(&thread, "first".into(), Input::queued("go")).await.unwrap();
        while count.0.load(Ordering::Relaxed) < 23 {
            tokio::task::yield_now().await;
        }
        run(system, thread, count.0.clone()).await
    })
}

fn best_of(times: usize, run: impl Fn() -> Duration) -> Duration {
    (0..times).map(|_| run()).min().unwrap_or_default()
}

fn short_to_long(short: Duration, long: Duration) -> f64 {
    long.as_secs_f64() / short.as_secs_f64()
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
