//! The writer: an OS thread that commits all that is queued in one transaction, again and again.
//!
//! It runs apart from its callers' runtimes, so that none of them can stall it or take it down. While one transaction
//! waits for the disk, the next batch gathers in the queue: a hundred threads that commit at once share an fsync.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{mpsc, oneshot};

use crate::database::run_once;
use crate::op::{Answer, Op};
use crate::options::{Now, SessionsOptions};
use crate::{Prices, SessionsError, apply, schema};

/// How many operations are committed together at most: enough that the cost of a commit is shared away.
const BATCH: usize = 256;

/// The way to the writer, which ends when the last of these is dropped, after what is queued.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
}

#[derive(Debug)]
enum Message {
    Write(Op, oneshot::Sender<Result<Answer, SessionsError>>),
    Close(oneshot::Sender<()>),
}

impl Writer {
    /// Starts the writer, which opens and migrates the database first.
    pub(crate) async fn start(
        connect: SqliteConnectOptions,
        options: &SessionsOptions,
        commits: Arc<AtomicU64>,
    ) -> Result<Self, SessionsError> {
        let (queue, receiver) = mpsc::channel(options.queue);
        let (opened, when_opened) = oneshot::channel();
        let options = options.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|_error| SessionsError::Closed)?;
        let life = async move {
            match schema::open(&connect, options.create, options.busy).await {
                Ok(connection) => {
                    // If nobody waits for the database to be open, the queue is closed too, and the writer ends at once.
                    drop(opened.send(Ok(())));
                    let SessionsOptions { prices, clock, .. } = options;
                    let connection = Some(connection);
                    Committer { connect, connection, prices, clock, commits }.serve(receiver).await;
                }
                Err(error) => drop(opened.send(Err(error))),
            }
        };
        let thread = thread::Builder::new().name("selvedge-sessions".into());
        thread.spawn(move || runtime.block_on(life)).map_err(|_error| SessionsError::Closed)?;
        when_opened.await.map_err(|_ended| SessionsError::Closed)??;
        Ok(Self { queue })
    }

    /// Has an operation done, and waits until it is durable.
    ///
    /// # Cancel safety
    /// Dropping the future before the operation is queued does nothing; after that, it is done nevertheless.
    pub(crate) async fn write(&self, op: Op) -> Result<Answer, SessionsError> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Message::Write(op, reply)).await.map_err(|_closed| SessionsError::Closed)?;
        answer.await.map_err(|_ended| SessionsError::Closed)?
    }

    /// Lets the writer do what is queued, close the database and end; returns when it has. Later writes are refused.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the writer as it is, or let it end unobserved.
    pub(crate) async fn close(&self) {
        let (done, when_done) = oneshot::channel();
        if self.queue.send(Message::Close(done)).await.is_ok() {
            // An error means that the writer has ended, which is what this waits for.
            drop(when_done.await);
        }
    }
}

/// Commits batches on the one connection that writes.
struct Committer {
    connect: SqliteConnectOptions,
    /// `None` after a failure, which leaves the state of a connection unknown: the next batch opens another.
    connection: Option<SqliteConnection>,
    prices: Prices,
    clock: Now,
    commits: Arc<AtomicU64>,
}

impl Committer {
    async fn serve(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut closing = Vec::new();
        let mut messages = Vec::new();
        while queue.recv_many(&mut messages, BATCH).await > 0 {
            let (mut ops, mut replies) = (Vec::new(), Vec::new());
            for message in messages.drain(..) {
                match message {
                    Message::Write(op, reply) => {
                        ops.push(op);
                        replies.push(reply);
                    }
                    Message::Close(done) => {
                        queue.close();
                        closing.push(done);
                    }
                }
            }
            let answers = self.commit_each(&ops).await;
            for (reply, answer) in replies.into_iter().zip(answers) {
                // Whoever has dropped the future does not know, and does not ask, whether the operation has happened.
                drop(reply.send(answer));
            }
        }
        if let Some(connection) = self.connection.take() {
            // What was committed stands in the file.
            drop(connection.close().await);
        }
        for done in closing {
            // Whoever has stopped waiting need not be told.
            done.send(()).ok();
        }
    }

    /// Commits operations together; where that fails, each alone, so that one at fault harms no other.
    async fn commit_each(&mut self, ops: &[Op]) -> Vec<Result<Answer, SessionsError>> {
        match self.commit(ops).await {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(error @ SessionsError::Database { .. }) if ops.len() > 1 => {
                tracing::warn!(%error, operations = ops.len(), "a batch failed; its operations are committed one by one");
                let mut answers = Vec::with_capacity(ops.len());
                for op in ops {
                    let answer = self.commit(std::slice::from_ref(op)).await;
                    answers.push(answer.map(|answers| answers.first().copied().unwrap_or(Answer::Done)));
                }
                answers
            }
            Err(error) => ops.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn commit(&mut self, ops: &[Op]) -> Result<Vec<Answer>, SessionsError> {
        if ops.is_empty() {
            return Ok(Vec::new());
        }
        let result = self.try_commit(ops).await.map_err(|error| SessionsError::database("keeping sessions", error));
        match &result {
            Ok(_) => drop(self.commits.fetch_add(1, Ordering::Relaxed)),
            // The connection rolls back what it has begun.
            Err(_) => drop(self.connection.take()),
        }
        result
    }

    async fn try_commit(&mut self, ops: &[Op]) -> Result<Vec<Answer>, sqlx::Error> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.connect.connect().await?),
        };
        run_once(connection, "BEGIN IMMEDIATE").await?;
        let mut answers = Vec::with_capacity(ops.len());
        for op in ops {
            answers.push(apply::apply(connection, op, &self.prices, (self.clock)()).await?);
        }
        run_once(connection, "COMMIT").await?;
        Ok(answers)
    }
}
