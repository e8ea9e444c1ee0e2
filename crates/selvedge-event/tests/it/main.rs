//! The plain data from outside: the attach law of its pure functions, and its wire forms.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]

mod attach_law;
mod samples;
mod wire;
