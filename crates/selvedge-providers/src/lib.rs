//! Models over the network for Selvedge: the OpenAI chat-completions protocol.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use selvedge_providers::OpenAiChat;
//!
//! # fn main() -> Result<(), selvedge_providers::BuildError> {
//! // OpenAI itself.
//! let gpt = OpenAiChat::builder("gpt-5.2").key_from_env("OPENAI_API_KEY").build()?;
//!
//! // Any other server that speaks the protocol.
//! let local = OpenAiChat::builder("qwen3:8b")
//!     .base_url("http://127.0.0.1:11434/v1")
//!     .read_timeout(Duration::from_secs(600))
//!     .extra("temperature", 0.2)
//!     .build()?;
//! # let _ = (gpt, local);
//! # Ok(())
//! # }
//! ```
//!
//! What it is: one provider per wire protocol, each behind a feature of its own (`openai-chat`, on by default), over what
//! all of them share: an HTTP client with TLS, a bounded parser of event streams, and the words for what went wrong.
//! What it is not: it knows no tools, no threads and no store, retries nothing (its errors say whether to), and keeps
//! nothing but encoded bytes. It needs a tokio runtime with I/O and time wherever its streams are polled.
//!
//! What always holds:
//! - A request's bytes follow from the request alone, and a message is encoded once: what providers cache stays cached.
//! - An answer ends with [`Finished`](selvedge_model::ModelEvent::Finished) only by its protocol's own word; whatever
//!   else ends it is an error.
//! - Dropping a stream closes its connection; no task and no channel stands between them.
//! - A key is in one header and nowhere else: not in a URL, not in an error, not in a `Debug` output.

#[cfg(feature = "openai-chat")]
mod build_error;
#[cfg(feature = "openai-chat")]
mod http;
#[cfg(feature = "openai-chat")]
mod openai_chat;
mod secret;
#[cfg(feature = "openai-chat")]
mod sse;

#[cfg(feature = "openai-chat")]
pub use build_error::BuildError;
#[cfg(feature = "openai-chat")]
pub use openai_chat::{AuthHeader, OpenAiChat, OpenAiChatBuilder, Quirks, ReasoningReplay};
/// The HTTP client of which a builder takes a ready one.
#[cfg(feature = "openai-chat")]
pub use reqwest;
pub use secret::Secret;
