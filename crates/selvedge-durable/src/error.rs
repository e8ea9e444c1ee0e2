//! What can go wrong with the database of sessions.

use std::path::PathBuf;
use std::sync::Arc;

use selvedge_store::StoreError;

/// Why something could not be kept or read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SessionsError {
    /// Another process holds the database's lock, for longer than was to be waited. Worth another try.
    #[error("{what}: another process holds the database's lock")]
    Busy {
        /// What was tried.
        what: &'static str,
        /// SQLite's error.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// SQLite failed: the disk is full or gone, the file is damaged.
    #[error("{what} failed")]
    Database {
        /// What was tried.
        what: &'static str,
        /// SQLite's error.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// The file is of a newer version, or not a database of sessions. Nothing was written to it.
    #[error("{} {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why it is refused.
        reason: String,
    },
    /// A record cannot be read; a rebuild replaces it.
    #[error("a record of thread {thread} cannot be read: {reason}")]
    Unreadable {
        /// The thread's name.
        thread: String,
        /// Why.
        reason: String,
    },
    /// The store that was asked for a history failed.
    #[error("the store failed")]
    Store(#[source] Arc<StoreError>),
    /// A thread went on each time that it was read, or was rebuilt by somebody else at the same moment. Worth another
    /// try.
    #[error("thread {thread} changed while it was read")]
    Moving {
        /// The thread's name.
        thread: String,
    },
    /// The database has been closed, or its writer could not be started.
    #[error("the database of sessions is closed")]
    Closed,
}

impl SessionsError {
    /// An error of SQLite's; `what` says what was tried: "reading sessions".
    pub(crate) fn database(what: &'static str, error: sqlx::Error) -> Self {
        let source = Arc::new(error);
        if is_busy(&source) { Self::Busy { what, source } } else { Self::Database { what, source } }
    }
}

impl From<StoreError> for SessionsError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// BUSY and LOCKED among SQLite's primary codes, see <https://www.sqlite.org/rescode.html>.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.and_then(|code| code.parse::<i32>().ok()).is_some_and(|code| matches!(code & 0xff, 5 | 6))
}
