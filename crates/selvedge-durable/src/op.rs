//! What is asked of the writer, and what it answers.

use selvedge_event::{Step, ThreadId, Timestamp, UserChoice};

use crate::step_rows::StepRows;

/// A session's number in the database.
pub(crate) type SessionId = i64;

/// One thing to be done, whole, within some transaction.
#[derive(Debug)]
pub(crate) enum Op {
    /// Keeps the rows of a step in place of whatever is there of it, if the step is the newest one or the one after
    /// it; otherwise nothing is done, and the answer is [`Answer::Gap`]. A thread's first step comes with the thread's
    /// creation, which tells it from another that had its name.
    Commit { thread: ThreadId, rows: StepRows, created_at: Option<Timestamp> },
    /// Keeps a choice. [`Answer::Gap`] if the thread is not there.
    Require { thread: ThreadId, choice: UserChoice },
    /// Forgets a choice.
    Dismiss { thread: ThreadId, choice: String },
    /// Keeps these choices and no others.
    Choices { thread: ThreadId, choices: Vec<UserChoice> },
    /// Begins to build a thread anew, beside what is kept of it.
    Begin { thread: ThreadId, inherited: Step },
    /// Adds steps to a thread that is being built.
    Append { session: SessionId, steps: Vec<StepRows> },
    /// Puts what was built in the place of what was kept, if that is still at step `kept`.
    Finish { session: SessionId, kept: Option<Step>, built: Built },
    /// Forgets a thread.
    Forget { thread: ThreadId },
    /// Forgets what was being built, by whomever.
    Sweep,
}

/// What is known of a thread that has been built beside its steps.
#[derive(Debug, Clone)]
pub(crate) struct Built {
    pub(crate) step: Step,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) choices: Vec<UserChoice>,
}

/// What became of an [`Op`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    /// A step is kept; whether choices of the thread wait.
    Kept {
        choices: bool,
    },
    /// What is kept does not lead up to what was to be added: the thread must be built anew.
    Gap,
    /// A thread is being built under this number.
    Building {
        session: SessionId,
    },
    /// Somebody else has changed or built the thread meanwhile.
    Overtaken,
}
