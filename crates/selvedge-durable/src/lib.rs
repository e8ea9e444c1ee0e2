//! [`DurableObserver`]: the durable reference observer, with session state, pending choices and search in SQLite.
//!
//! ```
//! use std::sync::Arc;
//!
//! use selvedge_durable::{DurableObserver, Listing, Sessions};
//! use selvedge_live::Live;
//! use selvedge_store::{ConversationStore, MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = std::env::temp_dir().join(format!("selvedge-durable-doc-{}.db", std::process::id()));
//! let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::default());
//! let sessions = Sessions::open(&path).await?;
//! let observer = DurableObserver::new(sessions.clone(), store.clone(), &Live::default());
//! // A running system feeds the observer. Anyone who has the sessions reads what it keeps:
//! let newest = sessions.list(&Listing::first(20)).await?;
//! let found = sessions.search("anything at \"all", 10).await?;
//! # assert!(newest.is_empty() && found.is_empty());
//! # drop(observer); sessions.close().await; std::fs::remove_file(path)?;
//! # Ok(())
//! # }
//! ```
//!
//! What it is: for each thread a [`Session`] (title, times, step, tokens, what they cost, status, last error), the
//! choices that wait for the user, and what a viewer shows, which can be searched; whoever watches a thread is served
//! through [`selvedge_live`]; and, in its source, how to write an observer that keeps state of its own. The guide is `docs/guides/durable-observer.md`.
//! What it is not: the truth. That is the history in the store; everything here can be derived from it, and
//! [`Sessions::rebuild`] does so.
//!
//! What it promises:
//! - When `on_commit` has returned, the step is in the database, once, however often it is committed: what is kept is
//!   replaced by (thread, step).
//! - What is kept equals what is derived from the history: both go through one function. [`Sessions::verify`] checks it.
//! - A step that does not follow on what is kept (a fork, a thread that ran elsewhere, a database from a backup) has the
//!   thread derived from its history before `on_commit` returns.
//! - A choice is kept before `on_user_choice_required` returns, and is gone when it is dismissed or answered.
//! - Memory holds what running steps have shown, and nothing of idle threads.

mod apply;
mod database;
mod error;
mod observer;
mod op;
mod options;
mod prices;
mod read;
mod readers;
mod rebuild;
mod schema;
mod search;
mod session;
mod sessions;
mod step_rows;
mod verify;
mod writer;

pub use error::SessionsError;
pub use observer::DurableObserver;
pub use options::{SessionsOptions, Synchronous};
pub use prices::{Price, Prices};
pub use rebuild::Progress;
pub use session::{Cost, Hit, Listing, Session, SessionError, Snippet, Status};
pub use sessions::Sessions;
pub use verify::Difference;
