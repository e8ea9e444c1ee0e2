//! The plain data of Selvedge: what a thread takes in, keeps, shows and is made of.
//!
//! ```
//! use selvedge_event::{AgentEvent, Transcript};
//!
//! let mut transcript = Transcript::default();
//! transcript.apply(&AgentEvent::UserInput { step: 1, input_id: "a".into(), text: "hello".into() });
//! transcript.apply(&AgentEvent::CompletionStarted { step: 1, attempt: 1 });
//! transcript.apply(&AgentEvent::TextChunk { text: "hi ".into() });
//! transcript.apply(&AgentEvent::TextChunk { text: "there".into() });
//! assert_eq!(transcript.items().len(), 2);
//! assert_eq!(transcript.items()[1].id.to_string(), "1.1");
//! ```
//!
//! What it is: values with a serde form, and pure functions over them: [`replay`] turns kept messages into the events
//! that show them, [`Transcript`] folds events into what a viewer shows.
//! What it is not: it knows no clock, no store, no runtime and no network, and starts nothing.
//!
//! Text is shared ([`Text`] is an `Arc<str>`): cloning an event or a message copies no text.

mod choice;
mod display;
mod event;
mod flat;
mod id;
mod input;
mod log;
mod message;
pub mod replay;
mod snapshot;
mod thread;
mod transcript;
mod usage;

pub use choice::{ChoiceEnd, ChoiceResolution, UserChoice};
pub use display::{Content, DisplaySegment, View};
pub use event::{AgentEvent, Discard};
pub use id::{CallId, ChoiceId, IdError, InputId, ItemId, Step, ThreadId};
pub use input::{Delivery, Input, ToolReply};
pub use log::SharedLog;
pub use message::{
    Arguments, AssistantMessage, BlobRef, Block, CompactionSummary, FailureKind, Message, ModelRef, Outcome,
    SubscriptionMessage, ToolCall, ToolResult, ToolStatus, TurnRecord, UserMessage,
};
pub use snapshot::{OAuthNotice, OpenCall, PartialTurn, ReplaySnapshot};
pub use thread::{Subscription, Timestamp};
pub use transcript::{Item, ItemKind, Transcript};
pub use usage::Usage;

/// Text that is shared, not copied, when it is cloned.
pub type Text = std::sync::Arc<str>;

/// The committed part of a thread, oldest turn first: cloning it is one reference count, whatever its length.
pub type History = SharedLog<std::sync::Arc<TurnRecord>>;
