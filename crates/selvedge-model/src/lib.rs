//! [`ModelProvider`]: how a thread asks a language model.
//!
//! ```
//! use selvedge_event::ModelRef;
//! use selvedge_model::{Context, ModelProvider, ModelRequest, Reply, ScriptedModel};
//!
//! let model = ScriptedModel::new([Reply::text("hello")]);
//! let request = ModelRequest::new(model.model().clone(), Context::from_user_text("hi"));
//! let stream = model.complete(request);
//! # drop(stream);
//! ```
//!
//! What it is: the request ([`ModelRequest`]) and how it follows from a thread's history ([`Projector`]), the rules that
//! every request keeps ([`validate()`]), the stream of a model's answer ([`ModelEvent`]), and [`ScriptedModel`], which
//! answers by script and checks every request that it gets.
//! What it is not: it speaks no protocol and opens no connection, and knows no runtime.

mod event;
mod projection;
mod provider;
mod reach;
mod request;
mod scripted;
mod validate;

pub use event::{ModelError, ModelEvent, StopReason};
pub use projection::{Projector, RESERVED_EVENT_TOOL, answer_wanted};
pub use provider::{ModelProvider, ModelStream};
pub use reach::Reach;
pub use request::{AnsweredCall, Context, ModelRequest, RequestMessage, ToolSchema};
pub use scripted::{Gate, Reply, ScriptedModel};
pub use validate::{Violation, validate};
