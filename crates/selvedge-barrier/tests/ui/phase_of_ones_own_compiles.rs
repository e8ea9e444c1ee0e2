//! Everybody may be generic over the phases that there are.

use selvedge_barrier::{Committed, Phase, Staged, Synced, Turn};

fn messages<P: Phase>(turn: &Turn<P>) -> usize {
    turn.record().messages.len()
}

fn main() {
    let _ = (messages::<Staged>, messages::<Synced>, messages::<Committed>);
}
