//! What is outside of every process: the user who signs in, the provider that hangs.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use selvedge::model::Gate;

/// Shared by the client, the model and the tools of a run. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Stage(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    released: bool,
    signed_in: bool,
    gates: Vec<Gate>,
    /// Requests that have been answered in the process that runs, by their length.
    seen: HashSet<usize>,
}

impl Stage {
    /// A process has started.
    pub(super) fn restarted(&self) {
        let mut inner = self.lock();
        inner.gates.clear();
        inner.seen.clear();
    }

    /// A gate at which something hangs, unless everything was released.
    pub(super) fn hang(&self) -> Gate {
        let (gate, mut inner) = (Gate::new(), self.lock());
        if inner.released {
            gate.open();
        }
        inner.gates.push(gate.clone());
        gate
    }

    /// Whether something hangs, or has, in the process that runs.
    pub(super) fn is_hanging(&self) -> bool {
        self.lock().gates.iter().any(|gate| gate.reached().now_or_never().is_some())
    }

    pub(super) fn release(&self) {
        let mut inner = self.lock();
        inner.released = true;
        inner.gates.iter().for_each(Gate::open);
    }

    pub(super) fn sign_in(&self) {
        self.lock().signed_in = true;
    }

    pub(super) fn is_signed_in(&self) -> bool {
        self.lock().signed_in
    }

    /// Whether a request of this length is the first in the process that runs.
    pub(super) fn is_first(&self, request: usize) -> bool {
        self.lock().seen.insert(request)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
