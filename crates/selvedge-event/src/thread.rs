//! What is known of a thread beside its history.

use serde::{Deserialize, Serialize};

use crate::{Arguments, CallId, Text};

/// Milliseconds since 1970-01-01T00:00:00Z, as the runtime's clock gave it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This moment and `milliseconds` more; saturates at the ends of time.
    pub fn plus_millis(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }
}

/// A call whose tool goes on sending events to the thread after its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// The call that subscribed.
    pub call_id: CallId,
    /// The tool's name.
    pub tool: Text,
    /// What the tool was called with.
    pub arguments: Arguments,
}
