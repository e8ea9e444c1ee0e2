//! What survives what: attaching at any moment, crashes at every point, redelivery, two owners. Scenarios by number.

mod attach;
mod attach_sqlite;
mod barrier;
mod calls;
mod crashes;
mod every_store;
mod kit;
mod long_histories;
mod power;
mod processes;
mod pruned;
mod redelivery;
mod two_owners;
