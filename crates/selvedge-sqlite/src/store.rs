//! [`SqliteStore`]: the trait's operations, each handed to the writer or to a reader.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use selvedge_event::{Step, ThreadId, Timestamp};
use selvedge_store::{
    AcceptReply, AcceptRequest, ConversationStore, Epoch, Head, HistoryPage, Owner, StoreError, StoreErrorKind,
    SyncRequest, ThreadRecord, ThreadSummary, ThreadsAfter,
};
use sqlx::sqlite::SqliteConnectOptions;

use crate::owners::Owners;
use crate::readers::Readers;
use crate::write::{Accept, Answer, Counters, Op, Sync, Writer};
use crate::{SqliteOptions, blob, connection, read};

/// A [`ConversationStore`] in one SQLite file. Clones share the connections to it.
///
/// When the last clone is dropped, the writer still does what is queued, and closes the file, without anybody waiting
/// for it; [`close`](Self::close) waits.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    connect: SqliteConnectOptions,
    writer: Writer,
    readers: Readers,
    owners: Owners,
    counters: Arc<Counters>,
}

/// What a store has written since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SqliteStats {
    /// Transactions.
    pub commits: u64,
    /// Those of them that waited for the disk: none with [`Synchronous::Normal`](crate::Synchronous::Normal), nor
    /// such as hold only claims, releases and marks.
    pub synced: u64,
    /// Operations in all transactions, refused ones included.
    pub operations: u64,
}

impl SqliteStore {
    /// Opens a database file with [`SqliteOptions::default`], creating it if it is not there.
    ///
    /// # Errors
    /// As [`SqliteOptions::open`].
    ///
    /// # Cancel safety
    /// Dropping the future closes what was opened.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        SqliteOptions::default().open(path).await
    }

    pub(crate) async fn open_with(options: SqliteOptions, path: &Path) -> Result<Self, StoreError> {
        // A relative path might read as one of SQLite's own, such as `:memory:` or `file:…`.
        let path = std::path::absolute(path).map_err(|error| unavailable("the path cannot be made absolute", error))?;
        let connect = connection::options(&path, &options);
        let owners = Owners::beside(&path);
        let counters = Arc::<Counters>::default();
        let writer = Writer::start(connect.clone(), &options, owners.clone(), Arc::clone(&counters)).await?;
        let readers = Readers::new(connect.clone(), options.readers);
        Ok(Self { inner: Arc::new(Inner { path, connect, writer, readers, owners, counters }) })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What has been written since the store was opened.
    pub fn stats(&self) -> SqliteStats {
        let Counters { commits, synced, operations } = &*self.inner.counters;
        SqliteStats {
            commits: commits.load(Ordering::Relaxed),
            synced: synced.load(Ordering::Relaxed),
            operations: operations.load(Ordering::Relaxed),
        }
    }

    /// Does what is queued, closes the file, and returns when that is done. Later operations, of any clone, are
    /// refused as [`Unavailable`](StoreErrorKind::Unavailable). The last process to close a database folds its
    /// write-ahead log into the file.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the store open, or let it close unobserved; it loses nothing.
    pub async fn close(&self) {
        // ORDER: the writer's connection is the last, for only the last one folds the write-ahead log into the file.
        self.inner.readers.close().await;
        self.inner.writer.close().await;
    }

    /// How a connection of its own is opened.
    pub(crate) fn connect_options(&self) -> &SqliteConnectOptions {
        &self.inner.connect
    }

    pub(crate) fn owners(&self) -> &Owners {
        &self.inner.owners
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.inner.readers
    }

    pub(crate) async fn write(&self, op: Op) -> Result<(), StoreError> {
        self.inner.writer.write(op).await.map(drop)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

#[async_trait]
impl ConversationStore for SqliteStore {
    async fn register(&self, label: &str) -> Result<Owner, StoreError> {
        let owner = self.inner.owners.register(label);
        owner.map_err(|error| unavailable("the owner's lock file cannot be made", error))
    }

    async fn claim(&self, thread: &ThreadId, owner: &Owner) -> Result<Epoch, StoreError> {
        let claim = Op::Claim { thread: thread.clone(), owner: owner.id().clone() };
        match self.inner.writer.write(claim).await? {
            Answer::Claimed(epoch) => Ok(epoch),
            other => unreachable!("bug: a claim is answered with {other:?}"),
        }
    }

    async fn release(&self, thread: &ThreadId, epoch: Epoch) -> Result<(), StoreError> {
        self.write(Op::Release { thread: thread.clone(), epoch }).await
    }

    async fn accept(&self, request: AcceptRequest) -> Result<AcceptReply, StoreError> {
        match self.inner.writer.write(Op::Accept(Accept::encode(request)?)).await? {
            Answer::Accepted(reply) => Ok(reply),
            other => unreachable!("bug: an acceptance is answered with {other:?}"),
        }
    }

    async fn load(&self, thread: &ThreadId) -> Result<ThreadRecord, StoreError> {
        read::load(&self.inner.readers, thread).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Head, StoreError> {
        read::head(&self.inner.readers, thread).await
    }

    async fn sync(&self, request: SyncRequest) -> Result<(), StoreError> {
        self.write(Op::Sync(Box::new(Sync::encode(request)?))).await
    }

    async fn mark_committed(&self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<(), StoreError> {
        self.write(Op::Mark { thread: thread.clone(), epoch, step }).await
    }

    async fn history(
        &self,
        thread: &ThreadId,
        before: Option<Step>,
        max_bytes: u64,
    ) -> Result<HistoryPage, StoreError> {
        read::history(&self.inner.readers, thread, before, max_bytes).await
    }

    async fn threads(&self, range: ThreadsAfter) -> Result<Vec<ThreadSummary>, StoreError> {
        read::threads(&self.inner.readers, range).await
    }

    async fn unfinished(&self) -> Result<Vec<ThreadId>, StoreError> {
        read::unfinished(&self.inner.readers).await
    }

    async fn fork(&self, parent: &ThreadId, step: Step, thread: &ThreadId, at: Timestamp) -> Result<(), StoreError> {
        self.write(Op::Fork { parent: parent.clone(), step, thread: thread.clone(), at }).await
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.write(Op::Delete { thread: thread.clone() }).await
    }

    async fn put_blob(&self, thread: &ThreadId, id: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.write(Op::PutBlob { thread: thread.clone(), id: id.to_owned(), bytes }).await
    }

    async fn blob(&self, thread: &ThreadId, id: &str, offset: u64, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        blob::read(&self.inner.readers, thread, id, offset, max_bytes).await
    }
}

fn unavailable(what: &str, error: io::Error) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, what).with_source(error)
}
