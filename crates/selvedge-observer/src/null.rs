//! The observer that discards everything.

use selvedge_event::AgentEvent;

use crate::ThreadObserver;

/// Discards every event; its hooks do nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullObserver;

impl ThreadObserver for NullObserver {
    type SubscribeRequest = ();

    fn on_event(&self, _: &str, _: &AgentEvent) {}
}
