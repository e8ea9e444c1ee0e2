//! A thread's row while a batch is decided: read in the batch's transaction, changed in memory, written once.

use selvedge_event::{Step, Timestamp, Usage};
use selvedge_store::{Epoch, Origin, StoreError, StoreErrorKind, SyncToken};

use super::op::number;
use super::row::{Row, Rows};

/// A thread's row as it is read: its name, the numbers of [`Thread`] in order, its tokens, its owner; whether it has
/// choices (1) and sign-ins (2); and the last step that was removed.
pub(super) type ReadThread =
    (String, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, Option<String>, u8, Option<i64>);

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) id: i64,
    pub(super) step: Step,
    pub(super) committed: Step,
    pub(super) epoch: Epoch,
    pub(super) owner: Option<String>,
    pub(super) token: SyncToken,
    pub(super) last_seq: u64,
    pub(super) updated_at: Timestamp,
    usage: Usage,
    /// The last step whose messages were removed.
    pub(super) removed: Option<Step>,
    /// Whether the database has choices of it.
    pub(super) has_choices: bool,
    /// Whether the database has sign-ins of it.
    pub(super) has_oauth: bool,
    pub(super) state: State,
}

/// What is to be written of a row.
#[derive(Debug)]
pub(super) enum State {
    Unchanged,
    Changed,
    /// It is not in the database yet.
    New {
        name: String,
        origin: Origin,
        created_at: Timestamp,
    },
}

impl Thread {
    /// From a row of the statement that begins a batch; with the thread's name.
    pub(super) fn read(row: ReadThread) -> (String, Self) {
        let (name, id, step, committed, epoch, token, last_seq, updated_at, input, output, read, write, reasoning, ..) =
            row;
        let (.., owner, beside, removed) = row;
        let usage = Usage {
            input: input.cast_unsigned(),
            output: output.cast_unsigned(),
            cache_read: read.cast_unsigned(),
            cache_write: write.cast_unsigned(),
            reasoning: reasoning.cast_unsigned(),
        };
        let thread = Self {
            id,
            step: step.cast_unsigned(),
            committed: committed.cast_unsigned(),
            epoch: Epoch(epoch.cast_unsigned()),
            owner,
            token: SyncToken(token.cast_unsigned()),
            last_seq: last_seq.cast_unsigned(),
            updated_at: Timestamp(updated_at),
            usage,
            removed: removed.map(i64::cast_unsigned),
            has_choices: beside & 1 != 0,
            has_oauth: beside & 2 != 0,
            state: State::Unchanged,
        };
        (name, thread)
    }

    /// A thread that nobody has claimed, after its origin's last step, all of which counts as committed.
    pub(super) fn new(id: i64, name: String, origin: Origin, created_at: Timestamp) -> Self {
        let step = match origin {
            Origin::Fork { step, .. } => step,
            Origin::Root | Origin::Child { .. } => 0,
        };
        Self {
            id,
            step,
            committed: step,
            epoch: Epoch(0),
            owner: None,
            token: SyncToken(0),
            last_seq: 0,
            updated_at: created_at,
            usage: Usage::default(),
            removed: None,
            has_choices: false,
            has_oauth: false,
            state: State::New { name, origin, created_at },
        }
    }

    pub(super) fn changed(&mut self) {
        if matches!(self.state, State::Unchanged) {
            self.state = State::Changed;
        }
    }

    /// Gives the thread to an owner, under a new epoch.
    pub(super) fn claimed_by(&mut self, owner: &str) -> Epoch {
        self.owner = Some(owner.to_owned());
        self.epoch.0 += 1;
        self.changed();
        self.epoch
    }

    pub(super) fn mark_committed(&mut self, step: Step) {
        if step > self.committed {
            self.committed = step;
            self.changed();
        }
    }

    pub(super) fn add_usage(&mut self, more: Usage) {
        self.usage += more;
    }

    /// Refuses a writer whose claim is not the newest.
    pub(super) fn check_epoch(&self, epoch: Epoch) -> Result<(), StoreError> {
        if epoch == self.epoch {
            return Ok(());
        }
        let message = format!("the thread is claimed with epoch {}, not {}", self.epoch.0, epoch.0);
        Err(StoreError::new(StoreErrorKind::Conflict, message))
    }

    /// Refuses a turn that is not the next.
    pub(super) fn check_next(&self, step: Step) -> Result<(), StoreError> {
        if self.step.checked_add(1) == Some(step) {
            return Ok(());
        }
        let message = format!("the thread is at step {}, so step {step} cannot follow", self.step);
        Err(StoreError::new(StoreErrorKind::Conflict, message))
    }

    /// Refuses a mark on a step that is not there.
    pub(super) fn check_mark(&self, step: Step) -> Result<(), StoreError> {
        if step <= self.step {
            return Ok(());
        }
        let message = format!("the thread is at step {}, so step {step} cannot be committed", self.step);
        Err(StoreError::new(StoreErrorKind::Invalid, message))
    }

    /// Adds the row to those that are written.
    pub(super) fn write(&self, new: &mut Rows, changed: &mut Rows) {
        let numbers = [
            self.id,
            number(self.step),
            number(self.committed),
            number(self.epoch.0),
            number(self.token.0),
            number(self.last_seq),
            self.updated_at.0,
            number(self.usage.input),
            number(self.usage.output),
            number(self.usage.cache_read),
            number(self.usage.cache_write),
            number(self.usage.reasoning),
        ];
        let row = Row::default().text(self.owner.as_deref());
        match &self.state {
            State::Unchanged => {}
            State::Changed => changed.push(&numbers, &row),
            State::New { name, origin, created_at } => {
                let (origin, parent, step) = match origin {
                    Origin::Root => ("root", None, None),
                    Origin::Child { parent } => ("child", Some(parent.as_str()), None),
                    Origin::Fork { parent, step } => ("fork", Some(parent.as_str()), Some(number(*step))),
                };
                let row = row.number(created_at.0).text(name.as_str()).text(origin).text(parent).number(step);
                new.push(&numbers, &row);
            }
        }
    }
}
