//! A committed turn can be read.

use std::sync::Arc;

use selvedge_barrier::{Committed, Turn};
use selvedge_event::TurnRecord;

fn read(turn: &Turn<Committed>) -> Arc<TurnRecord> {
    turn.record().clone()
}

fn main() {
    let _ = read;
}
