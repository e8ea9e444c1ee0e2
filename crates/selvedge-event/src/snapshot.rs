//! What a new subscriber must know at the moment it attaches.

use serde::{Deserialize, Serialize};

use crate::{
    AgentEvent, Block, CallId, History, Message, Step, Text, ThreadId, Timestamp, Usage, UserChoice, View, replay,
};

/// The state of a thread between two events. Folded into a [`crate::Transcript`] and followed by the events after it,
/// it gives what the whole feed gives.
///
/// Making and cloning one costs what is in progress, not what the history holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaySnapshot {
    /// The thread.
    pub thread_id: ThreadId,
    /// When the thread was created: another time means another thread, whose name is the same.
    pub created_at: Timestamp,
    /// The newest synced step; it may have appended nothing to `history`.
    pub step: Step,
    /// The newest step that is known to be committed: `step`, or the one before it while the barrier is under way.
    pub committed: Step,
    /// The synced turns, oldest first; all of them, or the latest page: whole turns, the newest among them.
    pub history: History,
    /// Where older turns begin to be missing from `history`: ask the store for the page before this step. Everything of
    /// this step and later ones is here. `None` if `history` goes back to the beginning.
    pub older: Option<Step>,
    /// What the running step has shown so far; `None` between steps.
    pub partial: Option<PartialTurn>,
    /// Calls without a result, in call order.
    pub open_calls: Vec<OpenCall>,
    /// Choices that wait for an answer, oldest first.
    pub choices: Vec<UserChoice>,
    /// Sign-ins that running calls wait for, oldest first.
    pub oauth: Vec<OAuthNotice>,
    /// The latest view of each type.
    pub views: Vec<View>,
    /// Tokens of all synced steps, those before `older` among them (a fork's own begin at its fork).
    pub usage: Usage,
}

/// What a step has shown and not yet synced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialTurn {
    /// The step.
    pub step: Step,
    /// What is whole: the inputs, and after the completion its message and the results of undispatched calls.
    pub messages: Vec<Message>,
    /// The attempt that runs; `None` when no completion runs.
    pub attempt: Option<u32>,
    /// What the running attempt has streamed.
    pub blocks: Vec<Block>,
    /// Whether the last of `blocks` is reasoning that goes on.
    pub thinking: bool,
}

impl PartialTurn {
    /// The events that show it.
    pub fn events(&self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        for message in &self.messages {
            replay::message(self.step, message, &mut events);
        }
        if let Some(attempt) = self.attempt {
            events.push(AgentEvent::CompletionStarted { step: self.step, attempt });
            replay::blocks(&self.blocks, &mut events);
            if self.thinking && events.last() == Some(&AgentEvent::ThinkingEnded) {
                events.pop();
            }
        }
        events
    }
}

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The call.
    pub call_id: CallId,
    /// The tool's name.
    pub name: Text,
}

/// A sign-in that a running call waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthNotice {
    /// The call that waits.
    pub call_id: CallId,
    /// Where the user signs in.
    pub auth_url: Text,
}
