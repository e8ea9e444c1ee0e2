//! The event feed: everything that a thread does, as it does it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{CallId, InputId, ModelRef, Outcome, Step, Text, ToolResult, Usage, View};

/// Something that a thread did. Cloning one copies no text.
///
/// Events of a step come in this order: its inputs (`UserInput`, `ToolResult`, `SubscriptionEvent`, …), then, if the
/// model is asked, `CompletionStarted`, what it streams, `CompletionFinished`, then results of calls that are not
/// dispatched. [`crate::Transcript`] folds them into what a viewer shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The thread took in what the user wrote.
    UserInput {
        /// The step that took it.
        step: Step,
        /// The input's id.
        input_id: InputId,
        /// What the user wrote.
        text: Text,
    },
    /// The model is asked.
    CompletionStarted {
        /// The step that asks.
        step: Step,
        /// Which try within the step, from 1.
        attempt: u32,
    },
    /// The model says more; continues the text before it unless something else came between.
    TextChunk {
        /// What it says: whole characters, never empty.
        text: Text,
    },
    /// The model begins to reason.
    ThinkingStarted,
    /// The model reasons on.
    ThinkingChunk {
        /// Whole characters, never empty.
        text: Text,
    },
    /// The model ends its reasoning.
    ThinkingEnded,
    /// The model has written a whole call. It goes out once the turn is committed.
    ToolCall {
        /// The call's id.
        call_id: CallId,
        /// The tool's name.
        name: Text,
        /// The arguments, as the model wrote them.
        arguments: Text,
        /// The call as a viewer shows it, where the tool says how.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_as: Option<Text>,
    },
    /// A call has its result.
    ToolResult {
        /// The step that took it.
        step: Step,
        /// The result, with its call's id and its display segments.
        #[serde(flatten)]
        result: Arc<ToolResult>,
    },
    /// News from a subscribed call.
    SubscriptionEvent {
        /// The step that took it.
        step: Step,
        /// The call that subscribed.
        call_id: CallId,
        /// The news.
        text: Text,
        /// Whether the subscription ended with it.
        last: bool,
    },
    /// A running call waits for the user to sign in.
    #[serde(rename = "oauth_required")]
    OAuthRequired {
        /// The call that waits.
        call_id: CallId,
        /// Where the user signs in.
        auth_url: Text,
    },
    /// From here on, a summary stands for everything before it in requests to the model.
    CompactionApplied {
        /// The step that applied it.
        step: Step,
        /// The summary.
        summary: Text,
    },
    /// The completion has ended.
    CompletionFinished {
        /// The step that asked.
        step: Step,
        /// The attempt that ended.
        attempt: u32,
        /// How it ended.
        #[serde(flatten)]
        outcome: Outcome,
        /// The model that was asked.
        model: Arc<ModelRef>,
        /// Tokens of all attempts of the step.
        usage: Usage,
    },
    /// Something worth showing for a moment; not part of the transcript.
    Info {
        /// What.
        text: Text,
        /// The call that it is about, such as a running tool's progress.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<CallId>,
    },
    /// What was shown of an attempt, or of a whole step, is void.
    TurnDiscarded {
        /// The step.
        step: Step,
        /// The attempt that ended so; 0 where the step had not asked the model.
        attempt: u32,
        /// How much is void.
        scope: Discard,
    },
    /// A view appeared or was replaced.
    ViewUpdated(View),
}

impl AgentEvent {
    /// The step that the event names, if it names one.
    pub fn step(&self) -> Option<Step> {
        match self {
            Self::UserInput { step, .. }
            | Self::CompletionStarted { step, .. }
            | Self::ToolResult { step, .. }
            | Self::SubscriptionEvent { step, .. }
            | Self::CompactionApplied { step, .. }
            | Self::CompletionFinished { step, .. }
            | Self::TurnDiscarded { step, .. } => Some(*step),
            Self::TextChunk { .. }
            | Self::ThinkingStarted
            | Self::ThinkingChunk { .. }
            | Self::ThinkingEnded
            | Self::ToolCall { .. }
            | Self::OAuthRequired { .. }
            | Self::Info { .. }
            | Self::ViewUpdated(_) => None,
        }
    }
}

/// How much a [`AgentEvent::TurnDiscarded`] makes void.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discard {
    /// Everything since the attempt's `CompletionStarted`: it failed, and may be tried again.
    Attempt,
    /// Everything of the step: it could not be synced and is run again, or its events are about to be emitted again.
    Step,
}
