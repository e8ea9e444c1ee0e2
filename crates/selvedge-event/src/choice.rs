//! Choices that a tool puts before the user.

use serde::{Deserialize, Serialize};

use crate::{CallId, ChoiceId, Text, Timestamp};

/// A question with fixed answers, raised by a running tool call and open until it is answered, dismissed or expired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserChoice {
    /// The choice's name within its thread.
    pub id: ChoiceId,
    /// The call that asks.
    pub call_id: CallId,
    /// The question.
    pub prompt: Text,
    /// The answers to choose from; at least one.
    pub options: Vec<Text>,
    /// The place in `options` that counts when the choice is dismissed or expires.
    pub default: usize,
    /// When the choice expires; `None` if it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// How a choice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceEnd {
    /// Somebody chose.
    Answered,
    /// The thread was interrupted, or the call that asked is no more; the default counts.
    Dismissed,
    /// Its time ran out; the default counts.
    Expired,
}

/// The end of a choice and what counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceResolution {
    /// The choice that ended.
    pub id: ChoiceId,
    /// The call that had asked.
    pub call_id: CallId,
    /// How it ended.
    pub end: ChoiceEnd,
    /// The place in its options that counts.
    pub selected: usize,
}
