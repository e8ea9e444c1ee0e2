//! A model's stream, put in order: blocks for the history and events for the feed that say exactly the same.
//!
//! Whatever a model streams, what comes out has no blank text, no empty chunk, no reasoning without a beginning or an
//! end, and no two texts in a row. White space at the beginning of a text is held back until the text says something.

use std::sync::Arc;

use selvedge_event::{AgentEvent, Arguments, Block, CallId, Step, Text, ToolCall, Usage, replay};
use selvedge_model::ModelEvent;

/// The answer of one attempt, as far as it has come.
#[derive(Debug)]
pub(crate) struct Answer {
    step: Step,
    blocks: Vec<Block>,
    current: Current,
    calls: usize,
    usage: Usage,
}

/// The block that is being streamed.
#[derive(Debug)]
enum Current {
    /// None; the text is white space that may begin one.
    Nothing(String),
    Text(String),
    Reasoning(String),
}

/// A call as the model streamed it.
pub(crate) struct RawCall {
    pub(crate) provider_id: Option<Text>,
    pub(crate) name: Text,
    pub(crate) arguments: Text,
    pub(crate) native: Option<Text>,
}

impl Answer {
    pub(crate) fn new(step: Step) -> Self {
        let current = Current::Nothing(String::new());
        // Most answers are one block, and are kept for long.
        Self { step, blocks: Vec::with_capacity(1), current, calls: 0, usage: Usage::default() }
    }

    /// Tokens that the attempt has used, as far as it has said.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Takes in what the model streams. `emit` gets the events that show it; `display` says how a call is shown.
    pub(crate) fn push(
        &mut self,
        event: ModelEvent,
        display: impl FnOnce(&str, &Arguments) -> Option<Text>,
        emit: &mut impl FnMut(AgentEvent),
    ) {
        match event {
            ModelEvent::Text(text) => self.text(text, emit),
            ModelEvent::ReasoningStarted => self.end_block(None, true, emit),
            ModelEvent::Reasoning(text) => self.reasoning(text, emit),
            ModelEvent::ReasoningEnded { native } => self.end_reasoning(native, emit),
            ModelEvent::ToolCall { provider_id, name, arguments, native } => {
                self.end_block(None, true, emit);
                self.call(RawCall { provider_id, name, arguments, native }, display, emit);
            }
            ModelEvent::Usage(usage) => self.usage = usage,
            // The end is the completion's business.
            ModelEvent::Finished(_) => {}
        }
    }

    /// Ends the answer: `whole` says whether the model ended it, or it was cut off.
    pub(crate) fn end(mut self, whole: bool, emit: &mut impl FnMut(AgentEvent)) -> Vec<Block> {
        self.end_block(None, whole, emit);
        self.blocks
    }

    /// What was streamed so far, and whether the last block is reasoning that goes on.
    pub(crate) fn so_far(&self) -> (Vec<Block>, bool) {
        let mut blocks = self.blocks.clone();
        match &self.current {
            Current::Nothing(_) => return (blocks, false),
            Current::Text(text) => blocks.push(Block::Text { text: text.as_str().into(), native: None }),
            Current::Reasoning(text) => {
                blocks.push(Block::Reasoning { text: text.as_str().into(), native: None, complete: false });
                return (blocks, true);
            }
        }
        (blocks, false)
    }

    fn text(&mut self, text: Text, emit: &mut impl FnMut(AgentEvent)) {
        if text.is_empty() {
            return;
        }
        match &mut self.current {
            Current::Text(so_far) => {
                so_far.push_str(&text);
                emit(AgentEvent::TextChunk { text });
            }
            Current::Reasoning(_) => {
                self.end_block(None, true, emit);
                self.begin_text(String::new(), text, emit);
            }
            Current::Nothing(held) => {
                let held = std::mem::take(held);
                self.begin_text(held, text, emit);
            }
        }
    }

    fn begin_text(&mut self, held: String, text: Text, emit: &mut impl FnMut(AgentEvent)) {
        // What stood between this text and an earlier one has vanished: they are one block.
        if let Some(Block::Text { .. }) = self.blocks.last()
            && let Some(Block::Text { text: earlier, .. }) = self.blocks.pop()
        {
            self.current = Current::Text(format!("{earlier}{text}"));
            emit(AgentEvent::TextChunk { text });
            return;
        }
        if text.trim().is_empty() {
            self.current = Current::Nothing(held + &text);
            return;
        }
        let text = if held.is_empty() { text } else { (held + &text).into() };
        self.current = Current::Text(roomy(&text));
        emit(AgentEvent::TextChunk { text });
    }

    fn reasoning(&mut self, text: Text, emit: &mut impl FnMut(AgentEvent)) {
        if text.is_empty() {
            return;
        }
        if let Current::Reasoning(so_far) = &mut self.current {
            so_far.push_str(&text);
        } else {
            self.end_block(None, true, emit);
            emit(AgentEvent::ThinkingStarted);
            self.current = Current::Reasoning(roomy(&text));
        }
        emit(AgentEvent::ThinkingChunk { text });
    }

    fn end_reasoning(&mut self, native: Option<Text>, emit: &mut impl FnMut(AgentEvent)) {
        if matches!(self.current, Current::Reasoning(_)) {
            self.end_block(native, true, emit);
        } else if native.is_some() {
            // Hidden reasoning: nothing to show, something to replay.
            self.end_block(None, true, emit);
            emit(AgentEvent::ThinkingStarted);
            self.current = Current::Reasoning(String::new());
            self.end_block(native, true, emit);
        }
    }

    fn end_block(&mut self, native: Option<Text>, complete: bool, emit: &mut impl FnMut(AgentEvent)) {
        match std::mem::replace(&mut self.current, Current::Nothing(String::new())) {
            Current::Nothing(_) => {}
            Current::Text(text) => self.blocks.push(Block::Text { text: text.into(), native: None }),
            Current::Reasoning(text) => {
                emit(AgentEvent::ThinkingEnded);
                self.blocks.push(Block::Reasoning { text: text.into(), native, complete });
            }
        }
    }

    fn call(
        &mut self,
        raw: RawCall,
        display: impl FnOnce(&str, &Arguments) -> Option<Text>,
        emit: &mut impl FnMut(AgentEvent),
    ) {
        let arguments = arguments_of(raw.arguments);
        let call = ToolCall {
            id: CallId::of(self.step, self.calls),
            provider_id: raw.provider_id.filter(|id| !id.is_empty()),
            display_as: display(&raw.name, &arguments),
            name: raw.name,
            arguments,
            native: raw.native,
        };
        self.calls += 1;
        emit(replay::tool_call(&call));
        self.blocks.push(Block::ToolCall(Arc::new(call)));
    }
}

/// The beginning of a block, with room for what is likely to follow.
fn roomy(text: &str) -> String {
    const ROOM: usize = 512;
    let mut block = String::with_capacity(ROOM.max(2 * text.len()));
    block.push_str(text);
    block
}

/// The model's own bytes, told apart by whether they are a JSON object. Nothing at all stands for an empty one.
fn arguments_of(raw: Text) -> Arguments {
    if raw.trim().is_empty() {
        return Arguments::Object("{}".into());
    }
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&raw) {
        Ok(_) => Arguments::Object(raw),
        Err(_) => Arguments::Broken(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a stream through an answer: the blocks and the events, which must say the same.
    fn check(events: &[ModelEvent]) -> Vec<Block> {
        let mut emitted = Vec::new();
        let mut answer = Answer::new(1);
        for event in events {
            answer.push(event.clone(), |_, _| None, &mut |event| emitted.push(event));
        }
        let blocks = answer.end(true, &mut |event| emitted.push(event));
        let mut replayed = Vec::new();
        replay::blocks(&blocks, &mut replayed);
        let fold = |events: &[AgentEvent]| {
            let mut transcript = selvedge_event::Transcript::default();
            transcript.apply(&AgentEvent::CompletionStarted { step: 1, attempt: 1 });
            events.iter().for_each(|event| transcript.apply(event));
            transcript.items().to_vec()
        };
        assert_eq!(fold(&emitted), fold(&replayed));
        blocks
    }

    fn text(text: &str) -> ModelEvent {
        ModelEvent::Text(text.into())
    }

    #[test]
    fn blank_text_vanishes_and_leading_space_waits() {
        assert_eq!(check(&[text(""), text(" \n")]), []);
        assert_eq!(check(&[text(" "), text("a")]), [Block::Text { text: " a".into(), native: None }]);
    }

    #[test]
    fn texts_around_nothing_are_one() {
        let ended = ModelEvent::ReasoningEnded { native: None };
        let blocks = check(&[text("a"), ModelEvent::ReasoningStarted, ended, text("b"), text(" ")]);
        assert_eq!(blocks, [Block::Text { text: "ab ".into(), native: None }]);
    }

    #[test]
    fn hidden_reasoning_is_kept() {
        let hidden = ModelEvent::ReasoningEnded { native: Some("{\"data\":1}".into()) };
        let kept = Block::Reasoning { text: "".into(), native: Some("{\"data\":1}".into()), complete: true };
        assert_eq!(check(&[hidden]), [kept]);
    }

    #[test]
    fn reasoning_ends_with_whatever_comes_next() {
        let blocks = check(&[ModelEvent::Reasoning("hm".into()), text("a")]);
        assert!(matches!(&blocks[..], [Block::Reasoning { complete: true, .. }, Block::Text { .. }]));
    }
}
