//! Inputs: whatever wakes a thread. One type, one way in.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{BlobRef, CallId, ChoiceEnd, ChoiceId, Content, DisplaySegment, Text, ToolStatus, UserChoice, View};

/// What user text does to a completion or to tool calls that are running when it arrives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It interrupts them: what was streamed is kept, open calls are settled, then the text is answered.
    #[default]
    Interrupt,
    /// It waits in line for them.
    Queued,
}

/// Something that a thread takes in. It is durable in the inbox before anyone acts on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Input {
    /// What the user wrote; never blank.
    UserText {
        /// The text.
        text: Text,
        /// Whether it interrupts.
        #[serde(default)]
        delivery: Delivery,
    },
    /// A request to stop what runs, without text.
    Interrupt,
    /// The result of a tool call.
    ToolResult(ToolReply),
    /// News from a call that subscribed, injected into the thread.
    SubscriptionEvent {
        /// The call that subscribed.
        call_id: CallId,
        /// The news.
        text: Text,
        /// Whether the subscription ends with it.
        #[serde(default)]
        last: bool,
    },
    /// A running call needs the user to sign in somewhere; the call stays open.
    OAuthNotice {
        /// The call that waits.
        call_id: CallId,
        /// Where the user signs in.
        auth_url: Text,
    },
    /// A running call asks the user.
    ChoiceRequest {
        /// What it asks.
        choice: UserChoice,
    },
    /// An answer to a choice, or the end of its time.
    ChoiceAnswer {
        /// The choice.
        choice_id: ChoiceId,
        /// The place in its options.
        selected: usize,
        /// [`ChoiceEnd::Answered`] or [`ChoiceEnd::Expired`].
        end: ChoiceEnd,
    },
    /// A call shows or replaces a view.
    ViewUpdate(View),
}

impl Input {
    /// User text that interrupts what runs.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::UserText { text: text.into(), delivery: Delivery::Interrupt }
    }

    /// User text that waits in line.
    pub fn queued(text: impl Into<Text>) -> Self {
        Self::UserText { text: text.into(), delivery: Delivery::Queued }
    }

    /// Whether the input, once accepted, cuts off a running completion.
    pub fn interrupts(&self) -> bool {
        matches!(self, Self::Interrupt | Self::UserText { delivery: Delivery::Interrupt, .. })
    }

    /// The call whose result the input is.
    pub fn result_of(&self) -> Option<&CallId> {
        match self {
            Self::ToolResult(reply) => Some(&reply.call_id),
            _ => None,
        }
    }
}

/// What a tool answers to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReply {
    /// The call that is answered.
    pub call_id: CallId,
    /// [`ToolStatus::Ok`] or [`ToolStatus::Error`] when the tool speaks; the others are the runtime's.
    pub status: ToolStatus,
    /// What the model reads; bounded, see `blob`.
    pub content: Arc<[Content]>,
    /// What a viewer shows; empty if the content does as well.
    #[serde(default, skip_serializing_if = "<[DisplaySegment]>::is_empty")]
    pub display: Arc<[DisplaySegment]>,
    /// The whole output, where `content` had to be cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobRef>,
    /// Whether the call goes on as a subscription.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subscription: bool,
}

impl ToolReply {
    /// A plain text answer.
    pub fn text(call_id: CallId, status: ToolStatus, text: impl Into<Text>) -> Self {
        Self {
            call_id,
            status,
            content: [Content::Text { text: text.into() }].into(),
            display: [].into(),
            blob: None,
            subscription: false,
        }
    }
}
