//! What holds of `SqliteStore` beyond the contract of every store.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]

mod conformance;
mod folder;
