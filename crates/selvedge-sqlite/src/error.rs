//! What SQLite's errors mean to a caller of the store.

use std::sync::Arc;

use selvedge_store::{StoreError, StoreErrorKind};

/// A failure that may concern many operations at once: those of one transaction.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    what: &'static str,
    kind: StoreErrorKind,
    source: Arc<sqlx::Error>,
}

impl Failure {
    /// `what` says what was tried: "reading a thread".
    pub(crate) fn new(what: &'static str, source: sqlx::Error) -> Self {
        let kind = match &source {
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => StoreErrorKind::Corrupt,
            other => primary_code(other).map_or(StoreErrorKind::Unavailable, kind_of),
        };
        Self { what, kind, source: Arc::new(source) }
    }

    pub(crate) fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether one operation of several may be to blame for it, and none of them has happened.
    pub(crate) fn may_concern_one(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Invalid | StoreErrorKind::Corrupt)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        let Failure { what, kind, source } = failure;
        let message = match kind {
            StoreErrorKind::Busy => format!("{what}: another process holds the database's lock"),
            _ => format!("{what} failed"),
        };
        StoreError::new(kind, message).with_source(source)
    }
}

/// The error of reading, in one word.
pub(crate) fn reading(error: sqlx::Error) -> StoreError {
    Failure::new("reading the database", error).into()
}

/// SQLite's primary result code, where the error is SQLite's own.
fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<i32>().ok().map(|extended| extended & 0xff)
}

/// See <https://www.sqlite.org/rescode.html>.
fn kind_of(primary: i32) -> StoreErrorKind {
    match primary {
        // BUSY, LOCKED
        5 | 6 => StoreErrorKind::Busy,
        // ERROR: our SQL is constant, so the schema is not what it says it is. CORRUPT, NOTADB.
        1 | 11 | 26 => StoreErrorKind::Corrupt,
        // TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE
        18..=21 | 25 => StoreErrorKind::Invalid,
        // IOERR, FULL, CANTOPEN, READONLY, NOMEM and the rest
        _ => StoreErrorKind::Unavailable,
    }
}
