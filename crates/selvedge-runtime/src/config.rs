//! What a thread runs with: its model, its tools, its instructions.

use std::sync::Arc;

use async_trait::async_trait;
use selvedge_event::{Text, ThreadId};
use selvedge_model::ModelProvider;
use selvedge_observer::BoxError;

use crate::ToolSet;

/// What a thread runs with, for as long as it is resident.
#[derive(Debug, Clone)]
pub struct ThreadConfig {
    /// The model that answers.
    pub model: Arc<dyn ModelProvider>,
    /// The tools that it may call.
    pub tools: ToolSet,
    /// Instructions that stand before the conversation.
    pub system: Option<Text>,
    /// The most tokens of an answer; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
}

impl ThreadConfig {
    /// A model, without tools or instructions.
    pub fn new(model: Arc<dyn ModelProvider>) -> Self {
        Self { model, tools: ToolSet::default(), system: None, max_output_tokens: None }
    }
}

/// Finds out what a thread runs with, when it first needs it: not for attaching, not for accepting inputs.
#[async_trait]
pub trait Configure: Send + Sync {
    /// The configuration of a thread. It should be the same whenever the same thread asks, since a model's provider may
    /// rely on the beginning of a conversation not changing.
    ///
    /// # Errors
    /// The thread's inputs wait, and it is asked again.
    async fn configure(&self, thread: &ThreadId) -> Result<ThreadConfig, BoxError>;
}

#[async_trait]
impl Configure for ThreadConfig {
    async fn configure(&self, _: &ThreadId) -> Result<ThreadConfig, BoxError> {
        Ok(self.clone())
    }
}
