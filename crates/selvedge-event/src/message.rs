//! Messages: what a turn appends to a thread's history, and what is kept for ever.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::flat::{FlatAssistant, FlatBlock};
use crate::{CallId, Content, DisplaySegment, InputId, Step, Text, Timestamp, Usage};

/// The messages that one step appended, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// The step; steps that appended nothing leave gaps.
    pub step: Step,
    /// When the step was staged.
    pub at: Timestamp,
    /// What it appended.
    pub messages: Vec<Message>,
}

/// One entry of a thread's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Message {
    /// What the user wrote.
    User(Arc<UserMessage>),
    /// What the model answered, or how its completion failed.
    Assistant(Arc<AssistantMessage>),
    /// The one result of a call.
    ToolResult(Arc<ToolResult>),
    /// News from a subscribed call.
    SubscriptionEvent(Arc<SubscriptionMessage>),
    /// A summary that stands for everything before it in requests to the model.
    Compaction(Arc<CompactionSummary>),
}

impl Message {
    /// The message's kind as one word, as in its serde form.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "tool_result",
            Self::SubscriptionEvent(_) => "subscription_event",
            Self::Compaction(_) => "compaction",
        }
    }

    /// Bytes of its text, what a provider wants to see again verbatim included: what grows. Ids, tags and numbers are not
    /// counted.
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::User(user) => user.text.len(),
            Self::Assistant(assistant) => {
                let failure = match &assistant.outcome {
                    Outcome::Failed { message, .. } => message.len(),
                    _ => 0,
                };
                failure + assistant.blocks.iter().map(Block::text_bytes).sum::<usize>()
            }
            Self::ToolResult(result) => result.text_bytes(),
            Self::SubscriptionEvent(event) => event.text.len() + event.arguments.raw().len(),
            Self::Compaction(compaction) => compaction.summary.len(),
        }
    }
}

/// What the user wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The input that brought it.
    pub input_id: InputId,
    /// The text; never blank.
    pub text: Text,
}

/// What the model answered in one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "FlatAssistant")]
pub struct AssistantMessage {
    /// The attempt that succeeded, from 1, or the last one that failed.
    pub attempt: u32,
    /// The model that was asked.
    pub model: Arc<ModelRef>,
    /// What it said, in the order in which it was streamed. Empty if it said nothing.
    pub blocks: Vec<Block>,
    /// How the completion ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Tokens of all attempts of the step.
    pub usage: Usage,
}

impl AssistantMessage {
    /// The calls among the blocks, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// Which model, reached how.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelRef {
    /// The wire protocol, such as `openai-chat`.
    pub api: Text,
    /// Who serves it, such as a host name.
    pub provider: Text,
    /// The model's name there.
    pub model: Text,
}

/// A piece of a model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "FlatBlock")]
pub enum Block {
    /// Prose; never blank.
    Text {
        /// The text.
        text: Text,
        /// The provider's own JSON of the block, for verbatim replay.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Text>,
    },
    /// Reasoning.
    Reasoning {
        /// What may be shown of it; empty where the provider hides it.
        text: Text,
        /// The provider's own JSON of the block, signature included, for verbatim replay.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Text>,
        /// Whether it ended by itself. Reasoning that was cut off is shown, never replayed.
        complete: bool,
    },
    /// A tool call.
    ToolCall(Arc<ToolCall>),
}

impl Block {
    fn text_bytes(&self) -> usize {
        let optional = |text: &Option<Text>| text.as_ref().map_or(0, |text| text.len());
        match self {
            Self::Text { text, native } | Self::Reasoning { text, native, .. } => text.len() + optional(native),
            Self::ToolCall(call) => call.arguments.raw().len() + optional(&call.display_as) + optional(&call.native),
        }
    }
}

/// A call that the model made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The runtime's own id, unique within the thread.
    pub id: CallId,
    /// The id that the provider gave, which need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<Text>,
    /// The tool's name, as the model wrote it.
    pub name: Text,
    /// What it is called with.
    pub arguments: Arguments,
    /// The call as a viewer shows it, where the tool says how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_as: Option<Text>,
    /// The provider's own JSON of the block, for verbatim replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Text>,
}

/// The arguments of a call: the model's own bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// The text of a JSON object.
    Object(Text),
    /// Text that is not a JSON object. Such a call is answered with an error and never dispatched.
    Broken(Text),
}

impl Arguments {
    /// The model's own bytes.
    pub fn raw(&self) -> &Text {
        match self {
            Self::Object(raw) | Self::Broken(raw) => raw,
        }
    }
}

/// How a completion ended. A failure never looks like a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The model had said what it had to say.
    Stopped,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The answer reached the limit of its length.
    Length,
    /// The provider withheld the answer, or the rest of it.
    ContentFilter,
    /// It was interrupted; what was streamed is kept.
    Interrupted,
    /// It failed for good; nothing of it is kept.
    Failed {
        /// What kind of failure.
        failure: FailureKind,
        /// What the provider or the runtime said.
        message: Text,
    },
}

/// Kinds of failed completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The provider does not accept the key (401, 403).
    Auth,
    /// The provider does not accept the request (400, 404, 413, 422).
    InvalidRequest,
    /// Too many requests (429).
    RateLimited,
    /// The provider has no capacity now (503, 529).
    Overloaded,
    /// The provider failed (other 5xx).
    Server,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// The stream ended before its protocol's end.
    Truncated,
    /// The answer does not follow its protocol.
    Protocol,
    /// The model went on calling tools beyond the bound on completions for one input.
    LoopLimit,
    /// Anything else.
    Other,
}

/// The one result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub call_id: CallId,
    /// How it went.
    pub status: ToolStatus,
    /// What the model reads.
    pub content: Arc<[Content]>,
    /// What a viewer shows; empty if the content does as well.
    #[serde(default, skip_serializing_if = "<[DisplaySegment]>::is_empty")]
    pub display: Arc<[DisplaySegment]>,
    /// The whole output, where `content` had to be cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobRef>,
}

impl ToolResult {
    /// A result of plain text.
    pub fn text(call_id: CallId, status: ToolStatus, text: impl Into<Text>) -> Self {
        Self { call_id, status, content: [Content::Text { text: text.into() }].into(), display: [].into(), blob: None }
    }

    fn text_bytes(&self) -> usize {
        let content = self.content.iter().map(|content| match content {
            Content::Text { text } => text.len(),
            Content::Image { data, .. } => data.len(),
        });
        let display = self.display.iter().map(|segment| match segment {
            DisplaySegment::Text(text) => text.len(),
            DisplaySegment::Diff { path, patch } => path.len() + patch.len(),
            DisplaySegment::Image { data, .. } => data.len(),
        });
        content.chain(display).sum()
    }

    /// The text parts of the content, joined by newlines.
    pub fn joined_text(&self) -> String {
        let parts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|content| match content {
                Content::Text { text } => Some(&**text),
                Content::Image { .. } => None,
            })
            .collect();
        parts.join("\n")
    }
}

/// How a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The tool answered.
    Ok,
    /// The tool, or the runtime on its behalf, reports an error.
    Error,
    /// The call was not executed: it was interrupted before its dispatch.
    NotExecuted,
    /// The call was interrupted while it ran; it may have executed.
    Interrupted,
    /// What became of the call is not known; it may have run.
    Unknown,
}

/// Where the whole of a large output is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    /// The blob's name in the thread's store.
    pub id: Text,
    /// Its size in bytes.
    pub bytes: u64,
}

/// News from a subscribed call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionMessage {
    /// The input that brought it.
    pub input_id: InputId,
    /// The id of the synthetic call under which the model reads the news.
    pub event_id: CallId,
    /// The call that subscribed.
    pub call_id: CallId,
    /// The tool that was called.
    pub tool: Text,
    /// What it was called with.
    pub arguments: Arguments,
    /// The news.
    pub text: Text,
    /// Whether the subscription ended with it.
    pub last: bool,
}

/// A summary that stands for everything before it in requests to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionSummary {
    /// The summary.
    pub summary: Text,
}
