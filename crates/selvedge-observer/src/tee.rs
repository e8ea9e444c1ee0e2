//! Two observers as one.

use async_trait::async_trait;
use selvedge_event::{AgentEvent, ReplaySnapshot, UserChoice};

use crate::{BoxError, ThreadObserver};

/// Feeds two observers: events and hooks go to the first, then to the second; a subscriber says which one it is for.
///
/// A hook's error in the first keeps the second from being called; when the step is resumed, both are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tee<A, B> {
    first: A,
    second: B,
}

/// A subscriber's request to one of two observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeeRequest<A, B> {
    /// For the first.
    First(A),
    /// For the second.
    Second(B),
}

impl<A, B> Tee<A, B> {
    /// An observer that feeds both.
    pub fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

#[async_trait(?Send)]
impl<A: ThreadObserver, B: ThreadObserver> ThreadObserver for Tee<A, B> {
    type SubscribeRequest = TeeRequest<A::SubscribeRequest, B::SubscribeRequest>;

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        self.first.on_event(thread_id, event);
        self.second.on_event(thread_id, event);
    }

    async fn on_user_choice_required(&self, thread_id: &str, choice: &UserChoice) -> Result<(), BoxError> {
        self.first.on_user_choice_required(thread_id, choice).await?;
        self.second.on_user_choice_required(thread_id, choice).await
    }

    async fn on_user_choice_dismissed(&self, thread_id: &str, choice_id: &str) -> Result<(), BoxError> {
        self.first.on_user_choice_dismissed(thread_id, choice_id).await?;
        self.second.on_user_choice_dismissed(thread_id, choice_id).await
    }

    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        self.first.on_commit(thread_id).await?;
        self.second.on_commit(thread_id).await
    }

    fn on_subscribe(&self, thread_id: &str, request: Self::SubscribeRequest, snapshot: ReplaySnapshot) {
        match request {
            TeeRequest::First(request) => self.first.on_subscribe(thread_id, request, snapshot),
            TeeRequest::Second(request) => self.second.on_subscribe(thread_id, request, snapshot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventCollector;

    #[derive(Default)]
    struct Erring;

    #[async_trait(?Send)]
    impl ThreadObserver for Erring {
        type SubscribeRequest = ();

        fn on_event(&self, _: &str, _: &AgentEvent) {}

        async fn on_commit(&self, _: &str) -> Result<(), BoxError> {
            Err("no".into())
        }
    }

    #[test]
    fn both_are_fed_and_an_error_of_either_counts() {
        let (a, b) = (EventCollector::new(), EventCollector::new());
        let tee = Tee::new(Tee::new(a.clone(), Erring), b.clone());
        tee.on_event("t", &AgentEvent::ThinkingStarted);
        assert_eq!(a.of_thread("t"), [AgentEvent::ThinkingStarted]);
        assert_eq!(b.of_thread("t"), [AgentEvent::ThinkingStarted]);
        assert!(futures_util::FutureExt::now_or_never(tee.on_commit("t")).is_some_and(|result| result.is_err()));
    }
}
