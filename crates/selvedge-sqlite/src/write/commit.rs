//! One transaction: begin and read, decide, write and commit. Two trips to the connection's thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use selvedge_event::InputId;
use selvedge_store::{StoreError, StoreErrorKind};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use super::batch::{Batch, Blob};
use super::delete;
use super::op::{Answer, Op};
use super::repair;
use super::statements::{BEGIN, Effects, Texts};
use super::thread::{ReadThread, Thread};
use super::writer::Counters;
use crate::Synchronous;
use crate::blob::PIECE;
use crate::connection::{Value, arguments, run, run_once};
use crate::error::Failure;
use crate::owners::Owners;

/// Commits batches on the one connection that writes.
#[derive(Debug)]
pub(super) struct Committer {
    connect: SqliteConnectOptions,
    /// `None` after a failure, which leaves the state of a connection unknown: the next batch opens another.
    connection: Option<SqliteConnection>,
    /// What the store was opened with.
    asked: Synchronous,
    /// What the connection is set to; `None` if that is not known.
    set: Option<Synchronous>,
    owners: Owners,
    texts: Texts,
    counters: Arc<Counters>,
}

/// What became of each operation of a batch that was committed.
pub(super) type Answers = Vec<Result<Answer, StoreError>>;

impl Committer {
    pub(super) fn new(
        connection: SqliteConnection,
        connect: SqliteConnectOptions,
        asked: Synchronous,
        owners: Owners,
        counters: Arc<Counters>,
    ) -> Self {
        Self { connect, connection: Some(connection), asked, set: None, owners, texts: Texts::default(), counters }
    }

    /// Commits operations together. After an error, none of them has happened, unless the error is one of those that
    /// say that it is not known.
    pub(super) async fn commit(&mut self, ops: &[&Op]) -> Result<Answers, Failure> {
        let result = self.try_commit(ops).await.map_err(|error| Failure::new("writing the database", error));
        if let Err(failure) = &result
            && failure.kind() != StoreErrorKind::Busy
        {
            self.close().await;
        }
        result
    }

    /// Closes the connection, which rolls back what it has begun.
    pub(super) async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            // The connection is gone either way, and what was committed stands in the file.
            drop(connection.close().await);
        }
    }

    async fn try_commit(&mut self, ops: &[&Op]) -> Result<Answers, sqlx::Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                self.set = None;
                self.connect.connect().await?
            }
        };
        let result = self.commit_on(&mut connection, ops).await;
        self.connection = Some(connection);
        result
    }

    async fn commit_on(&mut self, connection: &mut SqliteConnection, ops: &[&Op]) -> Result<Answers, sqlx::Error> {
        self.set_synchronous(connection, ops).await?;
        if let [op] = ops
            && op.is_alone()
        {
            let answer = self.commit_alone(connection, op).await?;
            self.count(ops);
            return Ok(vec![answer.map(|()| Answer::Done)]);
        }

        let mut batch = begin(connection, &self.owners, ops).await?;
        let answers = ops.iter().map(|op| batch.apply(op)).collect();
        let (effects, blobs) = batch.finish();
        for blob in blobs {
            put_blob(connection, blob).await?;
        }
        end(connection, &mut self.texts, effects).await?;
        self.count(ops);
        Ok(answers)
    }

    /// An operation that touches what no batch does.
    async fn commit_alone(
        &self,
        connection: &mut SqliteConnection,
        op: &Op,
    ) -> Result<Result<(), StoreError>, sqlx::Error> {
        match op {
            Op::Delete { thread } => delete::delete(connection, &self.owners, thread).await,
            Op::Repair { thread, epoch, remedy } => repair::repair(connection, thread, *epoch, remedy).await,
            other => unreachable!("bug: {other:?} is part of a batch"),
        }
    }

    /// Sets whether the next commit waits for the disk: not if it holds only what may be lost.
    async fn set_synchronous(&mut self, connection: &mut SqliteConnection, ops: &[&Op]) -> Result<(), sqlx::Error> {
        let wanted = if ops.iter().all(|op| op.may_be_lost()) { Synchronous::Normal } else { self.asked };
        if self.set == Some(wanted) {
            return Ok(());
        }
        // This pragma acts when it is compiled, so it must not be one of the statements that are kept compiled.
        let sql = match wanted {
            Synchronous::Full => "PRAGMA synchronous = FULL",
            Synchronous::Normal => "PRAGMA synchronous = NORMAL",
        };
        self.set = None;
        run_once(connection, sql).await?;
        self.set = Some(wanted);
        Ok(())
    }

    fn count(&self, ops: &[&Op]) {
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.counters.operations.fetch_add(ops.len() as u64, Ordering::Relaxed);
        if self.set == Some(Synchronous::Full) {
            self.counters.synced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Begins the transaction and reads what the batch is decided on.
async fn begin<'a>(
    connection: &mut SqliteConnection,
    owners: &'a Owners,
    ops: &[&'a Op],
) -> Result<Batch<'a>, sqlx::Error> {
    let inputs: Vec<(&str, &InputId)> = ops.iter().copied().flat_map(inputs_of).collect();
    let names: Vec<&str> = ops.iter().copied().flat_map(threads_of).collect();
    let not_json = |error: serde_json::Error| sqlx::Error::Encode(error.into());
    let names = serde_json::to_string(&names).map_err(not_json)?;
    let asked = serde_json::to_string(&inputs).map_err(not_json)?;
    let results = run(connection, BEGIN, arguments([Value::Text(&names), Value::Text(&asked)])?).await?;
    let row = results.iter().flatten().next().ok_or(sqlx::Error::RowNotFound)?;

    let unreadable = |error: serde_json::Error| sqlx::Error::Decode(error.into());
    let threads: Vec<ReadThread> = serde_json::from_slice(row.try_get(0)?).map_err(unreadable)?;
    let known: Vec<usize> = serde_json::from_slice(row.try_get(1)?).map_err(unreadable)?;
    let last_thread = row.try_get::<Option<i64>, _>(2)?.unwrap_or(0);
    let mut batch = Batch::new(owners, last_thread, threads.into_iter().map(Thread::read).collect());
    for (thread, input) in known.into_iter().filter_map(|place| inputs.get(place)) {
        batch.know(thread, input);
    }
    Ok(batch)
}

/// Writes what the batch changes, and commits.
async fn end(connection: &mut SqliteConnection, texts: &mut Texts, effects: Effects) -> Result<(), sqlx::Error> {
    let (text, arguments) = texts.commit(&effects).map_err(sqlx::Error::Encode)?;
    run(connection, AssertSqlSafe(text), arguments).await.map(drop)
}

async fn put_blob(connection: &mut SqliteConnection, blob: Blob<'_>) -> Result<(), sqlx::Error> {
    // A blob without bytes has one empty piece.
    let pieces = blob.bytes.chunks(PIECE).chain(blob.bytes.is_empty().then_some(blob.bytes));
    for (number, bytes) in pieces.enumerate() {
        let sql = "INSERT INTO blobs (thread, blob_id, piece, bytes) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING \
                   RETURNING piece";
        let piece = Value::Integer(number as i64);
        let values = [Value::Integer(blob.thread), Value::Text(blob.id), piece, Value::Bytes(bytes)];
        let results = run(connection, sql, arguments(values)?).await?;
        if results.iter().all(Vec::is_empty) {
            // There is a blob of this name, and it stays as it is.
            return Ok(());
        }
    }
    Ok(())
}

/// The threads that deciding an operation looks at.
fn threads_of(op: &Op) -> Vec<&str> {
    match op {
        Op::Accept(accept) => vec![accept.thread.as_str()],
        Op::Sync(sync) => {
            let spawned = sync.spawned.iter().map(|child| &child.thread);
            std::iter::once(&sync.thread).chain(spawned).map(|thread| thread.as_str()).collect()
        }
        Op::Fork { parent, thread, .. } => vec![parent.as_str(), thread.as_str()],
        Op::Claim { thread, .. }
        | Op::Release { thread, .. }
        | Op::Mark { thread, .. }
        | Op::PutBlob { thread, .. }
        | Op::Delete { thread }
        | Op::Repair { thread, .. } => vec![thread.as_str()],
    }
}

/// The inputs that may be redeliveries, each with its thread. Those of a new thread cannot be.
fn inputs_of(op: &Op) -> impl Iterator<Item = (&str, &InputId)> {
    let accept = match op {
        Op::Accept(accept) => Some(accept),
        _ => None,
    };
    accept.into_iter().flat_map(|accept| accept.inputs.rows.iter().map(|(id, _)| (accept.thread.as_str(), id)))
}
