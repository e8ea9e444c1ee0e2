//! What a [`FaultStore`](super::FaultStore) shares with its clones: what is to go wrong, and what has been asked so far.

use std::{
    collections::HashMap,
    sync::Arc,
    sync::{Mutex, Weak},
    time::Duration,
};

use selvedge_store::{Owner, OwnerId, StoreError};

use crate::Chance;

use super::{Operation, Select, gate::Passage, unavailable};

/// How an operation fails. Each answers with an error of kind [`Unavailable`](selvedge_store::StoreErrorKind), but for
/// [`Busy`](Self::Busy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It is not done.
    FailBefore,
    /// It is not done, and the error is of kind [`Busy`](selvedge_store::StoreErrorKind).
    Busy,
    /// It is done, and its answer is lost.
    FailAfter,
    /// The process dies before it is done, see [`FaultStore::die`](super::FaultStore::die).
    DieBefore,
    /// The process dies when it is done.
    DieAfter,
}

impl Fault {
    /// The death of the process at a moment of an operation.
    pub fn die(moment: Moment) -> Self {
        match moment {
            Moment::Before => Self::DieBefore,
            Moment::After => Self::DieAfter,
        }
    }

    /// A failure at a moment of an operation.
    pub fn fail(moment: Moment) -> Self {
        match moment {
            Moment::Before => Self::FailBefore,
            Moment::After => Self::FailAfter,
        }
    }
}

/// Where in an operation something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Before it is done.
    Before,
    /// When it is done, before its caller hears of it.
    After,
}

impl Moment {
    /// Both of them.
    pub const BOTH: [Self; 2] = [Self::Before, Self::After];
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    rules: Vec<Rule>,
    /// Grows with each operation, for as long as the test runs.
    log: Vec<Operation>,
    /// The text of the messages that were read.
    pub(super) bytes_read: u64,
    dead: bool,
    chance: Option<Chance>,
    /// The inner store's owners, which live for as long as they are here.
    owners: HashMap<OwnerId, Owner>,
}

#[derive(Debug)]
struct Rule {
    select: Select,
    /// How many operations have matched so far.
    seen: u64,
    effect: Effect,
}

#[derive(Debug, Clone)]
pub(super) enum Effect {
    Fault(Fault),
    Delay(Duration),
    Hold(Moment, Passage),
}

/// What is to become of one operation.
#[derive(Debug, Default)]
pub(super) struct Lot {
    pub(super) delays: Vec<Duration>,
    pub(super) held_before: Vec<Passage>,
    pub(super) held_after: Vec<Passage>,
    pub(super) fault: Option<Fault>,
    pub(super) chance: Option<Chance>,
}

impl Plan {
    pub(super) fn add(&mut self, select: Select, effect: Effect) {
        self.rules.push(Rule { select, seen: 0, effect });
    }

    pub(super) fn shuffle(&mut self, chance: Chance) {
        self.chance = Some(chance);
    }

    pub(super) fn clear(&mut self) {
        self.chance = None;
        self.rules.clear();
    }

    /// Notes an operation and says what is to become of it. A dead store does not begin with it.
    pub(super) fn arrive(&mut self, operation: Operation) -> Result<Lot, StoreError> {
        let mut lot = Lot { chance: self.chance.clone(), ..Lot::default() };
        for Rule { select, seen, effect } in &mut self.rules {
            if select.selects(&operation, seen) {
                match effect {
                    Effect::Fault(fault) => lot.fault = lot.fault.or(Some(*fault)),
                    Effect::Delay(time) => lot.delays.push(*time),
                    Effect::Hold(Moment::Before, passage) => lot.held_before.push(passage.clone()),
                    Effect::Hold(Moment::After, passage) => lot.held_after.push(passage.clone()),
                }
            }
        }
        self.log.push(operation);
        self.check_alive()?;
        Ok(lot)
    }

    pub(super) fn log(&self) -> &[Operation] {
        &self.log
    }

    /// Ends the process and gives its owners away, to be dropped.
    #[must_use = "owners are dropped without the lock"]
    pub(super) fn die(&mut self) -> HashMap<OwnerId, Owner> {
        self.dead = true;
        std::mem::take(&mut self.owners)
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(super) fn check_alive(&self) -> Result<(), StoreError> {
        if self.dead { Err(unavailable("the process is dead")) } else { Ok(()) }
    }

    /// Keeps an owner alive, unless its process has died while it was made.
    pub(super) fn keep(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.check_alive()?;
        self.owners.insert(owner.id().clone(), owner);
        Ok(())
    }
}

/// What an owner's holder holds: when it is dropped, the inner owner is too.
#[derive(Debug)]
pub(super) struct Lease {
    id: OwnerId,
    plan: Weak<Mutex<Plan>>,
}

impl Lease {
    pub(super) fn of(id: OwnerId, plan: &Arc<Mutex<Plan>>) -> Self {
        Self { id, plan: Arc::downgrade(plan) }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let owner = self.plan.upgrade().and_then(|plan| plan.lock().ok()?.owners.remove(&self.id));
        drop(owner);
    }
}
