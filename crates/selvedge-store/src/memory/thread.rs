//! One thread: everything that the store keeps of it.

use std::collections::{BTreeSet, HashMap};

use selvedge_event::{Step, ThreadId, Timestamp, TurnRecord};

use super::{beside::Beside, inbox::Inbox, turns::Turns};
use crate::{
    Changes, Epoch, Head, Origin, OwnerId, StoreError, StoreErrorKind, SyncToken, ThreadRecord, ThreadSummary,
};

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) origin: Origin,
    pub(super) created_at: Timestamp,
    updated_at: Timestamp,
    pub(super) head: Head,
    pub(super) committed: Step,
    /// Who has claimed it; `None` once that is released. Whether the owner is alive stands elsewhere.
    pub(super) owner: Option<OwnerId>,
    pub(super) inbox: Inbox,
    /// Its own turns; those of a fork begin after the step that it shares.
    pub(super) turns: Turns,
    beside: Beside,
    pub(super) blobs: HashMap<String, Vec<u8>>,
    /// The threads whose history goes on in this one.
    pub(super) forks: BTreeSet<ThreadId>,
}

impl Thread {
    /// A thread that nobody has claimed, after its origin's last step, all of which counts as committed.
    pub(super) fn new(origin: Origin, created_at: Timestamp) -> Self {
        let step = match origin {
            Origin::Fork { step, .. } => step,
            Origin::Root | Origin::Child { .. } => 0,
        };
        Self {
            origin,
            created_at,
            updated_at: created_at,
            head: Head { step, epoch: Epoch(0), token: SyncToken(0) },
            committed: step,
            owner: None,
            inbox: Inbox::default(),
            turns: Turns::default(),
            beside: Beside::default(),
            blobs: HashMap::new(),
            forks: BTreeSet::new(),
        }
    }

    /// Gives the thread to an owner, under a new epoch.
    pub(super) fn claimed_by(&mut self, owner: OwnerId) -> Epoch {
        self.owner = Some(owner);
        self.head.epoch.0 += 1;
        self.head.epoch
    }

    /// Refuses a writer whose claim is not the newest.
    pub(super) fn check_epoch(&self, epoch: Epoch) -> Result<(), StoreError> {
        if epoch == self.head.epoch {
            return Ok(());
        }
        let message = format!("the thread is claimed with epoch {}, not {}", self.head.epoch.0, epoch.0);
        Err(StoreError::new(StoreErrorKind::Conflict, message))
    }

    /// Refuses a turn that is not the next.
    pub(super) fn check_next(&self, step: Step) -> Result<(), StoreError> {
        if step == self.head.step + 1 {
            return Ok(());
        }
        let message = format!("the thread is at step {}, so step {step} cannot follow", self.head.step);
        Err(StoreError::new(StoreErrorKind::Conflict, message))
    }

    /// Refuses a mark on a step that is not there.
    pub(super) fn check_mark(&self, step: Step) -> Result<(), StoreError> {
        if step <= self.head.step {
            return Ok(());
        }
        let message = format!("the thread is at step {}, so step {step} cannot be committed", self.head.step);
        Err(StoreError::new(StoreErrorKind::Invalid, message))
    }

    pub(super) fn mark_committed(&mut self, step: Step) {
        self.committed = self.committed.max(step);
    }

    /// Appends a turn that has passed all checks, with the changes to the thread itself.
    pub(super) fn append(&mut self, turn: TurnRecord, token: SyncToken, changes: Changes) {
        for seq in &changes.consumed {
            self.inbox.consume(*seq);
        }
        self.beside.apply(changes);
        self.head.step = turn.step;
        self.head.token = token;
        self.updated_at = turn.at;
        self.turns.push(turn);
    }

    pub(super) fn is_unfinished(&self) -> bool {
        self.inbox.len() > 0 || !self.beside.open_calls.is_empty() || self.committed < self.head.step
    }

    pub(super) fn record(&self, thread: ThreadId) -> ThreadRecord {
        ThreadRecord {
            thread,
            origin: self.origin.clone(),
            created_at: self.created_at,
            head: self.head,
            committed: self.committed,
            open_calls: self.beside.open_calls.clone(),
            choices: self.beside.choices.clone(),
            subscriptions: self.beside.subscriptions.clone(),
            oauth: self.beside.oauth.clone(),
            views: self.beside.views.clone(),
            usage: self.beside.usage,
            inbox: self.inbox.entries(),
            quarantined: Vec::new(),
        }
    }

    pub(super) fn summary(&self, thread: ThreadId) -> ThreadSummary {
        ThreadSummary {
            thread,
            origin: self.origin.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            step: self.head.step,
            inbox: self.inbox.len() as u64,
            open_calls: self.beside.open_calls.len() as u64,
            usage: self.beside.usage,
        }
    }
}
