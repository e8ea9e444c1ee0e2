//! Failures that hand back the turn in the phase that it had reached.

use selvedge_observer::BoxError;
use selvedge_store::StoreError;

use crate::{Staged, Synced, Turn};

/// A turn that could not be synced. Whether it is durable all the same, because only the answer was lost, is not known
/// for a transient error: sync the same turn again to know.
#[derive(Debug, thiserror::Error)]
#[error("the turn could not be synced")]
pub struct SyncFailed {
    /// The turn, as it was.
    pub turn: Turn<Staged>,
    /// What the store said.
    #[source]
    pub error: StoreError,
}

/// A turn that is synced and could not be committed: a hook of the observer erred or panicked.
#[derive(Debug, thiserror::Error)]
#[error("the observer did not commit the turn")]
pub struct CommitFailed {
    /// The turn, synced.
    pub turn: Turn<Synced>,
    /// What the observer said.
    #[source]
    pub error: BoxError,
}
