//! What most embedders need, in one `use`.

pub use crate::{BuildError, System};
pub use selvedge_event::{
    AgentEvent, CallId, ChoiceId, Delivery, Input, InputId, Item, ItemKind, Outcome, ReplaySnapshot, ThreadId,
    ToolStatus, Transcript, UserChoice,
};
pub use selvedge_model::{ModelProvider, Reply, ScriptedModel};
pub use selvedge_observer::{BoxError, EventCollector, NullObserver, Tee, ThreadObserver};
pub use selvedge_runtime::{RunningSystem, StepRunner, Tool, ToolContext, ToolOutput, ToolSpec, tool};
pub use selvedge_store::{ConversationStore, MemoryStore};

#[cfg(feature = "schema")]
pub use crate::typed_tool;
#[cfg(feature = "durable")]
pub use selvedge_durable::{DurableObserver, Sessions};
#[cfg(feature = "openai-chat")]
pub use selvedge_providers::OpenAiChat;
#[cfg(feature = "sqlite")]
pub use selvedge_sqlite::SqliteStore;
