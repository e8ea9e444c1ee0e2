//! The trait itself.

use async_trait::async_trait;
use selvedge_event::{AgentEvent, ReplaySnapshot, UserChoice};

/// An error of an embedding, of whatever type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Watches the threads of one shard, and keeps what the embedding keeps of them.
///
/// One observer serves all threads of its shard, is made there and never leaves it: it need not be `Send`.
/// A panic in any method fails the step as an error of a hook would, and no other thread notices.
///
/// # The order
/// Per step: events, then *sync* (the turn is durable in the store), then [`on_commit`](Self::on_commit), then
/// *dispatch* (tool calls go out). After a crash, the last synced step may be emitted and committed again under the
/// same number, announced by a [`TurnDiscarded`](AgentEvent::TurnDiscarded) of the whole step: what an observer keeps
/// must be idempotent by (thread, step).
#[async_trait(?Send)]
pub trait ThreadObserver {
    /// What a subscriber hands in to be attached: a channel's sender, a socket, a callback.
    type SubscribeRequest: Send + 'static;

    /// The thread did something. Called synchronously, in the executor poll that produced the event; the step does
    /// not go on before it returns, so it must not block.
    fn on_event(&self, thread_id: &str, event: &AgentEvent);

    /// A running call asks the user. Awaited before the step goes on; nobody is shown the choice before it returns.
    ///
    /// # Errors
    /// An error leaves the step synced and uncommitted; the hook is awaited again when the step is resumed.
    async fn on_user_choice_required(&self, thread_id: &str, choice: &UserChoice) -> Result<(), BoxError> {
        let (_, _) = (thread_id, choice);
        Ok(())
    }

    /// A choice that was required is moot: an interruption, its expiry or the end of its call. Awaited before the
    /// thread acts on that. An answered choice is not dismissed; its end shows in its call's result.
    ///
    /// # Errors
    /// An error fails the step before its sync; it is run again from the inbox.
    async fn on_user_choice_dismissed(&self, thread_id: &str, choice_id: &str) -> Result<(), BoxError> {
        let (_, _) = (thread_id, choice_id);
        Ok(())
    }

    /// A step has been synced: its turn is durable. Called once per step that synced anything, before any of its
    /// calls is dispatched; again for the same step after an error or a crash.
    ///
    /// # Errors
    /// An error fails the step before its dispatch; the step stays synced, and is resumed later from there.
    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        let _ = thread_id;
        Ok(())
    }

    /// Somebody attaches. Called on the task that emits the thread's events, between two of them: every event is
    /// either in the snapshot or comes after it.
    fn on_subscribe(&self, thread_id: &str, request: Self::SubscribeRequest, snapshot: ReplaySnapshot) {
        let (_, _, _) = (thread_id, request, snapshot);
    }
}
