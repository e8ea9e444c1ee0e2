//! The observer: a fan-out with bounded queues.

use std::cell::RefCell;
use std::collections::HashMap;

use selvedge::prelude::*;
use tokio::sync::mpsc;

/// What a subscriber hands in: where its frames go. The bound is its budget; whoever does not read is dropped.
pub(crate) type Viewer = mpsc::Sender<Frame>;

#[derive(Clone, Debug)]
pub(crate) enum Frame {
    Snapshot(Box<ReplaySnapshot>),
    Event(AgentEvent),
}

#[derive(Default)]
pub(crate) struct FanOut {
    viewers: RefCell<HashMap<String, Vec<Viewer>>>,
}

impl ThreadObserver for FanOut {
    type SubscribeRequest = Viewer;

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        if let Some(viewers) = self.viewers.borrow_mut().get_mut(thread_id) {
            // A viewer that is full or gone is dropped; it attaches again for a fresh snapshot.
            viewers.retain(|viewer| viewer.try_send(Frame::Event(event.clone())).is_ok());
        }
    }

    fn on_subscribe(&self, thread_id: &str, viewer: Viewer, snapshot: ReplaySnapshot) {
        if viewer.try_send(Frame::Snapshot(Box::new(snapshot))).is_ok() {
            self.viewers.borrow_mut().entry(thread_id.to_owned()).or_default().push(viewer);
        }
    }
}
