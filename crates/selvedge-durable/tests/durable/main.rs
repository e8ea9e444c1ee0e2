//! What holds of `DurableObserver` and of the sessions that it keeps.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]

mod choices;
mod conformance;
mod folder;
mod kept;
mod kit;
mod rebuilding;
mod schema;
mod searching;
