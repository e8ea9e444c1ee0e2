//! A thread's own turns, oldest first, each with its size, which is taken once, when the turn is appended.

use std::sync::Arc;

use selvedge_event::{Message, Step, TurnRecord};

#[derive(Debug, Default)]
pub(super) struct Turns(Vec<Turn>);

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) record: Arc<TurnRecord>,
    /// How much of a page it fills.
    pub(super) bytes: u64,
}

impl Turns {
    /// Appends a turn, unless it has no messages. Its step is greater than any before it.
    pub(super) fn push(&mut self, record: TurnRecord) {
        if !record.messages.is_empty() {
            let bytes = record.messages.iter().map(Message::text_bytes).sum::<usize>() as u64;
            self.0.push(Turn { record: Arc::new(record), bytes });
        }
    }

    /// The turns before a step, newest first.
    pub(super) fn newest_before(&self, before: Step) -> impl Iterator<Item = &Turn> {
        let end = self.0.partition_point(|turn| turn.record.step < before);
        self.0[..end].iter().rev()
    }
}
