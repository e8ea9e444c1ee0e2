//! The rules that every request keeps: what providers are known to refuse is in none.

use std::collections::HashSet;

use selvedge_event::{Block, CallId, Content};

use crate::{AnsweredCall, ModelRequest, RequestMessage};

/// A rule that a request breaks, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message {index} of the request: {rule}")]
pub struct Violation {
    /// The place of the message in the context, from 0.
    pub index: usize,
    /// The rule, as a sentence that says what is wrong.
    pub rule: String,
}

/// Checks a request against the rules: it begins with the user and does not end with the model; every call has exactly
/// one result, adjacent and in call order, and no result is without its call; call ids are unique; arguments are JSON
/// objects; nothing is blank; reasoning is whole and the asked model's own.
///
/// # Errors
/// The first rule that is broken.
pub fn validate(request: &ModelRequest) -> Result<(), Violation> {
    let mut seen = HashSet::new();
    let mut expected: Vec<CallId> = Vec::new();
    let mut count = 0;
    for (index, message) in request.context.iter().enumerate() {
        count += 1;
        let broken = |rule: String| Violation { index, rule };
        match message {
            RequestMessage::ToolResults(results) => results_answer(results, &expected).map_err(broken)?,
            _ if !expected.is_empty() => return Err(broken(format!("the calls {expected:?} have no results"))),
            RequestMessage::User(text) if text.trim().is_empty() => {
                return Err(broken("the user's text is blank".into()));
            }
            RequestMessage::User(_) => {}
            RequestMessage::Assistant { .. } if index == 0 => return Err(broken("it begins with the model".into())),
            RequestMessage::Assistant { model, blocks } => {
                let own = **model == request.model;
                blocks_are_sendable(blocks, own, &mut seen).map_err(broken)?;
            }
        }
        expected = calls_of(message);
    }
    let end = |rule: &str| Violation { index: count, rule: rule.into() };
    match request.context.last() {
        None => Err(end("there is no message")),
        Some(RequestMessage::Assistant { .. }) => Err(end("it ends with the model")),
        Some(_) => Ok(()),
    }
}

fn calls_of(message: &RequestMessage) -> Vec<CallId> {
    let RequestMessage::Assistant { blocks, .. } = message else { return Vec::new() };
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    });
    calls.collect()
}

fn results_answer(results: &[AnsweredCall], expected: &[CallId]) -> Result<(), String> {
    let answered: Vec<&CallId> = results.iter().map(|answer| &answer.result.call_id).collect();
    if expected.is_empty() {
        return Err(format!("the results of {answered:?} follow no calls"));
    }
    if !answered.iter().copied().eq(expected) {
        return Err(format!("the results are of {answered:?}, the calls are {expected:?}"));
    }
    let blank = |content: &Content| matches!(content, Content::Text { text } if text.trim().is_empty());
    match results.iter().find(|answer| answer.result.content.is_empty() || answer.result.content.iter().any(blank)) {
        Some(answer) => Err(format!("the result of {} is blank", answer.result.call_id)),
        None => Ok(()),
    }
}

fn blocks_are_sendable(blocks: &[Block], own: bool, seen: &mut HashSet<CallId>) -> Result<(), String> {
    if blocks.is_empty() {
        return Err("the model's message is empty".into());
    }
    for block in blocks {
        match block {
            Block::Text { text, .. } if text.trim().is_empty() => return Err("a text block is blank".into()),
            Block::Reasoning { complete: false, .. } => return Err("a reasoning block is cut off".into()),
            Block::Reasoning { .. } if !own => return Err("a reasoning block is another model's".into()),
            Block::Text { .. } | Block::Reasoning { .. } => {}
            Block::ToolCall(call) => {
                if !seen.insert(call.id.clone()) {
                    return Err(format!("the call id {} is not unique", call.id));
                }
                let arguments =
                    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(call.arguments.raw());
                if arguments.is_err() {
                    return Err(format!("the arguments of {} are not a JSON object", call.id));
                }
            }
        }
    }
    Ok(())
}
