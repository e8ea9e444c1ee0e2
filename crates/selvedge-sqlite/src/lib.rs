//! `SqliteStore`: the embedded store of Selvedge, one SQLite file with group commit.
//!
//! ```
//! use selvedge_event::{Input, Timestamp};
//! use selvedge_sqlite::SqliteStore;
//! use selvedge_store::{AcceptRequest, ConversationStore, Create, NewInput};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! # let folder = std::env::temp_dir().join(format!("selvedge-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("threads.db");
//! let store = SqliteStore::open(&path).await?;
//! let hello = NewInput { id: "a".into(), input: Input::text("hello"), at: Timestamp(0) };
//! store.accept(AcceptRequest { thread: "t".into(), inputs: vec![hello], create: Create::Unclaimed }).await?;
//! assert_eq!(store.load(&"t".into()).await?.inbox.len(), 1);
//! store.close().await;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What it is: a [`ConversationStore`](selvedge_store::ConversationStore) for one machine. One writer commits all that
//! is queued in one transaction, so that a hundred threads share a wait for the disk; readers run beside it.
//! What it is not: a store for several machines. The file must be on a local disk, for write-ahead logging and file
//! locks do not work on a network's.
//!
//! # What survives
//! - **A crash of the process**: everything that was acknowledged.
//! - **A power cut, or a crash of the operating system**: with [`Synchronous::Full`], everything that was acknowledged,
//!   but for claims, releases and marks of commits, which need not and therefore do not wait for the disk unless they
//!   share a transaction with what does. With [`Synchronous::Normal`], everything up to some moment before, in whole
//!   transactions. The database is never damaged by either, as far as the disk does what it says.
//!
//! # Several processes
//! may open one file. Who waits for another's lock does so within [`SqliteOptions::busy`]; then the operation fails as
//! [`Busy`](selvedge_store::StoreErrorKind::Busy), and has not happened. An owner of threads holds a lock of the
//! operating system on a file of its own in `<database>-owners/`; when its process ends, however it ends, its threads
//! fall to whoever asks next, at once.
//!
//! # The file
//! can be read with the `sqlite3` shell: bodies are JSON, and the view `conversation` shows histories. Beside it stand
//! `-wal` and `-shm` while it is open; [`SqliteStore::backup`] makes a copy at any time, and
//! so does `VACUUM INTO`; copying files needs all three, with nobody writing.
//! A database of an older schema is migrated when it is opened, in one transaction. One of a newer schema, or of
//! another application, is refused, and not written to.
//! A record that cannot be read is reported as quarantined, and left as it is.

mod blob;
mod connection;
mod error;
mod maintain;
mod options;
mod owners;
mod read;
mod readers;
mod schema;
mod store;
mod write;

pub use maintain::{Finding, Keep, Kept, Problem, Prune, PruneReport, PrunedThread, Repair, Verified};
pub use options::{SqliteOptions, Synchronous};
pub use store::{SqliteStats, SqliteStore};
