//! From kept messages back to the events that show them, in coalesced form: a block of text is one chunk.
//!
//! This is the one place that knows how a message looks as events. Snapshots are folded through it, a resumed step is
//! emitted through it, and the attach law (a transcript is the same however it came about) rests on it.

use crate::{AgentEvent, AssistantMessage, Block, Message, Step, ToolCall, TurnRecord};

/// The events of a whole turn.
pub fn turn(turn: &TurnRecord) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    for message in &turn.messages {
        self::message(turn.step, message, &mut events);
    }
    events
}

/// Appends the events of one message that `step` appended.
pub fn message(step: Step, message: &Message, events: &mut Vec<AgentEvent>) {
    match message {
        Message::User(user) => {
            events.push(AgentEvent::UserInput { step, input_id: user.input_id.clone(), text: user.text.clone() });
        }
        Message::Assistant(assistant) => completion(step, assistant, events),
        Message::ToolResult(result) => events.push(AgentEvent::ToolResult { step, result: result.clone() }),
        Message::SubscriptionEvent(event) => events.push(AgentEvent::SubscriptionEvent {
            step,
            call_id: event.call_id.clone(),
            text: event.text.clone(),
            last: event.last,
        }),
        Message::Compaction(compaction) => {
            events.push(AgentEvent::CompactionApplied { step, summary: compaction.summary.clone() });
        }
    }
}

/// Appends the events of the blocks of a completion, between its start and its end.
pub fn blocks(blocks: &[Block], events: &mut Vec<AgentEvent>) {
    for block in blocks {
        match block {
            Block::Text { text, .. } => events.push(AgentEvent::TextChunk { text: text.clone() }),
            Block::Reasoning { text, .. } => {
                events.push(AgentEvent::ThinkingStarted);
                if !text.is_empty() {
                    events.push(AgentEvent::ThinkingChunk { text: text.clone() });
                }
                events.push(AgentEvent::ThinkingEnded);
            }
            Block::ToolCall(call) => events.push(tool_call(call)),
        }
    }
}

/// The event that shows a call.
pub fn tool_call(call: &ToolCall) -> AgentEvent {
    AgentEvent::ToolCall {
        call_id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.raw().clone(),
        display_as: call.display_as.clone(),
    }
}

fn completion(step: Step, assistant: &AssistantMessage, events: &mut Vec<AgentEvent>) {
    let attempt = assistant.attempt;
    events.push(AgentEvent::CompletionStarted { step, attempt });
    blocks(&assistant.blocks, events);
    events.push(AgentEvent::CompletionFinished {
        step,
        attempt,
        outcome: assistant.outcome.clone(),
        model: assistant.model.clone(),
        usage: assistant.usage,
    });
}
