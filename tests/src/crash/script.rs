//! What the model answers: the same to the same request, whichever process asks.

use std::sync::Arc;

use selvedge::event::FailureKind;
use selvedge::model::{ModelError, ModelRequest, RequestMessage, StopReason};
use selvedge::prelude::*;

use super::Scenario;
use super::stage::Stage;

/// One answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What is streamed.
    pub pieces: Vec<Piece>,
    /// How it ends.
    pub end: End,
}

/// A piece of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Text.
    Say(&'static str),
    /// A whole piece of reasoning.
    Think(&'static str),
    /// A call of a tool.
    Call(&'static str),
    /// The stream breaks off here, worth another attempt, the first time in each process.
    BreaksOnce,
    /// The stream waits here until the client releases it.
    Hangs,
    /// The provider refuses for good.
    Refuses,
    /// One poll that is not ready.
    Pause,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// Well.
    #[default]
    Done,
    /// At the limit of its length.
    Length,
}

impl Answer {
    /// An answer that ends well.
    pub fn of(pieces: Vec<Piece>) -> Self {
        Self { pieces, end: End::Done }
    }

    fn reply(&self, request: &ModelRequest, stage: &Stage) -> Reply {
        let mut reply = Reply::new();
        for piece in &self.pieces {
            reply = match piece {
                Piece::Say(text) => reply.say(*text),
                Piece::Think(text) => reply.think(*text),
                Piece::Call(tool) => reply.and_call(tool, "{}"),
                Piece::Pause => reply.pause(),
                Piece::Hangs => reply.wait(&stage.hang()),
                Piece::Refuses => return reply.fail(ModelError::new(FailureKind::Auth, "who are you")),
                Piece::BreaksOnce if stage.is_first(request.context.len()) => {
                    return reply.fail(ModelError::new(FailureKind::Server, "down"));
                }
                Piece::BreaksOnce => reply,
            };
        }
        let reply = reply.usage(3, 2);
        match self.end {
            End::Done => reply,
            End::Length => reply.stop(StopReason::Length),
        }
    }
}

/// The model of a scenario.
pub(super) fn model(scenario: &Arc<Scenario>, stage: &Stage) -> ScriptedModel {
    let (scenario, stage) = (scenario.clone(), stage.clone());
    ScriptedModel::from_fn(move |request| {
        let (text, round) = asked(request);
        let known = scenario.says.iter().find(|(known, _)| *known == text);
        match known.map(|(_, answers)| answers.get(round)) {
            Some(Some(answer)) => answer.reply(request, &stage),
            None if round == 0 => Reply::text(format!("you said {text}")).usage(2, 1),
            _ => Reply::text("do").pause().say("ne").usage(5, 1),
        }
    })
}

/// The newest text of the user, and how many rounds of results, news among them, came after it.
fn asked(request: &ModelRequest) -> (String, usize) {
    let (mut text, mut round) = (String::new(), 0);
    for entry in request.context.iter() {
        match entry {
            RequestMessage::User(said) => (text, round) = (said.to_string(), 0),
            RequestMessage::ToolResults(_) => round += 1,
            RequestMessage::Assistant { .. } => {}
        }
    }
    (text, round)
}
