//! How the database of sessions is opened.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use selvedge_event::Timestamp;

use crate::{Prices, Sessions, SessionsError};

/// What [`Sessions`] are opened with.
///
/// ```no_run
/// use selvedge_durable::{Price, Prices, SessionsOptions};
///
/// # async fn example() -> Result<(), selvedge_durable::SessionsError> {
/// let prices = Prices::new().model("a-model", Price { input: 3_000_000, output: 15_000_000, ..Price::default() });
/// let sessions = SessionsOptions::default().prices(prices).open("sessions.db").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SessionsOptions {
    pub(crate) synchronous: Synchronous,
    pub(crate) busy: Duration,
    pub(crate) readers: usize,
    pub(crate) queue: usize,
    pub(crate) create: bool,
    pub(crate) prices: Prices,
    pub(crate) clock: Now,
}

/// Tells the time.
pub(crate) type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// When a commit that has returned is on the disk rather than in the operating system's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Before it returns: what a hook has kept survives a crash of the process, of the operating system, and a power
    /// cut, as far as the disk honours `fsync`. The default.
    #[default]
    Full,
    /// At the next checkpoint: what a hook has kept survives a crash of the process. A power cut may lose the newest
    /// steps, but only whole ones from the end; each thread is rebuilt from its history when it commits again.
    Normal,
}

impl Default for SessionsOptions {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Full,
            busy: Duration::from_secs(30),
            readers: 2,
            queue: 1024,
            create: true,
            prices: Prices::new(),
            clock: Arc::new(now),
        }
    }
}

impl SessionsOptions {
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

    /// How many reads run at once, each on its own connection with its own OS thread; at least 1. 2 by default.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers.max(1);
        self
    }

    /// How many writes may wait to be committed, at least 1; whoever comes then waits for a place. 1024 by default:
    /// more than a disk commits at once, and still a bound on memory.
    #[must_use]
    pub fn queue(mut self, writes: usize) -> Self {
        self.queue = writes.max(1);
        self
    }

    /// Whether a file that is not there is created. It is, by default.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// What tokens cost. Nothing is known by default.
    #[must_use]
    pub fn prices(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// Where the times of sessions come from. The system's clock by default.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(now);
        self
    }

    /// Opens a database file, and migrates it to the newest schema. The file may be the one that a store has: the store
    /// is opened first, for it refuses a file that it has not made.
    ///
    /// # Errors
    /// [`Refused`](SessionsError::Refused) for a file of a newer schema, of another application, or of no database, none
    /// of which is written to; [`Busy`](SessionsError::Busy); [`Database`](SessionsError::Database).
    ///
    /// # Cancel safety
    /// Dropping the future closes what was opened.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<Sessions, SessionsError> {
        Sessions::open_with(self, path.as_ref()).await
    }
}

impl fmt::Debug for SessionsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionsOptions")
            .field("synchronous", &self.synchronous)
            .field("busy", &self.busy)
            .finish_non_exhaustive()
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the default clock")]
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
