//! A staged turn gives permits once it is synced and committed.

use selvedge_barrier::{DispatchPermit, Staged, Turn};
use selvedge_observer::{BoxError, NullObserver};
use selvedge_store::ConversationStore;

async fn permits(turn: Turn<Staged>, store: &dyn ConversationStore) -> Result<Vec<DispatchPermit>, BoxError> {
    let synced = turn.sync(store).await.map_err(|failed| failed.error)?;
    let committed = synced.commit(&NullObserver).await.map_err(|failed| failed.error)?;
    Ok(committed.into_permits())
}

fn main() {
    let _ = permits;
}
