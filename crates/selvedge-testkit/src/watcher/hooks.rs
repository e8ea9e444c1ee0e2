//! Hooks of the watcher that go wrong where a test wants it.

use selvedge_model::Gate;
use selvedge_observer::BoxError;

use crate::{Fault, Moment};

/// The hooks of an observer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    Commit,
    Required,
    Dismissed,
}

/// Which hooks go wrong, and how many there were.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    begun: u32,
    planned: Vec<Planned>,
}

#[derive(Debug)]
struct Planned {
    /// `None` for any.
    hook: Option<Hook>,
    /// How many hooks of the kind come before it, and it itself.
    left: u32,
    how: (Fault, Gate),
}

/// What becomes of one hook. Of several strikes, all count.
#[derive(Debug, Default)]
pub(super) struct Strike(Vec<(Fault, Gate)>);

impl Hooks {
    pub(super) fn add(&mut self, hook: Option<Hook>, n: u32, fault: Fault, gate: &Gate) {
        self.planned.push(Planned { hook, left: n, how: (fault, gate.clone()) });
    }

    pub(super) fn begun(&self) -> u32 {
        self.begun
    }

    /// A hook begins.
    pub(super) fn begin(&mut self, hook: Hook) -> Strike {
        self.begun += 1;
        for planned in &mut self.planned {
            planned.left -= u32::from(planned.hook.is_none_or(|kind| kind == hook));
        }
        Strike(self.planned.extract_if(.., |planned| planned.left == 0).map(|planned| planned.how).collect())
    }
}

impl Strike {
    /// Before the watcher has done its part.
    pub(super) async fn before(&self) -> Result<(), BoxError> {
        self.at(Moment::Before).await
    }

    /// When the watcher has done its part, and the runtime does not know yet.
    pub(super) async fn after(&self) -> Result<(), BoxError> {
        self.at(Moment::After).await
    }

    async fn at(&self, moment: Moment) -> Result<(), BoxError> {
        for (fault, gate) in &self.0 {
            if *fault == Fault::die(moment) {
                gate.pass().await;
            } else if *fault == Fault::fail(moment) {
                return Err("the watcher was told to fail".into());
            }
        }
        Ok(())
    }
}
