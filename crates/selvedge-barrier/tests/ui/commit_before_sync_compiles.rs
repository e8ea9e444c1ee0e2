//! A commit that failed hands its turn back, to be committed again.

use selvedge_barrier::{Committed, Synced, Turn};
use selvedge_observer::NullObserver;

async fn until_it_is(mut turn: Turn<Synced>) -> Turn<Committed> {
    loop {
        match turn.commit(&NullObserver).await {
            Ok(committed) => return committed,
            Err(failed) => turn = failed.turn,
        }
    }
}

fn main() {
    let _ = until_it_is;
}
