//! What is not synced cannot be committed, and a commit uses its turn up.

use selvedge_barrier::{Staged, Synced, Turn};
use selvedge_observer::NullObserver;

async fn before_the_sync(turn: Turn<Staged>) {
    let _ = turn.commit(&NullObserver).await;
}

async fn twice(turn: Turn<Synced>) {
    let _ = turn.commit(&NullObserver).await;
    let _ = turn.commit(&NullObserver).await;
}

fn main() {}
