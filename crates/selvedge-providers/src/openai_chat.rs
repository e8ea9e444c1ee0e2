//! The OpenAI chat-completions protocol, as a client of any server that speaks it.

mod answer;
mod builder;
mod calls;
mod chunk;
mod decode;
mod message;
mod quirks;
mod reasoning;
mod request;

use std::fmt;
use std::sync::Arc;

use reqwest::Url;
use reqwest::header::HeaderMap;
use selvedge_event::{ModelRef, Text};
use selvedge_model::{ModelError, ModelProvider, ModelRequest, ModelStream};

use answer::Answer;
pub use builder::OpenAiChatBuilder;
pub use quirks::{AuthHeader, Quirks, ReasoningReplay};
use request::Encoder;

use crate::Secret;

/// The protocol's name in a [`ModelRef`].
const API: &str = "openai-chat";

/// A model behind a server that speaks the OpenAI chat-completions protocol: OpenAI, llama.cpp, vLLM, Ollama, OpenRouter
/// and many more. Clones share the connections.
///
/// ```no_run
/// use futures_util::StreamExt;
/// use selvedge_model::{Context, ModelEvent, ModelProvider, ModelRequest};
/// use selvedge_providers::OpenAiChat;
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let model = OpenAiChat::builder("gpt-5.2").key_from_env("OPENAI_API_KEY").build()?;
/// let request = ModelRequest::new(model.model().clone(), Context::from_user_text("Why is the sky blue?"));
/// let mut answer = model.complete(request);
/// while let Some(event) = answer.next().await {
///     if let ModelEvent::Text(text) = event? {
///         print!("{text}");
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// Of the answer, text and reasoning come as they are streamed. Calls come at its end, in the order in which the model
/// opened them: the protocol tells no earlier that a call is whole. A refusal is text.
///
/// A stream of answers must be polled within a tokio runtime; dropping it closes the connection, which tells the server to
/// stop.
#[derive(Clone)]
pub struct OpenAiChat(Arc<Inner>);

struct Inner {
    client: reqwest::Client,
    url: Url,
    /// All headers of a request, the key's among them, marked as sensitive.
    headers: HeaderMap,
    /// The key, to be taken out of what servers say.
    key: Option<Secret>,
    encoder: Encoder,
}

impl OpenAiChat {
    /// Settings for a model of this name.
    pub fn builder(model: impl Into<Text>) -> OpenAiChatBuilder {
        OpenAiChatBuilder::new(model.into())
    }

    fn new(client: reqwest::Client, url: Url, headers: HeaderMap, key: Option<Secret>, encoder: Encoder) -> Self {
        Self(Arc::new(Inner { client, url, headers, key, encoder }))
    }

    /// The HTTP request, not sent.
    fn prepare(&self, request: &ModelRequest) -> Result<reqwest::RequestBuilder, ModelError> {
        let Inner { client, url, headers, encoder, .. } = &*self.0;
        Ok(client.post(url.clone()).headers(headers.clone()).body(encoder.body(request)?))
    }

    fn key(&self) -> Option<Secret> {
        self.0.key.clone()
    }
}

impl ModelProvider for OpenAiChat {
    fn model(&self) -> &ModelRef {
        self.0.encoder.model()
    }

    fn complete(&self, request: ModelRequest) -> ModelStream {
        Box::pin(Answer::new(self.clone(), request))
    }
}

impl fmt::Debug for OpenAiChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiChat").field("model", self.model()).finish_non_exhaustive()
    }
}
