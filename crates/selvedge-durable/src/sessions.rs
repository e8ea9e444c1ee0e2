//! [`Sessions`]: the handle on the database. What is read goes to a reader, what is written to the one writer.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use selvedge_event::{Item, ThreadId, UserChoice};

use crate::op::{Answer, Op};
use crate::readers::Readers;
use crate::session::{Hit, Listing, Session};
use crate::writer::Writer;
use crate::{SessionsError, SessionsOptions, database, read, search};

/// What is kept of all threads, in one SQLite file. Clones share the connections to it.
///
/// When the last clone is dropped, the writer still does what is queued, and closes the file, without anybody waiting
/// for it; [`close`](Self::close) waits.
#[derive(Clone)]
pub struct Sessions {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    path: PathBuf,
    pub(crate) writer: Writer,
    pub(crate) readers: Readers,
    commits: Arc<AtomicU64>,
}

impl Sessions {
    /// Opens a database file with [`SessionsOptions::default`], creating it if it is not there.
    ///
    /// # Errors
    /// As [`SessionsOptions::open`].
    ///
    /// # Cancel safety
    /// Dropping the future closes what was opened.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, SessionsError> {
        SessionsOptions::default().open(path).await
    }

    pub(crate) async fn open_with(options: SessionsOptions, path: &Path) -> Result<Self, SessionsError> {
        // A relative path might read as one of SQLite's own, such as `:memory:` or `file:…`.
        let path = std::path::absolute(path).map_err(|error| SessionsError::Refused {
            path: path.to_owned(),
            reason: format!("cannot be made absolute: {error}"),
        })?;
        let connect = database::connect(&path, &options);
        let commits = Arc::<AtomicU64>::default();
        let writer = Writer::start(connect.clone(), &options, commits.clone()).await?;
        let readers = Readers::new(connect, options.readers);
        Ok(Self { inner: Arc::new(Inner { path, writer, readers, commits }) })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// How many transactions have been committed since the database was opened: each is one `fsync` with
    /// [`Synchronous::Full`](crate::Synchronous::Full).
    pub fn commits(&self) -> u64 {
        self.inner.commits.load(Ordering::Relaxed)
    }

    /// Sessions, the one that was updated last first.
    ///
    /// # Errors
    /// [`Database`](SessionsError::Database), [`Closed`](SessionsError::Closed).
    ///
    /// # Cancel safety
    /// Reads only, as every function here but [`forget`](Self::forget), [`rebuild`](Self::rebuild) and
    /// [`close`](Self::close).
    pub async fn list(&self, listing: &Listing) -> Result<Vec<Session>, SessionsError> {
        read::list(&self.inner.readers, listing).await
    }

    /// What is kept of a thread; `None` if nothing is.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn session(&self, thread: &ThreadId) -> Result<Option<Session>, SessionsError> {
        read::session(&self.inner.readers, thread).await
    }

    /// The choices of a thread that wait for the user, oldest first.
    ///
    /// # Errors
    /// As [`list`](Self::list); [`Unreadable`](SessionsError::Unreadable).
    pub async fn choices(&self, thread: &ThreadId) -> Result<Vec<UserChoice>, SessionsError> {
        read::choices(&self.inner.readers, thread).await
    }

    /// What a viewer of a thread shows, as of its newest committed step: the items of a
    /// [`Transcript`](selvedge_event::Transcript) of its history. Empty if nothing is kept.
    ///
    /// # Errors
    /// As [`choices`](Self::choices).
    pub async fn transcript(&self, thread: &ThreadId) -> Result<Vec<Item>, SessionsError> {
        read::transcript(&self.inner.readers, thread).await
    }

    /// Finds what has all of the words in it, in whatever order, in what users and models wrote, in calls and in their
    /// results (of each of these the first 16 KiB); the best hits come first. The last word may be the beginning of one.
    /// Case and accents do not count. Any text may be searched for; there is no syntax that it could break.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>, SessionsError> {
        search::search(&self.inner.readers, words, limit).await
    }

    /// Forgets a thread. Whoever deletes one from its store calls this; if nobody does, a
    /// [`rebuild`](Self::rebuild) does it.
    ///
    /// # Errors
    /// [`Busy`](SessionsError::Busy), [`Database`](SessionsError::Database), [`Closed`](SessionsError::Closed).
    ///
    /// # Cancel safety
    /// Dropping the future leaves the thread there or forgotten, never half.
    pub async fn forget(&self, thread: &ThreadId) -> Result<(), SessionsError> {
        self.write(Op::Forget { thread: thread.clone() }).await.map(drop)
    }

    /// Does what is queued, closes the file, and returns when that is done. Later operations, of any clone, are refused
    /// as [`Closed`](SessionsError::Closed).
    ///
    /// # Cancel safety
    /// Dropping the future may leave the database open, or let it close unobserved; it loses nothing.
    pub async fn close(&self) {
        // ORDER: the writer's connection is the last, for only the last one folds the write-ahead log into the file.
        self.inner.readers.close().await;
        self.inner.writer.close().await;
    }

    pub(crate) async fn write(&self, op: Op) -> Result<Answer, SessionsError> {
        self.inner.writer.write(op).await
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("path", &self.inner.path).finish_non_exhaustive()
    }
}
