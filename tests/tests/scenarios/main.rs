//! The scenarios: faults that users of comparable systems reported, each a test that can fail, named by its number.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]

mod attach;
mod attach_law;
mod calls;
mod configuration;
mod drivers;
mod forks;
mod isolation;
mod kit;
mod long_lives;
mod observer_panics;
mod shards;
mod shutdown;
