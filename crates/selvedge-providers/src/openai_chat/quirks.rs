//! In what servers of the protocol differ.

use selvedge_event::Text;

/// How a server departs from the protocol as others speak it. Start from the nearest kind and change a field:
///
/// ```
/// use selvedge_providers::{AuthHeader, Quirks};
///
/// let mut quirks = Quirks::compatible();
/// quirks.auth = AuthHeader::Named("api-key".into());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quirks {
    /// The field of the body that bounds the tokens of the answer.
    pub max_tokens_field: Text,
    /// Whether to ask for token counts by `stream_options`, which a few servers refuse.
    pub stream_options: bool,
    /// In which field of an earlier answer its reasoning is sent back.
    pub reasoning: ReasoningReplay,
    /// The header that carries the key, if there is one.
    pub auth: AuthHeader,
}

/// In which field of an assistant message its reasoning is sent back to the model that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningReplay {
    /// In the field in which it came; details before text, where both came.
    AsReceived,
    /// As text in `reasoning_content`, which is there on every message with calls, even if it is empty.
    ReasoningContent,
    /// As text in `reasoning`.
    Reasoning,
    /// In `reasoning_details`; text that came without details is left out.
    ReasoningDetails,
    /// Not at all.
    Omit,
}

/// The header that carries the key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthHeader {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// A header of this name with nothing but the key.
    Named(Text),
}

impl Quirks {
    /// OpenAI itself.
    pub fn openai() -> Self {
        Self { max_tokens_field: "max_completion_tokens".into(), ..Self::compatible() }
    }

    /// Any other server: llama.cpp, vLLM, Ollama, OpenRouter and most vendors.
    pub fn compatible() -> Self {
        Self {
            max_tokens_field: "max_tokens".into(),
            stream_options: true,
            reasoning: ReasoningReplay::AsReceived,
            auth: AuthHeader::Bearer,
        }
    }

    /// DeepSeek, which wants `reasoning_content` on every message with calls while it thinks.
    pub fn deepseek() -> Self {
        Self { reasoning: ReasoningReplay::ReasoningContent, ..Self::compatible() }
    }

    /// The nearest kind for a host.
    pub(super) fn of_host(host: &str) -> Self {
        let is = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
        if is("openai.com") || is("openai.azure.com") {
            Self::openai()
        } else if is("deepseek.com") {
            Self::deepseek()
        } else {
            Self::compatible()
        }
    }
}

impl ReasoningReplay {
    /// The kind as one word.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AsReceived => "as_received",
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::ReasoningDetails => "reasoning_details",
            Self::Omit => "omit",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_tells_the_kind() {
        assert_eq!(Quirks::of_host("api.openai.com"), Quirks::openai());
        assert_eq!(Quirks::of_host("my.openai.azure.com"), Quirks::openai());
        assert_eq!(Quirks::of_host("api.deepseek.com"), Quirks::deepseek());
        assert_eq!(Quirks::of_host("notopenai.com"), Quirks::compatible());
        assert_eq!(Quirks::of_host("127.0.0.1"), Quirks::compatible());
    }
}
