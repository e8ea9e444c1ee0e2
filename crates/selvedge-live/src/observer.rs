//! [`LiveObserver`]: the observer that does nothing but show.

use async_trait::async_trait;
use selvedge_event::{AgentEvent, ReplaySnapshot, UserChoice};
use selvedge_observer::{BoxError, ThreadObserver};

use crate::{Hub, Live, LiveRequest};

/// Shows threads to subscribers and keeps nothing of its own: for embedders without state, and the pattern for those
/// that have some.
///
/// Made on each shard: `.observer(move || LiveObserver::new(&live))`.
#[derive(Debug)]
pub struct LiveObserver {
    hub: Hub,
}

impl LiveObserver {
    /// An observer whose threads are watched through `live`.
    pub fn new(live: &Live) -> Self {
        Self { hub: live.hub() }
    }
}

#[async_trait(?Send)]
impl ThreadObserver for LiveObserver {
    type SubscribeRequest = LiveRequest;

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        self.hub.event(thread_id, event);
    }

    async fn on_user_choice_required(&self, thread_id: &str, choice: &UserChoice) -> Result<(), BoxError> {
        self.hub.choice_required(thread_id, choice);
        Ok(())
    }

    async fn on_user_choice_dismissed(&self, thread_id: &str, choice_id: &str) -> Result<(), BoxError> {
        self.hub.choice_dismissed(thread_id, choice_id);
        Ok(())
    }

    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        self.hub.committed(thread_id);
        Ok(())
    }

    fn on_subscribe(&self, thread_id: &str, request: LiveRequest, snapshot: ReplaySnapshot) {
        self.hub.subscribe(thread_id, request, snapshot);
    }
}
