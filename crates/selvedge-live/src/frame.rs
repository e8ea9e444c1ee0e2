//! Frames: what a subscriber is given.

use std::sync::OnceLock;

use selvedge_event::{AgentEvent, ChoiceId, Content, DisplaySegment, Outcome, ReplaySnapshot, Step, UserChoice};
use serde::{Deserialize, Serialize};

use crate::Cursor;

/// One thing that a subscriber is given, and its place. All subscribers share one frame and its JSON.
///
/// ```
/// # use selvedge_live::{Frame, FrameKind};
/// # use selvedge_event::AgentEvent;
/// let frame = Frame::new("00000000000000ff.12".parse().unwrap(), FrameKind::Event(AgentEvent::ThinkingStarted));
/// let json = r#"{"cursor":"00000000000000ff.12","frame":"event","data":{"type":"thinking_started"}}"#;
/// assert_eq!(frame.json(), json);
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Frame {
    /// Its place: where to resume when this frame was the last that was seen.
    pub cursor: Cursor,
    /// What it brings.
    #[serde(flatten)]
    pub kind: FrameKind,
    #[serde(skip)]
    json: OnceLock<Box<str>>,
}

/// What a frame brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "frame", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum FrameKind {
    /// The thread as it is: forget what was shown before.
    Snapshot(Box<ReplaySnapshot>),
    /// The thread did something. For who lags behind, neighbouring chunks of text are one.
    Event(AgentEvent),
    /// A running call asks the user; the step that brought the question is committed.
    ChoiceRequired(UserChoice),
    /// A choice is moot.
    ChoiceDismissed(ChoiceId),
    /// A step is durable, and the embedding agrees.
    Committed {
        /// The step.
        step: Step,
    },
    /// The frames from the cursor on cannot be had. A snapshot comes next, by itself.
    Resync {
        /// Why.
        reason: ResyncReason,
    },
}

/// Why a subscriber gets a snapshot in place of the frames that it has missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResyncReason {
    /// It was behind by more than its budget.
    Lagging,
    /// What comes after the cursor is kept no more.
    Overrun,
    /// Others have run the thread meanwhile, or there is another of its name.
    Discontinued,
    /// The cursor is of a feed that is no more: the process was restarted, or the feed was given up.
    OtherEpoch,
    /// The feed has not reached the cursor.
    Ahead,
}

impl Frame {
    /// A frame at a place.
    pub fn new(cursor: Cursor, kind: FrameKind) -> Self {
        Self { cursor, kind, json: OnceLock::new() }
    }

    /// The frame as one line of JSON; made when it is first asked for, and kept.
    pub fn json(&self) -> &str {
        self.json.get_or_init(|| {
            let json = serde_json::to_string(self);
            json.expect("bug: a frame has no map whose keys are not text").into_boxed_str()
        })
    }

    /// The event, if it brings one.
    pub fn event(&self) -> Option<&AgentEvent> {
        match &self.kind {
            FrameKind::Event(event) => Some(event),
            _ => None,
        }
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        self.cursor == other.cursor && self.kind == other.kind
    }
}

impl Eq for Frame {}

impl FrameKind {
    /// The bytes that a ring charges for it: about what it holds once its JSON is made. Found without making it.
    pub(crate) fn weight(&self) -> usize {
        /// The frame itself, its place in the ring, the reference counts of its texts, the names in its JSON.
        const FRAME: usize = size_of::<Frame>() + 128;
        let text = match self {
            Self::Event(event) => event_text(event),
            Self::ChoiceRequired(choice) => {
                choice.prompt.len() + choice.options.iter().map(|option| option.len() + 16).sum::<usize>()
            }
            Self::ChoiceDismissed(id) => id.as_str().len(),
            // The first two are not kept in a ring.
            Self::Snapshot(_) | Self::Resync { .. } | Self::Committed { .. } => 0,
        };
        FRAME + 2 * text
    }
}

/// The text of an event in bytes.
fn event_text(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::UserInput { text, .. }
        | AgentEvent::TextChunk { text }
        | AgentEvent::ThinkingChunk { text }
        | AgentEvent::SubscriptionEvent { text, .. }
        | AgentEvent::Info { text, .. } => text.len(),
        AgentEvent::ToolCall { name, arguments, display_as, .. } => {
            name.len() + arguments.len() + display_as.as_ref().map_or(0, |shown| shown.len())
        }
        AgentEvent::ToolResult { result, .. } => {
            let content = result.content.iter().map(|content| match content {
                Content::Text { text } => text.len(),
                Content::Image { data, .. } => data.len(),
            });
            let display = result.display.iter().map(|segment| match segment {
                DisplaySegment::Text(text) => text.len(),
                DisplaySegment::Diff { path, patch } => path.len() + patch.len(),
                DisplaySegment::Image { data, .. } => data.len(),
            });
            content.chain(display).map(|bytes| bytes + 32).sum()
        }
        AgentEvent::OAuthRequired { auth_url, .. } => auth_url.len(),
        AgentEvent::CompactionApplied { summary, .. } => summary.len(),
        AgentEvent::CompletionFinished { outcome: Outcome::Failed { message, .. }, .. } => message.len(),
        AgentEvent::ViewUpdated(view) => view.view_type.len() + view.content.len(),
        _ => 0,
    }
}
