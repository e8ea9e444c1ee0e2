//! Permits come from a committed turn.

use selvedge_barrier::{Committed, DispatchPermit, Turn};

fn earn(turn: Turn<Committed>) -> Vec<DispatchPermit> {
    turn.into_permits()
}

fn main() {
    let _ = earn;
}
