//! What a tool answers.

use selvedge_event::{CallId, Content, DisplaySegment, Text, ToolReply, ToolStatus};

/// What a call of a tool gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<Content>,
    /// What viewers show; empty if the content does as well.
    pub display: Vec<DisplaySegment>,
    /// Whether the call failed in the tool's own eyes.
    pub is_error: bool,
    /// Whether the call goes on as a subscription; see [`crate::ToolContext::subscription`].
    pub subscription: bool,
}

impl ToolOutput {
    /// Plain text.
    pub fn text(text: impl Into<Text>) -> Self {
        Self { content: vec![Content::Text { text: text.into() }], ..Self::default() }
    }

    /// An error that the model reads.
    pub fn error(text: impl Into<Text>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// With something for viewers.
    #[must_use]
    pub fn with_display(mut self, segment: DisplaySegment) -> Self {
        self.display.push(segment);
        self
    }

    /// The call goes on as a subscription.
    #[must_use]
    pub fn subscribed(mut self) -> Self {
        self.subscription = true;
        self
    }

    pub(crate) fn into_reply(self, call_id: CallId) -> ToolReply {
        ToolReply {
            call_id,
            status: if self.is_error { ToolStatus::Error } else { ToolStatus::Ok },
            content: self.content.into(),
            display: self.display.into(),
            blob: None,
            subscription: self.subscription,
        }
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// What a tool knows of a call that may have run before a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOutcome {
    /// Nothing.
    Unknown,
    /// It never ran.
    NotRun,
    /// It ran, and gave this.
    Ran(ToolOutput),
}
