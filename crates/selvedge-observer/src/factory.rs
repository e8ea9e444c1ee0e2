//! How each shard comes by its observer.

use crate::ThreadObserver;

/// Makes the observer of a shard, on that shard.
///
/// Any `Fn() -> impl ThreadObserver` that may cross threads is one.
pub trait ObserverFactory: Send + Sync + 'static {
    /// What it makes.
    type Observer: ThreadObserver + 'static;

    /// Makes one. Called once per shard, on the shard's own thread.
    fn observer(&self) -> Self::Observer;
}

impl<F, O> ObserverFactory for F
where
    F: Fn() -> O + Send + Sync + 'static,
    O: ThreadObserver + 'static,
{
    type Observer = O;

    fn observer(&self) -> O {
        self()
    }
}
