//! The scenarios: faults that users of comparable systems reported, each a test that can fail, named by its number.

mod attach;
mod attach_law;
mod calls;
mod configuration;
mod drivers;
mod faults;
mod forks;
mod isolation;
pub(crate) mod kit;
mod long_lives;
mod observer_panics;
mod pages;
mod shards;
mod shutdown;
