//! The program as its users run it: the built binary, with pipes for a terminal.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]

mod archives;
mod chat;
mod errors;
mod large_outputs;
mod maintenance;
mod program;
mod retention;
mod sessions;
