//! How a running call reaches its thread: the same way in as everybody's.

use async_trait::async_trait;
use selvedge_event::{AgentEvent, ThreadId};
use selvedge_store::{Acceptance, NewInput};

use crate::SendError;

/// Takes inputs for threads of this process.
#[async_trait]
pub(crate) trait InputSink: Send + Sync {
    /// Makes an input durable in the inbox of an existing thread, and wakes the thread.
    ///
    /// # Errors
    /// See [`SendError`].
    async fn deliver(&self, thread: &ThreadId, input: NewInput) -> Result<Acceptance, SendError>;

    /// Shows something for a moment, if the thread has the time: a progress note may be lost.
    fn show(&self, thread: &ThreadId, event: AgentEvent);
}
