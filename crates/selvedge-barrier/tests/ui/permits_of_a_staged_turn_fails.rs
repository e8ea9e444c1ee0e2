//! A turn that is only staged gives no permits.

use selvedge_barrier::{DispatchPermit, Staged, Turn};

fn permits(turn: Turn<Staged>) -> Vec<DispatchPermit> {
    turn.into_permits()
}

fn main() {}
