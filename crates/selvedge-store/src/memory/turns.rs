//! A thread's own turns, oldest first, each with its size, which is taken once, when the turn is appended.

use std::sync::Arc;

use selvedge_event::{Block, Content, DisplaySegment, Message, Outcome, Step, ToolResult, TurnRecord};

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
            let bytes = record.messages.iter().map(text_of_message).sum::<usize>() as u64;
            self.0.push(Turn { record: Arc::new(record), bytes });
        }
    }

    /// The turns before a step, newest first.
    pub(super) fn newest_before(&self, before: Step) -> impl Iterator<Item = &Turn> {
        let end = self.0.partition_point(|turn| turn.record.step < before);
        self.0[..end].iter().rev()
    }
}

/// Bytes of text in a message: what grows. Ids, tags and numbers are not counted.
fn text_of_message(message: &Message) -> usize {
    match message {
        Message::User(user) => user.text.len(),
        Message::Assistant(answer) => {
            let failure = match &answer.outcome {
                Outcome::Failed { message, .. } => message.len(),
                _ => 0,
            };
            failure + answer.blocks.iter().map(text_of_block).sum::<usize>()
        }
        Message::ToolResult(result) => text_of_result(result),
        Message::SubscriptionEvent(event) => event.text.len() + event.arguments.raw().len(),
        Message::Compaction(compaction) => compaction.summary.len(),
    }
}

fn text_of_block(block: &Block) -> usize {
    let optional = |text: &Option<selvedge_event::Text>| text.as_ref().map_or(0, |text| text.len());
    match block {
        Block::Text { text, native } | Block::Reasoning { text, native, .. } => text.len() + optional(native),
        Block::ToolCall(call) => call.arguments.raw().len() + optional(&call.display_as) + optional(&call.native),
    }
}

fn text_of_result(result: &ToolResult) -> usize {
    let content = result.content.iter().map(|content| match content {
        Content::Text { text } => text.len(),
        Content::Image { data, .. } => data.len(),
    });
    let display = result.display.iter().map(|segment| match segment {
        DisplaySegment::Text(text) => text.len(),
        DisplaySegment::Diff { path, patch } => path.len() + patch.len(),
        DisplaySegment::Image { data, .. } => data.len(),
    });
    content.sum::<usize>() + display.sum::<usize>()
}
