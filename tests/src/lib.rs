//! Whole-system tests of Selvedge: the scenarios, run through the facade. This library holds what they share.

pub mod law;
pub mod power;
mod world;

pub use world::{Mode, World, in_paused_time, text_of};
