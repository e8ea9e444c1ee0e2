//! The trait.

use std::pin::Pin;

use futures_core::Stream;
use selvedge_event::ModelRef;

use crate::{ModelError, ModelEvent, ModelRequest};

/// A model's answer as it comes. It stays on the shard of its thread, so it need not be `Send`.
///
/// The first error ends it, and so does [`ModelEvent::Finished`]. Dropping it cancels the completion and closes whatever
/// connection it has.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>>>>;

/// A language model.
pub trait ModelProvider: Send + Sync + std::fmt::Debug {
    /// Which model this is. Reasoning is replayed only to the model that made it.
    fn model(&self) -> &ModelRef;

    /// Starts a completion. Nothing happens before the stream is polled.
    fn complete(&self, request: ModelRequest) -> ModelStream;
}
