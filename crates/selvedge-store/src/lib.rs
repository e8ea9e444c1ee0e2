//! [`ConversationStore`]: the durable home of threads, as a trait of coarse, atomic operations; and [`MemoryStore`],
//! its reference.
//!
//! A store keeps, per thread: an **inbox** (accepted inputs in order, and the ids of all inputs ever accepted), the
//! **history** (append-only turns), the **state beside it** (open calls, choices, subscriptions, sign-ins, views,
//! usage), the **step number** that every sync compares and sets, and the **claim** of the owner that drives it.
//!
//! What it is not: a store knows nothing of tools, models, drivers or observers, and decides nothing. It never
//! interprets a message; it appends, pages and gives back what it was handed.
//!
//! # Writing one
//! Implement [`ConversationStore`]; run `selvedge_testkit::store_conformance` on it. What each operation must do is said
//! at the trait; three things hold for all:
//! - **Atomic**: an operation has happened whole or not at all, whatever happens to its caller: dropping its future,
//!   or the process.
//! - **Durable**: once it has returned Ok, it survives what the store documents (a crash of the process at least);
//!   claims, releases and marks may be lost, and only they.
//! - **Honest**: an error of kind [`Unavailable`](StoreErrorKind::Unavailable) or [`Busy`](StoreErrorKind::Busy)
//!   says that the operation may or may not have happened; any other kind says that it has not.

mod error;
mod memory;
mod owner;
mod record;
mod request;
mod store;

pub use error::{StoreError, StoreErrorKind};
pub use memory::MemoryStore;
pub use owner::{Epoch, Owner, OwnerId};
pub use record::{
    Head, HistoryPage, InboxEntry, Origin, Quarantined, SeqNo, ThreadRecord, ThreadSummary, ThreadsAfter,
};
pub use request::{
    AcceptReply, AcceptRequest, Acceptance, Changes, Create, NewInput, PlannedCall, Spawn, SyncRequest, SyncToken,
    ToolDelivery,
};
pub use store::ConversationStore;
