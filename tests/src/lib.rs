//! Whole-system tests of Selvedge: the scenarios, run through the facade. This library holds what they share, and the crash
//! scenarios, which the program of `cargo xtask crash` runs too.

pub mod crash;
pub mod law;
pub mod power;
mod world;

pub use world::{Mode, World, in_paused_time, text_of};
