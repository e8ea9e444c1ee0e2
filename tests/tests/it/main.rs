//! Whole-system tests, in one binary: the behaviour suite of both modes, what survives what, and the scenarios beside
//! them. A scenario is named by its number wherever it stands.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]

mod behaviour;
mod durability;
mod durable;
mod live;
mod scenarios;
