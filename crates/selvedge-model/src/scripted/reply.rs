//! One reply of a script.

use selvedge_event::{Text, Usage};

use super::Gate;
use crate::{ModelError, ModelEvent, StopReason};

/// What a scripted model answers to one request, piece by piece. It ends well unless it says otherwise.
#[derive(Debug, Default)]
pub struct Reply {
    pub(super) pieces: Vec<Piece>,
}

#[derive(Debug)]
pub(super) enum Piece {
    Event(ModelEvent),
    Fail(ModelError),
    /// The stream ends without its protocol's end.
    Cut,
    /// One poll that is not ready.
    Yield,
    Wait(Gate),
}

impl Reply {
    /// A reply that says nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A reply of one text.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::new().say(text)
    }

    /// A reply of one call.
    pub fn call(name: &str, arguments: impl Into<Text>) -> Self {
        Self::new().and_call(name, arguments)
    }

    /// A reply that fails at once.
    pub fn failing(error: ModelError) -> Self {
        Self::new().fail(error)
    }

    /// Then text.
    #[must_use]
    pub fn say(self, text: impl Into<Text>) -> Self {
        self.event(ModelEvent::Text(text.into()))
    }

    /// Then a whole piece of reasoning.
    #[must_use]
    pub fn think(self, text: impl Into<Text>) -> Self {
        self.event(ModelEvent::ReasoningStarted)
            .event(ModelEvent::Reasoning(text.into()))
            .event(ModelEvent::ReasoningEnded { native: None })
    }

    /// Then a call, with a provider id that follows from its name.
    #[must_use]
    pub fn and_call(self, name: &str, arguments: impl Into<Text>) -> Self {
        self.and_call_with_id(&format!("provider-{name}"), name, arguments)
    }

    /// Then a call with a provider id.
    #[must_use]
    pub fn and_call_with_id(self, provider_id: &str, name: &str, arguments: impl Into<Text>) -> Self {
        self.event(ModelEvent::ToolCall {
            provider_id: Some(provider_id.into()),
            name: name.into(),
            arguments: arguments.into(),
            native: None,
        })
    }

    /// Then any event.
    #[must_use]
    pub fn event(self, event: ModelEvent) -> Self {
        self.piece(Piece::Event(event))
    }

    /// Then the tokens used so far.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.event(ModelEvent::Usage(Usage { input, output, ..Usage::default() }))
    }

    /// Then a wait for a gate.
    #[must_use]
    pub fn wait(self, gate: &Gate) -> Self {
        self.piece(Piece::Wait(gate.clone()))
    }

    /// Then a poll that is not ready.
    #[must_use]
    pub fn pause(self) -> Self {
        self.piece(Piece::Yield)
    }

    /// Then the end, for a reason.
    #[must_use]
    pub fn stop(self, reason: StopReason) -> Self {
        self.event(ModelEvent::Finished(reason))
    }

    /// Then an error.
    #[must_use]
    pub fn fail(self, error: ModelError) -> Self {
        self.piece(Piece::Fail(error))
    }

    /// Then the stream ends, without its protocol's end.
    #[must_use]
    pub fn cut(self) -> Self {
        self.piece(Piece::Cut)
    }

    fn piece(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }
}
