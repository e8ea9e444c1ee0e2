//! `selvedge-live` from outside: an observer that is played by hand, and those who watch it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]
#![allow(clippy::disallowed_methods, reason = "subscribers are tasks of the embedder's own runtime")]

mod basics;
mod continuity;
mod os_threads;
mod random;
mod stage;
mod wire;
