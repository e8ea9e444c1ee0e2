//! What a store says when it cannot.

use std::fmt;

/// An error of a store. Its [`kind`](Self::kind) tells the caller what to do.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What to do about an error of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store cannot be reached or failed; the operation may or may not have happened. Try again.
    Unavailable,
    /// The store was busy for longer than its bound; the operation may or may not have happened. Try again.
    Busy,
    /// Another writer was first: the step number or the epoch is not the expected one. Load again.
    Conflict,
    /// Another owner, which is alive, has the thread; the message names it.
    Owned,
    /// There is no such thread.
    NotFound,
    /// There is such a thread already.
    Exists,
    /// Forks of the thread share its history; the message names them.
    InUse,
    /// The store's own data is damaged beyond one record, or of a schema that this version does not know.
    Corrupt,
    /// The request makes no sense. A bug of the caller.
    Invalid,
}

impl StoreError {
    /// An error of a kind, with a message: lowercase, without the source's own words.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// The same error with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What to do about it.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the operation may have happened, and may be tried again.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unavailable | StoreErrorKind::Busy)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}
