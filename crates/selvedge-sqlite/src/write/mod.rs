//! Writing: operations are encoded by their callers, queued, and committed together by one writer.
//!
//! The way of an operation: [`Op`] (encoded, bounded queue) → [`Writer`] (one transaction for all that is queued) →
//! [`Batch`] (pure: decides each operation against the threads' rows, and gathers what they change) → [`statements`]
//! (one statement per table, whatever the number of operations) → answers, once the transaction is durable.

mod batch;
mod commit;
mod delete;
mod op;
mod repair;
mod row;
mod statements;
mod thread;
mod writer;

pub(crate) use batch::check_dead;
pub(crate) use delete::DELETE_THREAD;
pub(crate) use op::{Accept, Answer, Op, Sync};
pub(crate) use repair::Remedy;
pub(crate) use writer::{Counters, Writer};
