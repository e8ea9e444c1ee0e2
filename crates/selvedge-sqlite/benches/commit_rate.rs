//! How many durable tool steps a second, and at what cost, against bare inserts of the same rows in the same run.
//!
//! A tool step is one accept (the result of a call) and one sync (the result's message, the model's next answer with a
//! call, the input consumed, one call settled and one planned). Run with `cargo bench -p selvedge-sqlite`; numbers among
//! the arguments say how many threads, all of the cases by default.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use selvedge_event::{
    Arguments, AssistantMessage, Block, CallId, Input, Message, ModelRef, Outcome, Step, ThreadId, Timestamp, ToolCall,
    ToolReply, ToolResult, ToolStatus, TurnRecord, Usage,
};
use selvedge_sqlite::SqliteStore;
use selvedge_store::{
    AcceptRequest, Acceptance, Changes, ConversationStore, Create, Epoch, NewInput, PlannedCall, SyncRequest,
    SyncToken, ToolDelivery,
};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{mpsc, oneshot};

fn main() {
    let wanted: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let folder = std::env::temp_dir().join(format!("selvedge-commit-rate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for (threads, steps) in [(1, 1_000), (10, 500), (100, 200)] {
            if !wanted.is_empty() && !wanted.contains(&threads) {
                continue;
            }
            let raw = raw(&folder.join(format!("raw-{threads}.db")), threads, steps).await;
            raw.print("bare inserts");
            let store = store(&folder.join(format!("store-{threads}.db")), threads, steps).await;
            store.print("SqliteStore");
            println!("{threads:>4} threads: {:.2} of the bare rate", store.rate() / raw.rate());
        }
        cold(&folder.join("cold.db")).await;
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

struct Measured {
    steps: u64,
    commits: u64,
    took: Duration,
    cpu: Duration,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.steps as f64 / self.took.as_secs_f64()
    }

    fn print(&self, what: &str) {
        let cpu = self.cpu.as_secs_f64() * 1e6 / self.steps as f64;
        let per_commit = self.steps as f64 / self.commits as f64;
        println!("{what:>16}: {:>7.0} steps/s, {cpu:>5.0} µs CPU/step, {per_commit:.1} steps/commit", self.rate());
    }
}

/// Steps through the store.
async fn store(path: &Path, threads: u64, steps: u64) -> Measured {
    let store = SqliteStore::open(path).await.unwrap();
    let owner = Arc::new(store.register("bench").await.unwrap());
    let drivers: Vec<_> = (0..threads)
        .map(|number| {
            let (store, owner) = (store.clone(), Arc::clone(&owner));
            async move { Driver::new(store, &owner, number).await }
        })
        .collect();
    let mut ready = Vec::new();
    for driver in drivers {
        ready.push(driver.await);
    }
    let (before, start, cpu) = (store.stats().commits, Instant::now(), cpu());
    let tasks = ready.into_iter().map(|mut driver| async move {
        for _ in 0..steps {
            driver.step().await;
        }
    });
    futures_util::future::join_all(tasks).await;
    let measured = Measured {
        steps: threads * steps,
        commits: store.stats().commits - before,
        took: start.elapsed(),
        cpu: self::cpu() - cpu,
    };
    store.close().await;
    let bytes = std::fs::metadata(path).unwrap().len();
    let transcript = threads * steps * (json(&result(1)).len() + json(&answer(1)).len()) as u64;
    println!("{:>16}: {:.2} × the transcript's bytes", "file", bytes as f64 / transcript as f64);
    measured
}

struct Driver {
    store: SqliteStore,
    thread: ThreadId,
    epoch: Epoch,
    step: Step,
}

impl Driver {
    async fn new(store: SqliteStore, owner: &selvedge_store::Owner, number: u64) -> Self {
        let thread = ThreadId::from(format!("thread-{number}"));
        let inputs = vec![NewInput { id: "first".into(), input: Input::text("hello"), at: Timestamp(0) }];
        let create = Create::ClaimedBy(owner.id().clone());
        let reply = store.accept(AcceptRequest { thread: thread.clone(), inputs, create }).await.unwrap();
        Self { store, thread, epoch: reply.claimed.unwrap(), step: 0 }
    }

    async fn step(&mut self) {
        let (step, next) = (self.step, self.step + 1);
        let reply = ToolReply::text(CallId::of(step, 0), ToolStatus::Ok, TEXT);
        let input =
            NewInput { id: format!("result:call_{step}_0").into(), input: Input::ToolResult(reply), at: Timestamp(1) };
        let request = AcceptRequest { thread: self.thread.clone(), inputs: vec![input], create: Create::No };
        let accepted = self.store.accept(request).await.unwrap();
        let Acceptance::Accepted(seq) = accepted.acceptances[0] else { panic!("accepted twice") };
        let planned = PlannedCall {
            call_id: CallId::of(next, 0),
            tool: "search".into(),
            step: next,
            delivery: ToolDelivery::AtMostOnce,
        };
        let changes = Changes {
            consumed: vec![seq],
            planned: vec![planned],
            settled: vec![CallId::of(step, 0)],
            usage: Usage { input: 10, output: 20, ..Usage::default() },
            ..Changes::default()
        };
        let turn =
            TurnRecord { step: next, at: Timestamp(step.cast_signed()), messages: vec![result(step), answer(next)] };
        let request = SyncRequest {
            thread: self.thread.clone(),
            epoch: self.epoch,
            turn,
            token: SyncToken(next),
            committed: step,
            changes,
        };
        self.store.sync(request).await.unwrap();
        self.step = next;
    }
}

const TEXT: &str = "The quick brown fox jumps over the lazy dog, and then it does so once more, for good measure.";

fn result(step: Step) -> Message {
    Message::ToolResult(Arc::new(ToolResult::text(CallId::of(step, 0), ToolStatus::Ok, TEXT)))
}

fn answer(step: Step) -> Message {
    let call = ToolCall {
        id: CallId::of(step, 0),
        provider_id: Some("call_abcdefghijklmnop".into()),
        name: "search".into(),
        arguments: Arguments::Object(r#"{"query": "foxes and dogs", "limit": 10}"#.into()),
        display_as: None,
        native: None,
    };
    Message::Assistant(Arc::new(AssistantMessage {
        attempt: 1,
        model: ModelRef { api: "openai-chat".into(), provider: "example.com".into(), model: "model-1".into() }.into(),
        blocks: vec![Block::Text { text: TEXT.into(), native: None }, Block::ToolCall(Arc::new(call))],
        outcome: Outcome::ToolCalls,
        usage: Usage { input: 10, output: 20, ..Usage::default() },
    }))
}

fn json(message: &Message) -> String {
    serde_json::to_string(message).unwrap()
}

/// The same steps as bare inserts by one writer that commits all that is queued: two commits and four rows a step.
async fn raw(path: &Path, threads: u64, steps: u64) -> Measured {
    let connect = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging();
    let mut connection = connect.connect().await.unwrap();
    sqlx::raw_sql("CREATE TABLE rows (id INTEGER PRIMARY KEY, thread TEXT, body TEXT)")
        .execute(&mut connection)
        .await
        .unwrap();
    let (queue, receiver) = mpsc::channel::<(Vec<String>, oneshot::Sender<()>)>(1024);
    let (start, cpu) = (Instant::now(), cpu());
    let writer = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(write_raw(connection, receiver))
    });
    let tasks = (0..threads).map(|_| {
        let queue = queue.clone();
        async move {
            for step in 0..steps {
                let input = json(&result(step));
                for rows in [vec![input.clone(), "id".into()], vec![input, json(&answer(step))]] {
                    let (reply, done) = oneshot::channel();
                    queue.send((rows, reply)).await.unwrap();
                    done.await.unwrap();
                }
            }
        }
    });
    futures_util::future::join_all(tasks).await;
    drop(queue);
    let commits = writer.join().unwrap();
    Measured { steps: threads * steps, commits, took: start.elapsed(), cpu: self::cpu() - cpu }
}

async fn write_raw(
    mut connection: SqliteConnection,
    mut queue: mpsc::Receiver<(Vec<String>, oneshot::Sender<()>)>,
) -> u64 {
    let mut commits = 0;
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, 512).await > 0 {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
        for row in batch.iter().flat_map(|(rows, _)| rows) {
            sqlx::query("INSERT INTO rows (thread, body) VALUES (?, ?)")
                .bind("thread")
                .bind(row)
                .execute(&mut *transaction)
                .await
                .unwrap();
        }
        transaction.commit().await.unwrap();
        commits += 1;
        for (_, reply) in batch.drain(..) {
            reply.send(()).unwrap();
        }
    }
    connection.close().await.unwrap();
    commits
}

/// Reading a thread of 1,000 turns, by a store that has just been opened.
async fn cold(path: &Path) {
    let store = SqliteStore::open(path).await.unwrap();
    let owner = store.register("bench").await.unwrap();
    let mut driver = Driver::new(store.clone(), &owner, 0).await;
    for _ in 0..1_000 {
        driver.step().await;
    }
    store.close().await;
    let store = SqliteStore::open(path).await.unwrap();
    let thread = driver.thread.clone();
    for what in ["cold", "warm"] {
        let start = Instant::now();
        store.load(&thread).await.unwrap();
        let loaded = start.elapsed();
        let page = store.history(&thread, None, u64::MAX).await.unwrap();
        let whole = start.elapsed() - loaded;
        assert_eq!(page.turns.len(), 1_000);
        let start = Instant::now();
        store.history(&thread, None, 10_000).await.unwrap();
        println!("{what}, 1,000 turns: load {loaded:?}, history {whole:?}, its last 10 kB {:?}", start.elapsed());
    }
    store.close().await;
}

/// CPU time of this process, to a hundredth of a second. Zero where there is no `/proc`.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
