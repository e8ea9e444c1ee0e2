//! How far back into a history a request reaches.

use std::collections::HashSet;

use selvedge_event::{CallId, Message};

use crate::answer_wanted;

/// Is shown a history from its newest message backwards, and says when what it has seen is all that a request needs: the
/// projection of that part is the projection of the whole.
///
/// That is so at the newest compaction, or a little before it: where a call was open there, at that call; and where
/// nothing since then says whether the model is to answer, at the message that does.
#[derive(Debug, Default)]
pub struct Reach {
    compacted: bool,
    decided: bool,
    /// Calls whose result was seen, or will come, and that have not been seen themselves.
    missing: HashSet<CallId>,
}

impl Reach {
    /// At the end of a history, where the calls `open` wait for their results.
    pub fn new(open: impl IntoIterator<Item = CallId>) -> Self {
        Self { missing: open.into_iter().collect(), ..Self::default() }
    }

    /// Takes in the message before those that it has seen.
    pub fn look_at(&mut self, message: &Message) {
        self.decided |= answer_wanted(message).is_some();
        match message {
            Message::Compaction(_) => self.compacted = true,
            Message::ToolResult(result) => {
                self.missing.insert(result.call_id.clone());
            }
            Message::Assistant(assistant) => assistant.calls().for_each(|call| {
                self.missing.remove(&call.id);
            }),
            Message::User(_) | Message::SubscriptionEvent(_) => {}
        }
    }

    /// Whether a request needs nothing from before what it has seen.
    pub fn is_enough(&self) -> bool {
        self.compacted && self.decided && self.missing.is_empty()
    }
}
