//! From the events of a stream to the pieces of an answer.
//!
//! It is a function of the events alone, and opens and awaits nothing. An answer is over at `[DONE]` or at the end of the
//! body, and whole only if its reason to end came before.

use std::collections::VecDeque;

use selvedge_event::{FailureKind, Usage};
use selvedge_model::{ModelError, ModelEvent, StopReason};
use serde_json::{Value, json};

use super::calls::Calls;
use super::chunk::{Choice, Chunk};
use super::reasoning::Run;
use crate::Secret;
use crate::http::ProviderError;

/// One answer, as far as it has come.
#[derive(Debug)]
pub(super) struct Decoder {
    /// What has been decoded and not yet taken.
    events: VecDeque<ModelEvent>,
    reasoning: Run,
    calls: Calls,
    usage: Usage,
    finish: Option<StopReason>,
    /// To be taken out of what the provider says.
    key: Option<Secret>,
}

/// Whether there is more to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    Over,
}

impl Decoder {
    pub(super) fn new(key: Option<Secret>) -> Self {
        Self {
            events: VecDeque::new(),
            reasoning: Run::default(),
            calls: Calls::default(),
            usage: Usage::default(),
            finish: None,
            key,
        }
    }

    /// The next decoded event.
    pub(super) fn next(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }

    /// Whether the model has said why it stopped.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Takes in the data of an event.
    ///
    /// # Errors
    /// When the provider reports one, when the event is none of the protocol, and when the answer was cut off.
    pub(super) fn event(&mut self, data: &str) -> Result<Progress, ModelError> {
        if data.trim() == "[DONE]" {
            return self.end();
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| {
            ModelError::new(FailureKind::Protocol, "an event of the stream is not a chunk of an answer")
                .with_source(error)
        })?;
        let Chunk { choices, usage, error } = chunk;
        if let Some(error) = ProviderError::from_json(&json!({ "error": error })) {
            return Err(error.without(self.key.as_ref()).into_model_error());
        }
        let usage = usage_of(&usage).filter(|usage| *usage != self.usage);
        let choices = choices.unwrap_or_default().into_iter();
        for choice in choices.filter(|choice| choice.index.unwrap_or(0) == 0) {
            self.choice(choice)?;
        }
        if let Some(usage) = usage {
            self.usage = usage;
            self.events.push_back(ModelEvent::Usage(usage));
        }
        Ok(Progress::More)
    }

    /// Takes in the end of the stream.
    ///
    /// # Errors
    /// When the answer was cut off.
    pub(super) fn end(&mut self) -> Result<Progress, ModelError> {
        let Some(reason) = self.finish else {
            return Err(ModelError::new(FailureKind::Truncated, "the stream ended before the answer did"));
        };
        let cut_off = reason != StopReason::Done;
        if !cut_off {
            // Reasoning that was cut off has no end, and so nothing to be replayed.
            self.reasoning.close(&mut self.events);
        }
        self.events.extend(self.calls.finish(cut_off)?);
        self.events.push_back(ModelEvent::Finished(reason));
        Ok(Progress::Over)
    }

    fn choice(&mut self, choice: Choice) -> Result<(), ModelError> {
        if let Some(mut delta) = choice.delta {
            self.reasoning.push(&mut delta, &mut self.events);
            for text in [&delta.content, &delta.refusal].into_iter().filter_map(|text| text.some()) {
                self.reasoning.close(&mut self.events);
                self.events.push_back(ModelEvent::Text(text.into()));
            }
            for fragment in delta.tool_calls.unwrap_or_default() {
                self.reasoning.close(&mut self.events);
                self.calls.push(fragment)?;
            }
        }
        if let Some(reason) = choice.finish_reason.some() {
            self.finish = Some(stop_reason(reason)?);
        }
        Ok(())
    }
}

/// Why the model stopped. What a server invents beyond the protocol is an end like any other.
fn stop_reason(reason: &str) -> Result<StopReason, ModelError> {
    match reason.to_lowercase().as_str() {
        "length" | "max_tokens" | "model_length" => Ok(StopReason::Length),
        "content_filter" | "safety" | "sensitive" => Ok(StopReason::ContentFilter),
        "insufficient_system_resource" => Err(ModelError::new(FailureKind::Overloaded, "the provider has no capacity")),
        "error" | "abort" | "network_error" => {
            Err(ModelError::new(FailureKind::Server, format!("the provider gave up the answer: {reason}")))
        }
        _ => Ok(StopReason::Done),
    }
}

fn usage_of(usage: &Value) -> Option<Usage> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let (input, output) = (count("/prompt_tokens"), count("/completion_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let first = |paths: &[&str]| paths.iter().find_map(|path| count(path)).unwrap_or(0);
    Some(Usage {
        input: input.unwrap_or(0),
        output: output.unwrap_or(0),
        cache_read: first(&["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens", "/cached_tokens"]),
        cache_write: first(&["/prompt_tokens_details/cache_write_tokens", "/cache_creation_input_tokens"]),
        reasoning: first(&["/completion_tokens_details/reasoning_tokens"]),
    })
}

#[cfg(test)]
mod tests;
