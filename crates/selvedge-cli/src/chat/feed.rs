//! What the chat sees of its thread: an observer that hands everything on.

use std::cell::RefCell;

use async_trait::async_trait;
use selvedge::prelude::{AgentEvent, BoxError, ChoiceId, ReplaySnapshot, ThreadId, ThreadObserver, UserChoice};
use tokio::sync::mpsc::UnboundedSender;

/// One thing that happened to the thread.
#[derive(Debug)]
pub(super) enum Feed {
    /// The state at the moment of attaching; what came before is in it.
    Snapshot(Box<ReplaySnapshot>),
    /// The thread did something.
    Event(AgentEvent),
    /// A call asks the user.
    Asked(UserChoice),
    /// A question is moot.
    Dismissed(ChoiceId),
    /// A step is durable.
    Committed,
}

/// Hands on what happens to one thread.
///
/// Its queue has no bound of its own. It needs none: the chat reads it on the OS thread on which the thread's steps run,
/// and a step lets others run after a bounded number of events. A terminal that does not take the output holds up both.
#[derive(Debug)]
pub(super) struct FeedObserver {
    thread: ThreadId,
    feed: UnboundedSender<Feed>,
    /// Questions that nobody may see before their step is committed.
    asked: RefCell<Vec<UserChoice>>,
}

impl FeedObserver {
    pub(super) fn new(thread: ThreadId, feed: UnboundedSender<Feed>) -> Self {
        Self { thread, feed, asked: RefCell::default() }
    }

    fn hand_on(&self, thread: &str, feed: Feed) {
        // A chat that has ended does not look any more; what happens is durable all the same.
        if thread == self.thread.as_str() {
            drop(self.feed.send(feed));
        }
    }
}

#[async_trait(?Send)]
impl ThreadObserver for FeedObserver {
    type SubscribeRequest = ();

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        self.hand_on(thread_id, Feed::Event(event.clone()));
    }

    async fn on_user_choice_required(&self, thread_id: &str, choice: &UserChoice) -> Result<(), BoxError> {
        if thread_id == self.thread.as_str() {
            self.asked.borrow_mut().push(choice.clone());
        }
        Ok(())
    }

    async fn on_user_choice_dismissed(&self, thread_id: &str, choice_id: &str) -> Result<(), BoxError> {
        self.hand_on(thread_id, Feed::Dismissed(choice_id.into()));
        Ok(())
    }

    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        self.hand_on(thread_id, Feed::Committed);
        if thread_id == self.thread.as_str() {
            let asked = self.asked.take();
            asked.into_iter().for_each(|choice| self.hand_on(thread_id, Feed::Asked(choice)));
        }
        Ok(())
    }

    fn on_subscribe(&self, thread_id: &str, _: (), snapshot: ReplaySnapshot) {
        self.hand_on(thread_id, Feed::Snapshot(Box::new(snapshot)));
    }
}
