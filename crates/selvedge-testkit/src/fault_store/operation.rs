//! What is asked of a store, as faults and logs see it, and how some of it is selected.

use selvedge_event::ThreadId;

/// One operation that was asked of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Which.
    pub kind: OperationKind,
    /// The thread that it is about: for a fork the new one, for a spawn its parent. `None` if it is about none.
    pub thread: Option<ThreadId>,
}

/// The operations of a [`ConversationStore`](selvedge_store::ConversationStore), by the names of its functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// `register`.
    Register,
    /// `claim`.
    Claim,
    /// `release`.
    Release,
    /// `accept`.
    Accept,
    /// `load`.
    Load,
    /// `head`.
    Head,
    /// `sync`.
    Sync,
    /// `mark_committed`.
    MarkCommitted,
    /// `history`.
    History,
    /// `threads`.
    Threads,
    /// `unfinished`.
    Unfinished,
    /// `fork`.
    Fork,
    /// `delete`.
    Delete,
    /// `put_blob`.
    PutBlob,
    /// `blob`.
    Blob,
}

impl OperationKind {
    /// Whether it changes what the store keeps.
    pub fn writes(self) -> bool {
        match self {
            Self::Claim
            | Self::Release
            | Self::Accept
            | Self::Sync
            | Self::MarkCommitted
            | Self::Fork
            | Self::Delete
            | Self::PutBlob => true,
            Self::Register
            | Self::Load
            | Self::Head
            | Self::History
            | Self::Threads
            | Self::Unfinished
            | Self::Blob => false,
        }
    }
}

/// Some of the operations that are asked of a store: all that match, or one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Select {
    what: What,
    thread: Option<ThreadId>,
    nth: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Any,
    Writes,
    Kind(OperationKind),
}

impl Select {
    /// All operations.
    pub fn any() -> Self {
        Self::what(What::Any)
    }

    /// All operations that [write](OperationKind::writes).
    pub fn writes() -> Self {
        Self::what(What::Writes)
    }

    /// All operations of a kind.
    pub fn kind(kind: OperationKind) -> Self {
        Self::what(What::Kind(kind))
    }

    fn what(what: What) -> Self {
        Self { what, thread: None, nth: None }
    }

    /// Of these, those about a thread.
    #[must_use]
    pub fn thread(self, thread: impl Into<ThreadId>) -> Self {
        Self { thread: Some(thread.into()), ..self }
    }

    /// Of these, only the `n`th, from 1. Faults count from when they are asked for.
    #[must_use]
    pub fn nth(self, n: u64) -> Self {
        Self { nth: Some(n), ..self }
    }

    /// Of these, only the next.
    #[must_use]
    pub fn next(self) -> Self {
        self.nth(1)
    }

    /// The selected ones of some operations.
    pub(super) fn of<'a>(&'a self, operations: &'a [Operation]) -> impl Iterator<Item = &'a Operation> {
        let mut seen = 0;
        operations.iter().filter(move |operation| self.selects(operation, &mut seen))
    }

    /// Whether an operation is selected, where `seen` have matched before it, of which it may be one more.
    pub(super) fn selects(&self, operation: &Operation, seen: &mut u64) -> bool {
        let matches = match self.what {
            What::Any => true,
            What::Writes => operation.kind.writes(),
            What::Kind(kind) => operation.kind == kind,
        };
        if !matches || self.thread.is_some() && operation.thread != self.thread {
            return false;
        }
        *seen += 1;
        self.nth.is_none_or(|nth| nth == *seen)
    }
}
