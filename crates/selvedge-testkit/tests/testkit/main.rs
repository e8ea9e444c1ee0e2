//! The testkit does what it says: faults strike where they are asked for, and the suite leaves out none of its cases.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its scaffolding too")]

mod conformance;
mod faults;
mod gates;
mod observers;
mod suite;
