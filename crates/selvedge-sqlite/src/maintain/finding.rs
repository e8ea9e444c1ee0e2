//! What can be wrong with a database, as data.

use std::fmt;

use selvedge_event::{CallId, ChoiceId, InputId, Step, Text, ThreadId, Usage};

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The thread that it concerns; `None` if it is the file's as a whole.
    pub thread: Option<ThreadId>,
    /// What it is.
    pub problem: Problem,
}

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file itself is damaged; SQLite's own words.
    Damaged(String),
    /// A record cannot be read. It is quarantined: the thread goes on without it, and it is left as it is. What a call,
    /// its result or a sum has to do with a record that cannot be read is not judged.
    Unreadable {
        /// Where it is: table and key.
        place: String,
        /// Why it cannot be read.
        reason: String,
    },
    /// Rows belong to a thread that is not there.
    Orphans {
        /// The table.
        table: String,
        /// The number by which they refer to their thread.
        thread: i64,
        /// How many.
        rows: u64,
    },
    /// A turn stands beyond the thread's newest step: the next step would collide with it.
    TurnBeyond {
        /// The newest such turn.
        turn: Step,
        /// The thread's newest step.
        step: Step,
    },
    /// A turn stands before the first step that the thread can have: within what a fork shares, or what was pruned.
    TurnBefore {
        /// The oldest such turn.
        turn: Step,
        /// The first step that it can have.
        first: Step,
    },
    /// A turn lacks a message.
    MessageMissing {
        /// The turn.
        step: Step,
        /// The message's place within it.
        place: u64,
    },
    /// A step counts as committed that the thread has not reached.
    CommittedBeyond {
        /// The newest step that counts as committed.
        committed: Step,
        /// The thread's newest step.
        step: Step,
    },
    /// The inbox holds numbers that the thread has not given out: the next input would collide with one.
    InboxBeyond {
        /// The newest number in the inbox.
        seq: u64,
        /// The newest number that was given out.
        last: u64,
    },
    /// An input was taken in, and its id is not known any more: a redelivery would be taken in again.
    InputForgotten(InputId),
    /// A call is open that no message makes.
    CallWithoutMessage(CallId),
    /// A call has no result and is not open: nobody will ever settle it.
    CallLost(CallId),
    /// Two messages make calls of one id.
    CallTwice(CallId),
    /// A call is open that has its result.
    CallSettled(CallId),
    /// A result is of no call.
    ResultWithoutCall(CallId),
    /// A call has a second result.
    ResultTwice(CallId),
    /// A choice belongs to a call that is not open: nobody waits for an answer.
    ChoiceWithoutCall {
        /// The call.
        call: CallId,
        /// The choice.
        choice: ChoiceId,
    },
    /// A sign-in belongs to a call that is not open.
    SignInWithoutCall(CallId),
    /// A thread's tokens are not the sum of its messages', removed ones included.
    Usage {
        /// What is kept.
        kept: Usage,
        /// The sum of what its messages say.
        counted: Usage,
    },
    /// A fork's parent is not there, and with it what they shared.
    ParentMissing(ThreadId),
    /// A fork shares steps that its parent does not have.
    ForkBeyond {
        /// The parent.
        parent: ThreadId,
        /// The last step that the fork shares.
        fork: Step,
        /// The parent's newest step.
        step: Step,
    },
    /// The whole output that a result refers to is not there, or only a part of it.
    Blob {
        /// The result's call.
        call: CallId,
        /// The output's name.
        blob: Text,
        /// Its size in bytes.
        bytes: u64,
        /// How many of them there are.
        kept: u64,
    },
}

impl Problem {
    /// Whether [`repair`](crate::SqliteStore::repair) can put it right without losing anything.
    pub fn is_repairable(&self) -> bool {
        match self {
            Self::TurnBeyond { .. }
            | Self::CommittedBeyond { .. }
            | Self::InboxBeyond { .. }
            | Self::InputForgotten(_)
            | Self::CallLost(_)
            | Self::CallSettled(_)
            | Self::ChoiceWithoutCall { .. }
            | Self::SignInWithoutCall(_)
            | Self::Usage { .. } => true,
            Self::Damaged(_)
            | Self::Unreadable { .. }
            | Self::Orphans { .. }
            | Self::TurnBefore { .. }
            | Self::MessageMissing { .. }
            | Self::CallWithoutMessage(_)
            | Self::CallTwice(_)
            | Self::ResultWithoutCall(_)
            | Self::ResultTwice(_)
            | Self::ParentMissing(_)
            | Self::ForkBeyond { .. }
            | Self::Blob { .. } => false,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.thread {
            Some(thread) => write!(f, "thread {thread}: {}", self.problem),
            None => write!(f, "database: {}", self.problem),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(what) => write!(f, "the file is damaged: {what}"),
            Self::Unreadable { place, reason } => write!(f, "a record cannot be read: {place}: {reason}"),
            Self::Orphans { table, thread, rows } => {
                write!(f, "{rows} rows of the table {table} belong to thread number {thread}, which is not there")
            }
            Self::TurnBeyond { turn, step } => {
                write!(f, "the turn of step {turn} stands beyond the newest step, {step}")
            }
            Self::TurnBefore { turn, first } => {
                write!(f, "the turn of step {turn} stands before the first possible one, {first}")
            }
            Self::MessageMissing { step, place } => write!(f, "the turn of step {step} lacks its message {place}"),
            Self::CommittedBeyond { committed, step } => {
                write!(f, "step {committed} counts as committed, the newest is {step}")
            }
            Self::InboxBeyond { seq, last } => {
                write!(f, "the inbox holds number {seq}, the newest that was given out is {last}")
            }
            Self::InputForgotten(input) => write!(f, "the id of the input {input} is not known any more"),
            Self::CallWithoutMessage(call) => write!(f, "the call {call} is open, and no message makes it"),
            Self::CallLost(call) => write!(f, "the call {call} has no result and is not open"),
            Self::CallTwice(call) => write!(f, "the call {call} is made twice"),
            Self::CallSettled(call) => write!(f, "the call {call} has its result and is open"),
            Self::ResultWithoutCall(call) => write!(f, "there is a result for {call}, and no such call"),
            Self::ResultTwice(call) => write!(f, "the call {call} has two results"),
            Self::ChoiceWithoutCall { call, choice } => {
                write!(f, "the choice {choice} belongs to {call}, which is no open call")
            }
            Self::SignInWithoutCall(call) => write!(f, "a sign-in belongs to {call}, which is no open call"),
            Self::Usage { kept, counted } => {
                let [kept, counted] = [kept, counted].map(tokens);
                write!(f, "the thread counts {kept}, its messages {counted}")
            }
            Self::ParentMissing(parent) => write!(f, "it is a fork of {parent}, which is not there"),
            Self::ForkBeyond { parent, fork, step } => {
                write!(f, "it shares {parent} up to step {fork}, of which there are only {step}")
            }
            Self::Blob { call, blob, bytes, kept } => {
                write!(f, "of the output {blob} of {call}, {kept} of {bytes} bytes are there")
            }
        }
    }
}

fn tokens(usage: &Usage) -> String {
    let Usage { input, output, cache_read, cache_write, reasoning } = usage;
    format!("{input}/{output}/{cache_read}/{cache_write}/{reasoning} tokens")
}
