//! The barrier from outside: what does not compile, and what its phases do when something fails.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]

mod flaky;
mod hooks;
mod kit;
mod resuming;
mod syncing;
mod ui;
