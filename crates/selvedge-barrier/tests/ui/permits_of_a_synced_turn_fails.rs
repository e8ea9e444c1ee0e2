//! A turn that is only synced gives no permits.

use selvedge_barrier::{DispatchPermit, Synced, Turn};

fn permits(turn: Turn<Synced>) -> Vec<DispatchPermit> {
    turn.into_permits()
}

fn main() {}
