//! `OpenAiChat` over real connections: to a server of our own that sends any bytes, to a mock by other hands, and to a
//! real model where there is one.

#![allow(clippy::unwrap_used, reason = "in a test, what cannot go on ends there")]

mod answers;
mod failures;
mod llmock;
mod local_model;
mod requests;
mod server;

use futures_util::StreamExt;
use selvedge_event::{ModelRef, Usage};
use selvedge_model::{Context, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason};
use selvedge_providers::{OpenAiChat, OpenAiChatBuilder};

/// Settings for a model at a base URL on this machine.
fn builder(base_url: &str) -> OpenAiChatBuilder {
    OpenAiChat::builder("test-model").base_url(base_url).no_proxy()
}

/// A request for `builder`'s model.
fn ask(text: &str) -> ModelRequest {
    let model = ModelRef { api: "openai-chat".into(), provider: "127.0.0.1".into(), model: "test-model".into() };
    ModelRequest::new(model, Context::from_user_text(text))
}

/// All that an answer had.
#[derive(Debug, Default)]
struct Outcome {
    text: String,
    reasoning: String,
    /// Names and arguments.
    calls: Vec<(String, String)>,
    /// All events, in order.
    events: Vec<ModelEvent>,
    usage: Usage,
    end: Option<StopReason>,
    error: Option<ModelError>,
}

impl Outcome {
    async fn of(mut stream: ModelStream) -> Self {
        let mut outcome = Self::default();
        while let Some(event) = stream.next().await {
            assert!(outcome.end.is_none() && outcome.error.is_none(), "nothing follows the end");
            match event {
                Ok(event) => outcome.take(event),
                Err(error) => outcome.error = Some(error),
            }
        }
        outcome
    }

    fn take(&mut self, event: ModelEvent) {
        match &event {
            ModelEvent::Text(text) => {
                assert!(!text.is_empty());
                self.text.push_str(text);
            }
            ModelEvent::Reasoning(text) => {
                assert!(!text.is_empty());
                self.reasoning.push_str(text);
            }
            ModelEvent::ToolCall { name, arguments, .. } => {
                self.calls.push((name.to_string(), arguments.to_string()));
            }
            ModelEvent::Finished(reason) => self.end = Some(*reason),
            ModelEvent::Usage(usage) => self.usage = *usage,
            ModelEvent::ReasoningStarted | ModelEvent::ReasoningEnded { .. } => {}
        }
        self.events.push(event);
    }

    #[track_caller]
    fn error(self) -> ModelError {
        self.error.unwrap_or_else(|| panic!("no error, but {:?}", self.events))
    }
}
