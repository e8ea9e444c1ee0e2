//! The baselines: SQLite with nothing around it, in the same mode and on the same disk.

use std::path::Path;
use std::time::Instant;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{mpsc, oneshot};

/// A row of about the bytes that a message or an input of the measured steps has.
const BODY: &str = r#"{"type":"tool_result","call_id":"call_100_0","status":"ok","content":[{"type":"text","text":"a result of some sixty bytes, as a small tool may well give it"}]}"#;

async fn open(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await.unwrap();
    let table = "CREATE TABLE rows (id INTEGER PRIMARY KEY, thread INTEGER, step INTEGER, body TEXT)";
    sqlx::query(table).execute(&mut connection).await.unwrap();
    connection
}

async fn insert(connection: &mut SqliteConnection, thread: i64, step: i64) {
    let insert = sqlx::query("INSERT INTO rows (thread, step, body) VALUES (?, ?, ?)");
    insert.bind(thread).bind(step).bind(BODY).execute(connection).await.unwrap();
}

/// Commits of one row each, one after the other.
pub(crate) async fn commits_per_second(path: &Path, commits: u64) -> f64 {
    let mut connection = open(path).await;
    let before = Instant::now();
    for step in 0..commits {
        insert(&mut connection, 1, i64::try_from(step).unwrap()).await;
    }
    let rate = commits as f64 / before.elapsed().as_secs_f64();
    connection.close().await.unwrap();
    rate
}

/// Rows to insert, and whom to tell.
type Order = (i64, i64, u32, oneshot::Sender<()>);

/// Tool steps of many tasks, as nothing but their rows: two for the accept, five for the sync, through one writer that
/// commits everything queued in one transaction.
pub(crate) async fn grouped_steps_per_second(path: &Path, tasks: usize, steps: u64) -> f64 {
    let mut connection = open(path).await;
    let (sender, mut orders) = mpsc::channel::<Order>(1024);
    let writer = tokio::spawn(async move {
        let mut batch = Vec::new();
        while orders.recv_many(&mut batch, 1024).await > 0 {
            let mut transaction = connection.begin().await.unwrap();
            for (thread, step, rows, _) in &batch {
                for _ in 0..*rows {
                    insert(&mut transaction, *thread, *step).await;
                }
            }
            transaction.commit().await.unwrap();
            batch.drain(..).for_each(|(_, _, _, done)| done.send(()).unwrap());
        }
        connection.close().await.unwrap();
    });
    let before = Instant::now();
    let tasks: Vec<_> = (0..tasks)
        .map(|task| {
            let sender = sender.clone();
            tokio::spawn(async move {
                for step in 0..steps {
                    for rows in [2, 5] {
                        let (done, waits) = oneshot::channel();
                        let (task, step) = (i64::try_from(task).unwrap(), i64::try_from(step).unwrap());
                        sender.send((task, step, rows, done)).await.unwrap();
                        waits.await.unwrap();
                    }
                }
            })
        })
        .collect();
    let count = tasks.len() as u64 * steps;
    for task in tasks {
        task.await.unwrap();
    }
    let rate = count as f64 / before.elapsed().as_secs_f64();
    drop(sender);
    writer.await.unwrap();
    rate
}
