//! What is done to a database as a whole, beside the operations of the trait: copies, checks, repairs, retention.
//!
//! All of it runs beside the writer and the readers of this process and of others. Repairs go through the writer, like
//! any other operation; pruning, which reads as much as it writes, has a connection of its own.

mod apart;
mod backup;
mod check;
mod finding;
mod history;
mod prune;
mod repair;
mod shrink;
mod verify;

pub use finding::{Finding, Problem};
pub use prune::{Keep, Kept, Prune, PruneReport, PrunedThread};
pub use repair::Repair;
pub use verify::Verified;
