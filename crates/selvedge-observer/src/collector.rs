//! The observer that keeps every event.

use std::sync::{Arc, Mutex, PoisonError};

use selvedge_event::{AgentEvent, ThreadId};

use crate::ThreadObserver;

/// An event and the thread that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The thread.
    pub thread_id: ThreadId,
    /// What it did.
    pub event: AgentEvent,
}

/// Keeps all events, tagged with their thread: the natural observer of step mode. Clones share what they keep.
///
/// It keeps them without bound; [`take`](Self::take) empties it.
#[derive(Debug, Clone, Default)]
pub struct EventCollector {
    kept: Arc<Mutex<Vec<Collected>>>,
}

impl EventCollector {
    /// An empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything kept so far, oldest first, and forgets it.
    pub fn take(&self) -> Vec<Collected> {
        std::mem::take(&mut *self.lock())
    }

    /// The events kept of one thread, oldest first.
    pub fn of_thread(&self, thread_id: &str) -> Vec<AgentEvent> {
        self.lock().iter().filter(|kept| kept.thread_id.as_str() == thread_id).map(|kept| kept.event.clone()).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Collected>> {
        // A panic elsewhere cannot leave a half-pushed event.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ThreadObserver for EventCollector {
    type SubscribeRequest = ();

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        self.lock().push(Collected { thread_id: thread_id.into(), event: event.clone() });
    }
}
