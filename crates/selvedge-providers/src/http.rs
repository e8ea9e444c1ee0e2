//! What all protocols over HTTP share: the client, the opening of an event stream, and errors by kind.
//!
//! It knows no protocol beyond HTTP and the event stream; the bodies of errors are read leniently, as all vendors write
//! them alike.

mod client;
mod events;
mod failure;
mod provider_error;
mod retry;

pub(crate) use client::{ClientSettings, Proxy};
pub(crate) use events::{EventStream, open};
pub(crate) use provider_error::ProviderError;
