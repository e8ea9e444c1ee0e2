//! What tests of Selvedge are made with: suites that every implementation of a trait must pass, and faults on demand.
//!
//! - [`store_conformance!`] runs every promise of [`ConversationStore`](selvedge_store::ConversationStore) against a
//!   store, one named test per promise.
//! - [`observer_conformance!`] runs every promise of a [`ThreadObserver`](selvedge_observer::ThreadObserver) that keeps
//!   something against an observer.
//! - [`FaultStore`] wraps a store and lets it fail, stall, lose an answer or die at a chosen operation.
//! - [`Watcher`] is an observer that holds what every subscriber sees against the whole feed and the history.
//! - [`Chance`] leaves the order of things to a seed.
//! - [`explorer`] strikes a run at every point that it has, restarts it, and judges how it ends.
//! - [`PromptStore`] lets a store that works on threads of its own be used under paused time.
//! - [`ManualClock`] and [`TokioClock`] tell the time that a test wants.
//!
//! It is for tests alone: it panics where a promise is broken, and nothing but tests builds on it.

mod chance;
mod clock;
pub mod explorer;
mod fault_store;
pub mod observer_conformance;
mod prompt;
pub mod store_conformance;
mod watcher;

pub use chance::Chance;
pub use clock::{ManualClock, TokioClock};
pub use fault_store::{Fault, FaultStore, Gate, Moment, Operation, OperationKind, Select};
pub use prompt::PromptStore;
pub use watcher::{Panic, Seen, Watcher, transcript_of};
