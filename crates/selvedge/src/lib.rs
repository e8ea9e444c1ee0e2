//! Selvedge runs durable agent threads that anyone can watch live.
//!
//! A thread is one conversation between users, a model and tools. Everything it does streams through a
//! [`ThreadObserver`](observer::ThreadObserver); nothing that it decides leaves the process before it is durable; anyone may
//! attach to a running thread and sees every event exactly once.
//!
//! ```
//! use selvedge::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let system = System::builder()
//!     .store(MemoryStore::default())
//!     .model(ScriptedModel::new([Reply::text("Hello!")]))
//!     .observer(|| EventCollector::new())
//!     .start()
//!     .await?;
//! system.send_text(&"greetings".into(), "hi").await?;
//! system.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! What it is: the wiring of Selvedge's crates, which [`System::builder`] offers in one way only, so that no composition of
//! them loses the barrier (events, then sync, then commit, then dispatch). What it is not: a server; see the program
//! `selvedge`.
//!
//! Features: `sqlite` (default) is the embedded store, `live` fans events out to subscribers, `durable` is the reference
//! observer, `openai-chat` reaches models over the network, `schema` makes tools
//! of functions whose arguments are a Rust type, `full` is all of them.

#[cfg(feature = "live")]
mod attach;
mod builder;
pub mod prelude;
#[cfg(feature = "schema")]
mod typed_tool;

#[cfg(feature = "live")]
pub use attach::attach_to;
pub use builder::{BuildError, Builder, System};
#[cfg(feature = "schema")]
pub use typed_tool::typed_tool;

/// The durable reference observer: session state, pending choices, full-text search.
#[cfg(feature = "durable")]
pub use selvedge_durable as durable;
/// Plain data: ids, inputs, messages, events, snapshots, the transcript.
pub use selvedge_event as event;
/// Live fan-out to subscribers: frames with cursors, bounded queues, resync.
#[cfg(feature = "live")]
pub use selvedge_live as live;
/// Models: the trait, requests, the validator, the scripted model.
pub use selvedge_model as model;
/// The observer trait and the observers that come with it.
pub use selvedge_observer as observer;
/// Models over the network.
#[cfg(feature = "openai-chat")]
pub use selvedge_providers as providers;
/// The engine: running systems, step runners, tools, limits.
pub use selvedge_runtime as runtime;
/// The embedded store.
#[cfg(feature = "sqlite")]
pub use selvedge_sqlite as sqlite;
/// The store trait and the reference store.
pub use selvedge_store as store;

/// The guides of `docs/guides` are compiled and run with the doctests.
#[cfg(doctest)]
mod guides {
    #[cfg(all(feature = "durable", feature = "sqlite"))]
    #[doc = include_str!("../../../docs/guides/durable-observer.md")]
    struct DurableObserver;
    #[doc = include_str!("../../../docs/guides/observer.md")]
    struct Observer;
    #[doc = include_str!("../../../docs/guides/tools.md")]
    struct Tools;
}
