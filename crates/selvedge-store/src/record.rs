//! What a store gives back.

use std::sync::Arc;

use selvedge_event::{
    ChoiceResolution, Input, InputId, OAuthNotice, Step, Subscription, ThreadId, Timestamp, TurnRecord, Usage,
    UserChoice, View,
};
use serde::{Deserialize, Serialize};

use crate::{Epoch, PlannedCall, SyncToken};

/// The place of an input in its thread's inbox; grows with acceptance, never reused.
pub type SeqNo = u64;

/// Everything that is kept of a thread beside its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRecord {
    /// The thread.
    pub thread: ThreadId,
    /// Where it comes from.
    pub origin: Origin,
    /// When it was created: the arrival of its first input.
    pub created_at: Timestamp,
    /// Where its writers are.
    pub head: Head,
    /// The newest step that is known to be committed; at most `head.step`.
    pub committed: Step,
    /// Calls that are not settled, in call order.
    pub open_calls: Vec<PlannedCall>,
    /// Choices of open calls, oldest first, with their resolution if they have one.
    pub choices: Vec<(UserChoice, Option<ChoiceResolution>)>,
    /// Live subscriptions, oldest first.
    pub subscriptions: Vec<Subscription>,
    /// Sign-ins that open calls wait for, in the order in which they came: one that replaces another is the newest.
    pub oauth: Vec<OAuthNotice>,
    /// The latest view of each type, in the order in which they came: one that replaces another is the newest.
    pub views: Vec<View>,
    /// Tokens of all its own steps (a fork's begin at its fork).
    pub usage: Usage,
    /// Accepted inputs that no step has taken, in order.
    pub inbox: Vec<InboxEntry>,
    /// Records of the inbox and of the state that could not be read. They are left as they are.
    pub quarantined: Vec<Quarantined>,
}

/// Where a thread comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum Origin {
    /// An input.
    Root,
    /// A step of another thread.
    Child {
        /// That thread.
        parent: ThreadId,
    },
    /// The history of another thread, up to a step.
    Fork {
        /// That thread.
        parent: ThreadId,
        /// The last step that the fork shares.
        step: Step,
    },
}

/// What a sync compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The thread's newest step.
    pub step: Step,
    /// The epoch of its newest claim.
    pub epoch: Epoch,
    /// The token of its newest sync; 0 if there was none.
    pub token: SyncToken,
}

/// An accepted input that no step has taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxEntry {
    /// Its place.
    pub seq: SeqNo,
    /// Its id.
    pub id: InputId,
    /// The input.
    pub input: Input,
    /// When it arrived.
    pub at: Timestamp,
}

/// Some turns of a history, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryPage {
    /// Whole turns, oldest first; turns without messages are not kept.
    pub turns: Vec<Arc<TurnRecord>>,
    /// Ask for the page before this step to go on; `None` at the beginning of the history.
    pub older: Option<Step>,
    /// Records of the page that could not be read. They are missing from `turns` and left as they are.
    pub quarantined: Vec<Quarantined>,
}

/// A record that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// Where it is, for a person: table and key.
    pub place: String,
    /// Why it cannot be read.
    pub reason: String,
}

/// A line about a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSummary {
    /// The thread.
    pub thread: ThreadId,
    /// Where it comes from.
    pub origin: Origin,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its newest step was staged, or when it was created.
    pub updated_at: Timestamp,
    /// Its newest step.
    pub step: Step,
    /// How many inputs wait.
    pub inbox: u64,
    /// How many calls are open.
    pub open_calls: u64,
    /// Tokens of all its own steps.
    pub usage: Usage,
}

/// Which part of the list of threads, which is sorted by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadsAfter {
    /// Only threads after this one; `None` from the beginning.
    pub after: Option<ThreadId>,
    /// At most this many.
    pub limit: usize,
}
