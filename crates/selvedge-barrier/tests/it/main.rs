//! The barrier from outside: what does not compile, and what its phases do when something fails.

mod flaky;
mod hooks;
mod kit;
mod resuming;
mod syncing;
mod ui;
