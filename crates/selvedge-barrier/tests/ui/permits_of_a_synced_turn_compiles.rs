//! A synced turn gives permits once it is committed.

use selvedge_barrier::{DispatchPermit, Synced, Turn};
use selvedge_observer::{BoxError, NullObserver};

async fn permits(turn: Turn<Synced>) -> Result<Vec<DispatchPermit>, BoxError> {
    let committed = turn.commit(&NullObserver).await.map_err(|failed| failed.error)?;
    Ok(committed.into_permits())
}

fn main() {
    let _ = permits;
}
