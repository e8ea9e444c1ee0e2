//! A check of everything, which changes nothing.
//!
//! Each thread is read in a transaction of its own, in pages: a check of any database takes little memory, never sees
//! half of what others write meanwhile, and does not keep the write-ahead log from beginning anew.

use selvedge_event::ThreadId;
use selvedge_store::{StoreError, StoreErrorKind};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::check;
use crate::connection::Value;
use crate::read::unsigned;
use crate::readers::Reader;
use crate::{Finding, Problem, SqliteStore};

/// How much [`SqliteStore::verify`] has looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Threads.
    pub threads: u64,
    /// Messages of their histories, what forks share counted with each.
    pub messages: u64,
    /// What was found.
    pub findings: u64,
}

/// Threads that are named at once.
const BUNCH: usize = 256;

const THREADS: &str = "SELECT id, name FROM threads WHERE id > ? ORDER BY id LIMIT 256";

/// Not all that SQLite finds: where much is damaged, the first lines tell.
const INTEGRITY: &str = "PRAGMA integrity_check(100)";

const ORPHANS: &str = "WITH rows (of, thread) AS ( \
        SELECT 'messages', thread FROM messages UNION ALL SELECT 'inbox', thread FROM inbox \
        UNION ALL SELECT 'input_ids', thread FROM input_ids UNION ALL SELECT 'calls', thread FROM calls \
        UNION ALL SELECT 'choices', thread FROM choices UNION ALL SELECT 'subscriptions', thread FROM subscriptions \
        UNION ALL SELECT 'oauth', thread FROM oauth UNION ALL SELECT 'views', thread FROM views \
        UNION ALL SELECT 'blobs', thread FROM blobs UNION ALL SELECT 'pruned', thread FROM pruned) \
    SELECT of, thread, count(*) FROM rows WHERE thread NOT IN (SELECT id FROM threads) GROUP BY of, thread";

impl SqliteStore {
    /// Looks for everything that is not as it should be, and hands it to `found`, thread by thread. Changes nothing, and
    /// may run while threads do.
    ///
    /// It checks the file (SQLite's `integrity_check`, rows without a thread), and of every thread: that its records can
    /// be read; steps, inbox numbers and input ids; that every call has one result or is open; choices and sign-ins; the
    /// sum of its tokens; what forks share; that large outputs are whole. See [`Problem`]. A child whose parent was
    /// deleted is as it should be.
    ///
    /// # Errors
    /// [`Unavailable`](StoreErrorKind::Unavailable) and its like. Damage is no error but a finding, as far as the list of
    /// threads can be read.
    ///
    /// # Cancel safety
    /// If the future is dropped, the check ends.
    pub async fn verify(&self, mut found: impl FnMut(Finding)) -> Result<Verified, StoreError> {
        let mut verified = Verified::default();
        for problem in self.check_file().await? {
            verified.findings += 1;
            found(Finding { thread: None, problem });
        }
        let mut after = i64::MIN;
        loop {
            let bunch = self.threads_after(after).await?;
            for (number, name) in &bunch {
                after = *number;
                let thread = ThreadId::from(String::from_utf8_lossy(name).as_ref());
                let checked = match std::str::from_utf8(name) {
                    Ok(_text) => self.check_thread(&thread).await?,
                    Err(error) => check::Checked::unreadable(format!("threads, number {number}"), error.to_string()),
                };
                verified.threads += 1;
                verified.messages += checked.messages;
                for problem in checked.problems {
                    verified.findings += 1;
                    found(Finding { thread: Some(thread.clone()), problem });
                }
            }
            if bunch.len() < BUNCH {
                return Ok(verified);
            }
        }
    }

    /// Checks one thread; nothing if it has been deleted meanwhile.
    pub(super) async fn check_thread(&self, thread: &ThreadId) -> Result<check::Checked, StoreError> {
        let mut snapshot = self.readers().snapshot().await?;
        match check::thread(snapshot.reader(), thread).await {
            Ok(checked) => snapshot.end().await.map(|()| checked),
            Err(error) if error.kind() == StoreErrorKind::Corrupt => Ok(check::Checked::damaged(&error)),
            Err(error) => Err(error),
        }
    }

    async fn check_file(&self) -> Result<Vec<Problem>, StoreError> {
        let mut reader = self.readers().get().await?;
        let mut problems = Vec::new();
        match integrity(&mut reader).await {
            Ok(lines) => problems.extend(lines.into_iter().map(Problem::Damaged)),
            // What keeps the check itself from running is damage too.
            Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                problems.push(Problem::Damaged(check::with_source(&error)));
                reader = self.readers().get().await?;
            }
            Err(error) => return Err(error),
        }
        match reader.select(ORPHANS, []).await {
            Ok(rows) => {
                let read = rows.iter().map(orphans).collect::<Result<Vec<_>, _>>();
                problems.extend(read.map_err(|error| reader.failed(error))?);
            }
            Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                problems.push(Problem::Damaged(check::with_source(&error)));
            }
            Err(error) => return Err(error),
        }
        Ok(problems)
    }

    async fn threads_after(&self, number: i64) -> Result<Vec<(i64, Vec<u8>)>, StoreError> {
        let mut reader = self.readers().get().await?;
        let rows = reader.select(THREADS, [Value::Integer(number)]).await?;
        // The name as bytes, for damaged text must not end the check.
        let thread = |row: &SqliteRow| Ok((row.try_get(0)?, row.try_get_unchecked(1)?));
        rows.iter().map(thread).collect::<Result<_, _>>().map_err(|error| reader.failed(error))
    }
}

async fn integrity(reader: &mut Reader) -> Result<Vec<String>, StoreError> {
    let rows = reader.select(INTEGRITY, []).await?;
    let lines = rows.iter().map(|row| row.try_get::<String, _>(0)).collect::<Result<Vec<_>, _>>();
    let lines = lines.map_err(|error| reader.failed(error))?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

fn orphans(row: &SqliteRow) -> Result<Problem, sqlx::Error> {
    Ok(Problem::Orphans { table: row.try_get(0)?, thread: row.try_get(1)?, rows: unsigned(row, 2)? })
}
