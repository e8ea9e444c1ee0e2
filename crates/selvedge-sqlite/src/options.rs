//! How a store is opened.

use std::path::Path;
use std::time::Duration;

use selvedge_store::StoreError;

use crate::SqliteStore;

/// What a database is opened with.
///
/// ```no_run
/// use selvedge_sqlite::{SqliteOptions, Synchronous};
///
/// # async fn example() -> Result<(), selvedge_store::StoreError> {
/// let store = SqliteOptions::default().synchronous(Synchronous::Normal).open("threads.db").await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    pub(crate) synchronous: Synchronous,
    pub(crate) busy: Duration,
    pub(crate) readers: usize,
    pub(crate) create: bool,
    pub(crate) queue: usize,
}

/// When a write that has returned is on the disk rather than in the operating system's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Before it returns: acknowledged writes survive a crash of the process, of the operating system, and a power
    /// cut, as far as the disk honours `fsync`. The default.
    #[default]
    Full,
    /// At the next checkpoint: acknowledged writes survive a crash of the process. A crash of the operating system or
    /// a power cut may lose the newest ones, but only whole transactions from the end; the database is never damaged.
    Normal,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { synchronous: Synchronous::Full, busy: Duration::from_secs(30), readers: 4, create: true, queue: 1024 }
    }
}

impl SqliteOptions {
    /// What a power cut may cost. [`Synchronous::Full`] by default.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long one transaction waits for another process that holds the database's lock. 30 seconds by default.
    #[must_use]
    pub fn busy(mut self, bound: Duration) -> Self {
        self.busy = bound;
        self
    }

    /// How many reads run at once, each on its own connection with its own OS thread; at least 1. 4 by default.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers.max(1);
        self
    }

    /// Whether a file that is not there is created. It is, by default.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// How many writes may wait to be committed, at least 1; whoever comes then waits for a place. 1024 by default:
    /// more than a disk commits at once, and still a bound on memory.
    #[must_use]
    pub fn queue(mut self, writes: usize) -> Self {
        self.queue = writes.max(1);
        self
    }

    /// Opens a database file, and migrates it to the newest schema.
    ///
    /// # Errors
    /// [`Corrupt`](selvedge_store::StoreErrorKind::Corrupt) for a file of a newer schema, of another application, or
    /// of no database, none of which is written to; [`Busy`](selvedge_store::StoreErrorKind::Busy);
    /// [`Unavailable`](selvedge_store::StoreErrorKind::Unavailable).
    ///
    /// # Cancel safety
    /// Dropping the future closes what was opened.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        SqliteStore::open_with(self, path.as_ref()).await
    }
}
