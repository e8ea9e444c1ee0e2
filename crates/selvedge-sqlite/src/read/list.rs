//! Lists of threads.

use selvedge_event::{ThreadId, Timestamp};
use selvedge_store::{StoreError, ThreadSummary, ThreadsAfter};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::{origin, unsigned, usage};
use crate::connection::Value;
use crate::readers::Readers;

const THREADS: &str = "SELECT name, origin, parent, fork_step, created_at, updated_at, step, \
    (SELECT count(*) FROM inbox WHERE thread = threads.id), (SELECT count(*) FROM calls WHERE thread = threads.id), \
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens \
    FROM threads WHERE name > ? ORDER BY name LIMIT ?";

const UNFINISHED: &str = "SELECT name FROM threads \
    WHERE step > committed OR id IN (SELECT thread FROM inbox) OR id IN (SELECT thread FROM calls) ORDER BY name";

/// Threads in the order of their ids.
pub(crate) async fn threads(readers: &Readers, range: ThreadsAfter) -> Result<Vec<ThreadSummary>, StoreError> {
    let mut reader = readers.get().await?;
    // No thread's name is empty, so all come after the empty one.
    let after = range.after.as_ref().map_or("", ThreadId::as_str);
    let limit = i64::try_from(range.limit).unwrap_or(i64::MAX);
    let rows = reader.select(THREADS, [Value::Text(after), Value::Integer(limit)]).await?;
    rows.iter().map(summary).collect::<Result<_, _>>().map_err(|error| reader.failed(error))
}

/// Threads that have something to do without any new input.
pub(crate) async fn unfinished(readers: &Readers) -> Result<Vec<ThreadId>, StoreError> {
    let mut reader = readers.get().await?;
    let rows = reader.select(UNFINISHED, []).await?;
    let name = |row: &SqliteRow| row.try_get::<String, _>(0).map(ThreadId::from);
    rows.iter().map(name).collect::<Result<_, _>>().map_err(|error| reader.failed(error))
}

fn summary(row: &SqliteRow) -> Result<ThreadSummary, sqlx::Error> {
    Ok(ThreadSummary {
        thread: row.try_get::<String, _>(0)?.into(),
        origin: origin(row, 1)?,
        created_at: Timestamp(row.try_get(4)?),
        updated_at: Timestamp(row.try_get(5)?),
        step: unsigned(row, 6)?,
        inbox: unsigned(row, 7)?,
        open_calls: unsigned(row, 8)?,
        usage: usage(row, 9)?,
    })
}
