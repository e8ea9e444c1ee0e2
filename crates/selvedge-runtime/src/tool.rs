//! Tools in the embedder's process: what one is, what it is told, and how its calls run.

mod context;
mod function;
mod outcome;
mod running;
mod schema;
mod set;
mod spec;

use async_trait::async_trait;
use selvedge_observer::BoxError;

pub(crate) use context::fresh_id;
pub use context::{Chosen, SubscriptionHandle, ToolContext};
pub use function::{FnTool, tool};
pub use outcome::{KeyOutcome, ToolOutput};
pub(crate) use running::{Dispatcher, RunningCalls, verdict};
pub use set::{ToolSet, ToolSetError};
pub use spec::{Annotations, ToolSpec};

/// Something that a model may call.
///
/// A call runs on the embedder's runtime, never on a shard, so it may take its time; its result re-enters the thread
/// through the inbox, like any other input. A panic is an error result.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the model and the runtime know of it.
    fn spec(&self) -> &ToolSpec;

    /// The call as viewers show it; `None` leaves it to them.
    fn display(&self, arguments: &serde_json::Value) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Runs one call. The arguments fit the schema.
    ///
    /// # Errors
    /// An error becomes an error result that the model reads, with the error's message and its sources.
    ///
    /// # Cancel safety
    /// The future is dropped some seconds after the call was cancelled, if it has not ended by itself.
    async fn call(&self, call: ToolContext) -> Result<ToolOutput, BoxError>;

    /// What became of a call that may have run before a crash: asked instead of settling it as unknown.
    async fn outcome(&self, key: &str) -> KeyOutcome {
        let _ = key;
        KeyOutcome::Unknown
    }
}
