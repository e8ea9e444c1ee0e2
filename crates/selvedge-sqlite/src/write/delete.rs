//! Deleting a thread: a transaction of its own, for it is rare and touches every table.

use selvedge_event::ThreadId;
use selvedge_store::{StoreError, StoreErrorKind};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::batch::{check_dead, not_found};
use crate::connection::{Value, arguments, run, run_once};
use crate::owners::Owners;

const BEGIN: &str = "BEGIN IMMEDIATE; \
    SELECT id, owner FROM threads WHERE name = ?; \
    SELECT name FROM threads WHERE origin = 'fork' AND parent = ? \
        AND NOT EXISTS (SELECT 1 FROM pruned WHERE pruned.thread = threads.id) ORDER BY name LIMIT 10";

/// All that is kept of a thread, each statement with its number.
pub(crate) const DELETE_THREAD: &str = "DELETE FROM messages WHERE thread = ?; DELETE FROM inbox WHERE thread = ?; \
    DELETE FROM input_ids WHERE thread = ?; DELETE FROM calls WHERE thread = ?; \
    DELETE FROM choices WHERE thread = ?; DELETE FROM subscriptions WHERE thread = ?; \
    DELETE FROM oauth WHERE thread = ?; DELETE FROM views WHERE thread = ?; \
    DELETE FROM blobs WHERE thread = ?; DELETE FROM pruned WHERE thread = ?; \
    DELETE FROM threads WHERE id = ?";

/// Deletes a thread, or says why not. The outer error is one of the database.
pub(super) async fn delete(
    connection: &mut SqliteConnection,
    owners: &Owners,
    thread: &ThreadId,
) -> Result<Result<(), StoreError>, sqlx::Error> {
    let name = || Value::Text(thread.as_str());
    let results = run(connection, BEGIN, arguments([name(), name()])?).await?;
    let [_begun, found, forks] = results.as_slice() else {
        return Err(sqlx::Error::RowNotFound);
    };
    let found = match found.first() {
        Some(row) => Some((row.try_get::<i64, _>(0)?, row.try_get::<Option<String>, _>(1)?)),
        None => None,
    };
    let forks = forks.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    match check(owners, thread, found, &forks) {
        Ok(id) => {
            run(connection, DELETE_THREAD, arguments([(); 11].map(|()| Value::Integer(id)))?).await?;
            run_once(connection, "COMMIT").await?;
            Ok(Ok(()))
        }
        Err(refused) => {
            run_once(connection, "ROLLBACK").await?;
            Ok(Err(refused))
        }
    }
}

/// The thread's number, if it may be deleted.
fn check(
    owners: &Owners,
    thread: &ThreadId,
    found: Option<(i64, Option<String>)>,
    forks: &[String],
) -> Result<i64, StoreError> {
    let (id, owner) = found.ok_or_else(|| not_found(thread))?;
    if let Some(owner) = owner {
        check_dead(owners, thread, &owner)?;
    }
    if !forks.is_empty() {
        let message = format!("the history of thread {thread:?} is shared by {forks:?}");
        return Err(StoreError::new(StoreErrorKind::InUse, message));
    }
    Ok(id)
}
