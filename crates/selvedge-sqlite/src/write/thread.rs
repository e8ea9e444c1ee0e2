//! A thread's row while a batch is decided: read in the batch's transaction, changed in memory, written once.

use selvedge_event::{Step, Timestamp, Usage};
use selvedge_store::{Epoch, Origin, StoreError, StoreErrorKind, SyncToken};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::op::number;
use super::row::{RowText, Rows};

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
    usage: UsageText,
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

/// The thread's tokens. What cannot be read is left as it is.
#[derive(Debug)]
enum UsageText {
    Kept(Vec<u8>),
    Changed(Usage),
}

impl Thread {
    /// From a row of the statement that begins a batch; with the thread's name.
    pub(super) fn read(row: &SqliteRow) -> Result<(String, Self), sqlx::Error> {
        let number = |column: usize| row.try_get::<i64, _>(column);
        let thread = Self {
            id: number(0)?,
            step: number(2)?.cast_unsigned(),
            committed: number(3)?.cast_unsigned(),
            epoch: Epoch(number(4)?.cast_unsigned()),
            owner: row.try_get(5)?,
            token: SyncToken(number(6)?.cast_unsigned()),
            last_seq: number(7)?.cast_unsigned(),
            updated_at: Timestamp(number(8)?),
            usage: UsageText::Kept(row.try_get(9)?),
            state: State::Unchanged,
        };
        Ok((row.try_get(1)?, thread))
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
            usage: UsageText::Changed(Usage::default()),
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
        let known = match &self.usage {
            _ if more == Usage::default() => return,
            UsageText::Changed(usage) => *usage,
            UsageText::Kept(text) => match serde_json::from_slice(text) {
                Ok(usage) => usage,
                // It is reported whenever the thread is loaded, and never overwritten.
                Err(_unreadable) => return,
            },
        };
        self.usage = UsageText::Changed(known + more);
        self.changed();
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
    pub(super) fn write(&self, new: &mut Rows, changed: &mut Rows) -> Result<(), serde_json::Error> {
        let numbers = [
            self.id,
            number(self.step),
            number(self.committed),
            number(self.epoch.0),
            number(self.token.0),
            number(self.last_seq),
            self.updated_at.0,
        ];
        let text = RowText::default();
        let text = match &self.owner {
            Some(owner) => text.text(owner)?,
            None => text.null(),
        };
        let text = match &self.usage {
            UsageText::Changed(usage) => text.json(usage)?,
            UsageText::Kept(_) => text.null(),
        };
        match &self.state {
            State::Unchanged => {}
            State::Changed => changed.push(&numbers, &text),
            State::New { name, origin, created_at } => {
                let text = text.number(created_at.0).text(name)?;
                let text = match origin {
                    Origin::Root => text.text("root")?.null().null(),
                    Origin::Child { parent } => text.text("child")?.text(parent.as_str())?.null(),
                    Origin::Fork { parent, step } => text.text("fork")?.text(parent.as_str())?.number(number(*step)),
                };
                new.push(&numbers, &text);
            }
        }
        Ok(())
    }
}
