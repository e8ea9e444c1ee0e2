//! What is done to a database as a whole, beside the operations of the trait: copies, checks, repairs, retention.
//!
//! All of it runs beside the writer and the readers of this process and of others. What changes anything goes through
//! the writer, like any other operation.

mod backup;
mod check;
mod finding;
mod history;
mod repair;
mod verify;

pub use finding::{Finding, Problem};
pub use repair::Repair;
pub use verify::Verified;
