//! The writer: an OS thread that commits all that is queued in one transaction, again and again.
//!
//! It runs apart from its callers' runtimes, so that none of them can stall it or take it down. While one transaction
//! waits for the disk, the next batch gathers in the queue.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use selvedge_event::ThreadId;
use selvedge_store::{StoreError, StoreErrorKind};
use sqlx::sqlite::SqliteConnectOptions;
use tokio::sync::{mpsc, oneshot};

use super::commit::Committer;
use super::op::{Answer, Op};
use crate::owners::Owners;
use crate::{SqliteOptions, schema};

/// What the writer has done since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) commits: AtomicU64,
    pub(crate) synced: AtomicU64,
    pub(crate) operations: AtomicU64,
}

/// The way to the writer, which ends when the last of these is dropped, after what is queued.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
}

#[derive(Debug)]
enum Message {
    Write(Write),
    Close(oneshot::Sender<()>),
}

#[derive(Debug)]
struct Write {
    op: Op,
    reply: oneshot::Sender<Result<Answer, StoreError>>,
}

impl Writer {
    /// Starts the writer, which opens and migrates the database first.
    pub(crate) async fn start(
        connect: SqliteConnectOptions,
        options: &SqliteOptions,
        owners: Owners,
        counters: Arc<Counters>,
    ) -> Result<Self, StoreError> {
        let (queue, receiver) = mpsc::channel(options.queue);
        let (opened, when_opened) = oneshot::channel();
        let options = options.clone();
        let run = move || match tokio::runtime::Builder::new_current_thread().enable_time().build() {
            Ok(runtime) => runtime.block_on(async {
                let committer = open(connect, &options, owners, counters).await;
                run(committer, opened, receiver).await;
            }),
            Err(error) => drop(opened.send(Err(not_started(error)))),
        };
        thread::Builder::new().name("selvedge-writer".into()).spawn(run).map_err(not_started)?;
        when_opened.await.map_err(|_ended| gone())??;
        Ok(Self { queue })
    }

    /// Has an operation done, and waits until it is durable.
    ///
    /// # Cancel safety
    /// Dropping the future before the operation is queued does nothing; after that, it is done nevertheless.
    pub(crate) async fn write(&self, op: Op) -> Result<Answer, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Message::Write(Write { op, reply })).await.map_err(|_closed| gone())?;
        answer.await.map_err(|_ended| gone())?
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

async fn open(
    connect: SqliteConnectOptions,
    options: &SqliteOptions,
    owners: Owners,
    counters: Arc<Counters>,
) -> Result<Committer, StoreError> {
    let connection = schema::open(&connect, options.create, options.busy).await?;
    Ok(Committer::new(connection, connect, options.synchronous, owners, counters))
}

/// The writer's life, once the database is open, or is not.
async fn run(
    committer: Result<Committer, StoreError>,
    opened: oneshot::Sender<Result<(), StoreError>>,
    receiver: mpsc::Receiver<Message>,
) {
    let (result, committer) = match committer {
        Ok(committer) => (Ok(()), Some(committer)),
        Err(error) => (Err(error), None),
    };
    // If nobody waits for the store to be open, the queue is closed too, and the writer ends at once.
    drop(opened.send(result));
    if let Some(committer) = committer {
        Queue::new(receiver).serve(committer).await;
    }
}

/// The receiving end of the queue.
#[derive(Debug)]
struct Queue {
    receiver: mpsc::Receiver<Message>,
    /// Taken from the queue, and not fit for the batch that was being gathered.
    next: Option<Write>,
    closing: Vec<oneshot::Sender<()>>,
}

impl Queue {
    /// How many operations are committed together at most: enough that the cost of a commit is shared away.
    const OPERATIONS: usize = 512;
    /// About how many bytes are committed together, so that no batch holds up the next one for long.
    const BYTES: usize = 8 << 20;

    fn new(receiver: mpsc::Receiver<Message>) -> Self {
        Self { receiver, next: None, closing: Vec::new() }
    }

    async fn serve(mut self, mut committer: Committer) {
        while let Some(batch) = self.batch().await {
            commit(&mut committer, batch).await;
        }
        committer.close().await;
        for done in self.closing {
            // Whoever has stopped waiting need not be told.
            done.send(()).ok();
        }
    }

    /// Waits for an operation and gathers those behind it that can be committed with it. `None` at the end.
    async fn batch(&mut self) -> Option<Vec<Write>> {
        let first = loop {
            match self.next.take().map(Message::Write) {
                Some(Message::Write(write)) => break write,
                _ => match self.receiver.recv().await? {
                    Message::Write(write) => break write,
                    Message::Close(done) => self.close(done),
                },
            }
        };
        let mut gathering = Gathering::default();
        gathering.admits(&first.op);
        let mut batch = vec![first];
        while batch.len() < Self::OPERATIONS && gathering.bytes < Self::BYTES {
            match self.receiver.try_recv() {
                Ok(Message::Write(write)) if gathering.admits(&write.op) => batch.push(write),
                Ok(Message::Write(write)) => {
                    self.next = Some(write);
                    break;
                }
                Ok(Message::Close(done)) => self.close(done),
                Err(_empty_or_ended) => break,
            }
        }
        Some(batch)
    }

    fn close(&mut self, done: oneshot::Sender<()>) {
        self.receiver.close();
        self.closing.push(done);
    }
}

/// What a batch that is being gathered can still take in.
#[derive(Debug, Default)]
struct Gathering {
    bytes: usize,
    /// The threads that the batch syncs: one sync each, for the statements of a batch run table by table, so that two
    /// syncs of one thread would not see each other's calls and choices in order.
    synced: HashSet<ThreadId>,
    /// Some operations are a transaction of their own.
    is_full: bool,
}

impl Gathering {
    /// Whether an operation fits; then it counts.
    fn admits(&mut self, op: &Op) -> bool {
        let fits = match op {
            _ if self.is_full => false,
            Op::Sync(sync) => self.synced.insert(sync.thread.clone()),
            _ if op.is_alone() => {
                self.bytes == 0 && self.synced.is_empty() && !std::mem::replace(&mut self.is_full, true)
            }
            _ => true,
        };
        if fits {
            self.bytes += 1 + op.size();
        }
        fits
    }
}

/// Commits a batch and answers each operation.
async fn commit(committer: &mut Committer, batch: Vec<Write>) {
    let ops: Vec<&Op> = batch.iter().map(|write| &write.op).collect();
    match committer.commit(&ops).await {
        Ok(answers) => {
            for (write, answer) in batch.into_iter().zip(answers) {
                answer_to(write.reply, answer);
            }
        }
        Err(failure) if failure.may_concern_one() && batch.len() > 1 => {
            // Nothing of the batch has happened. Each alone, so that the one at fault harms no other.
            for write in batch {
                let answer = match committer.commit(&[&write.op]).await {
                    Ok(answers) => answers.into_iter().next().unwrap_or_else(|| Err(gone())),
                    Err(failure) => Err(failure.into()),
                };
                answer_to(write.reply, answer);
            }
        }
        Err(failure) => {
            for write in batch {
                answer_to(write.reply, Err(failure.clone().into()));
            }
        }
    }
}

fn answer_to(reply: oneshot::Sender<Result<Answer, StoreError>>, answer: Result<Answer, StoreError>) {
    // Whoever has dropped the future does not know, and does not ask, whether the operation has happened.
    drop(reply.send(answer));
}

fn gone() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "the store is closed")
}

fn not_started(error: io::Error) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "the store's writer cannot be started").with_source(error)
}
