//! What a model streams back, and how it fails.

use std::fmt;
use std::time::Duration;

use selvedge_event::{FailureKind, Text, Usage};

/// A piece of a model's answer. Text is whole characters; a call comes when it is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelEvent {
    /// More prose.
    Text(Text),
    /// Reasoning begins. May be left out before [`Reasoning`](Self::Reasoning).
    ReasoningStarted,
    /// More reasoning.
    Reasoning(Text),
    /// Reasoning ends. Left out, it ends with whatever comes next.
    ReasoningEnded {
        /// The provider's own JSON of the block, signature included, to be replayed verbatim.
        native: Option<Text>,
    },
    /// A whole call.
    ToolCall {
        /// The provider's id; may be missing, empty or repeated.
        provider_id: Option<Text>,
        /// The tool's name.
        name: Text,
        /// The arguments as the model wrote them; empty stands for `{}`.
        arguments: Text,
        /// The provider's own JSON of the block, to be replayed verbatim.
        native: Option<Text>,
    },
    /// Tokens used so far by this completion; the latest counts.
    Usage(Usage),
    /// The end by the protocol's own word. A stream that ends without it was cut off.
    Finished(StopReason),
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// It had said what it had to say, or waits for the results of its calls.
    Done,
    /// The answer reached the limit of its length.
    Length,
    /// The provider withheld the answer, or the rest of it.
    ContentFilter,
}

/// A completion that failed.
#[derive(Debug)]
pub struct ModelError {
    kind: FailureKind,
    message: String,
    retry_after: Option<Duration>,
    retryable: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ModelError {
    /// An error of a kind; whether it is worth another attempt follows from the kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let retryable = matches!(
            kind,
            FailureKind::RateLimited
                | FailureKind::Overloaded
                | FailureKind::Server
                | FailureKind::Network
                | FailureKind::Timeout
                | FailureKind::Truncated
                | FailureKind::Protocol
        );
        Self { kind, message: message.into(), retry_after: None, retryable, source: None }
    }

    /// The same error, not to be tried again before a time.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The same error, worth another attempt or not, as the provider says.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// The same error with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What kind of failure.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// How long the provider asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Whether another attempt may succeed.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}
