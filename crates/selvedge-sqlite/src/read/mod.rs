//! Reading: each answer comes from one statement, or from rows that never change, so that it is one consistent state.
//!
//! A read whose future is dropped is given up; its connection goes on to the next.

mod history;
mod list;
mod record;

use selvedge_event::{ThreadId, Usage};
use selvedge_store::{Origin, StoreError, StoreErrorKind};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

pub(crate) use history::{history, message};
pub(crate) use list::{threads, unfinished};
pub(crate) use record::{head, load, load_with};

pub(crate) fn not_found(thread: &ThreadId) -> StoreError {
    StoreError::new(StoreErrorKind::NotFound, format!("there is no thread {thread:?}"))
}

/// An unsigned number, which the database keeps as a signed one of the same bits.
pub(crate) fn unsigned(row: &SqliteRow, column: usize) -> Result<u64, sqlx::Error> {
    row.try_get::<i64, _>(column).map(i64::cast_unsigned)
}

/// A thread's tokens, from five columns.
pub(crate) fn usage(row: &SqliteRow, first: usize) -> Result<Usage, sqlx::Error> {
    Ok(Usage {
        input: unsigned(row, first)?,
        output: unsigned(row, first + 1)?,
        cache_read: unsigned(row, first + 2)?,
        cache_write: unsigned(row, first + 3)?,
        reasoning: unsigned(row, first + 4)?,
    })
}

/// Where a thread comes from, from three columns: origin, parent, fork_step.
pub(crate) fn origin(row: &SqliteRow, first: usize) -> Result<Origin, sqlx::Error> {
    let parent = || row.try_get::<String, _>(first + 1).map(ThreadId::from);
    Ok(match row.try_get(first)? {
        "root" => Origin::Root,
        "child" => Origin::Child { parent: parent()? },
        // The schema allows no other.
        _fork => Origin::Fork { parent: parent()?, step: unsigned(row, first + 2)? },
    })
}
