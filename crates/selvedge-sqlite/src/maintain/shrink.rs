//! Giving back space that is free, and a thread that begins late.

use selvedge_event::{Step, ThreadId};
use selvedge_store::{Epoch, StoreError, StoreErrorKind};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::apart::{apart, transaction};
use crate::SqliteStore;
use crate::connection::{Value, arguments, run, run_once};

impl SqliteStore {
    /// Rewrites the database without the space that removed rows have left, which otherwise is used again by later ones
    /// but not given back. How many bytes the file lost. Takes twice the file's size on the disk meanwhile, and keeps
    /// other writers waiting until it is done: longer than their [`busy`](crate::SqliteOptions::busy) bound if the file
    /// is large.
    ///
    /// # Errors
    /// [`Busy`](StoreErrorKind::Busy), [`Unavailable`](StoreErrorKind::Unavailable): the database is as it was.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it done or not done.
    pub async fn shrink(&self) -> Result<u64, StoreError> {
        // A copy in memory would be as large as the file.
        let connect = self.connect_options().clone().pragma("temp_store", "FILE");
        apart(&connect, "shrinking the database", async |connection| {
            let before = size(connection).await?;
            run_once(connection, "VACUUM").await?;
            // Readers may hold on to the log; then it is folded into the file later.
            run_once(connection, "PRAGMA wal_checkpoint(TRUNCATE)").await?;
            Ok(before.saturating_sub(size(connection).await?))
        })
        .await
    }

    /// Sets a thread's step ahead without a turn, as committed: for an import whose thread begins at a later step,
    /// because its beginning was removed. Its next turn is `step + 1`.
    ///
    /// # Errors
    /// [`Conflict`](StoreErrorKind::Conflict) if the thread is not there, its epoch is not this one, it is past that
    /// step already, or its newest step is not committed.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it done or not done.
    pub async fn skip_to(&self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<(), StoreError> {
        apart(self.connect_options(), "setting a thread's step", async |connection| {
            transaction(connection, async |connection| {
                let sql = "UPDATE threads SET step = ?, committed = ? WHERE name = ? AND epoch = ? AND step <= ? \
                           AND step = committed RETURNING id";
                let number = |number: u64| Value::Integer(number.cast_signed());
                let values = [number(step), number(step), Value::Text(thread.as_str()), number(epoch.0), number(step)];
                let rows = run(connection, sql, arguments(values)?).await?;
                if rows.iter().all(Vec::is_empty) {
                    let message =
                        format!("thread {thread:?} is not there, claimed anew, past step {step}, or not committed");
                    return Err(StoreError::new(StoreErrorKind::Conflict, message).into());
                }
                Ok((true, ()))
            })
            .await
        })
        .await
    }
}

async fn size(connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let sql = "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)";
    let rows = run_once(connection, sql).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    row.try_get::<i64, _>(0).map(i64::cast_unsigned)
}
