//! What holds of `SqliteStore` beyond the contract of every store.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]

mod backup;
mod child;
mod conformance;
mod damage;
mod folder;
mod grouping;
mod healthy;
mod processes;
mod prune;
mod reopening;
mod schema;
mod talk;
mod verify;
mod work;
