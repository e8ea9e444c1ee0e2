//! The barrier: *sync*, then *commit*, then *dispatch*, never in another order. Whole and alone.
//!
//! ```
//! # use futures_util::FutureExt;
//! # use selvedge_barrier::{DispatchPermit, Turn, TurnDraft};
//! # use selvedge_observer::NullObserver;
//! # use selvedge_store::{MemoryStore, ConversationStore};
//! # fn send_out(permit: DispatchPermit) {}
//! # async fn step(store: &dyn ConversationStore, draft: TurnDraft) -> Result<(), Box<dyn std::error::Error>> {
//! let turn = Turn::stage(draft);
//! let turn = turn.sync(store).await?; //             the turn is durable in the store
//! let turn = turn.commit(&NullObserver).await?; //   the embedding's own state agrees with it
//! for permit in turn.into_permits() {
//!     send_out(permit); //                           only now does a call go out, and only once
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The phases are types: [`Turn<Staged>`] → [`Turn<Synced>`] → [`Turn<Committed>`] → one [`DispatchPermit`] per call.
//! Each is made from the one before and from nothing else. A permit cannot be made elsewhere, cloned or used twice, and
//! is the only way to reach a tool: a dispatch before its commit does not compile. A failure hands the turn back in the
//! phase that it had reached.
//!
//! What it is not: it knows no tools, no model and no runtime; it does not retry, and does not decide what a turn holds.

mod fail;
mod permit;
mod resume;
mod turn;

pub use fail::{CommitFailed, SyncFailed};
pub use permit::DispatchPermit;
pub use resume::{Resumed, ResumedTurn, resume};
pub use turn::{Committed, Phase, Staged, Synced, Turn, TurnDraft};
