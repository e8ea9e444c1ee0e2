//! Retention: whole threads that nobody has used for long, and the beginnings of long threads.
//!
//! A thread's history is cut only where what remains is a history: no call is open there, and what follows begins with
//! the user. In place of what was removed stands a compaction, which tells readers, viewers and the model so.

use std::collections::HashSet;

use selvedge_event::{CallId, CompactionSummary, Message, Step, ThreadId, Timestamp, Usage};
use selvedge_store::{StoreError, StoreErrorKind};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::apart::{Error, apart, transaction};
use crate::SqliteStore;
use crate::connection::{Value, arguments, run, run_once};
use crate::owners::Owners;
use crate::read::{message, unsigned};
use crate::write::{DELETE_THREAD, check_dead};

/// What is to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prune {
    /// Whole threads, or else old turns within threads.
    pub whole_threads: bool,
    /// What stays.
    pub keep: Keep,
    /// Only this thread; `None` for all.
    pub thread: Option<ThreadId>,
    /// When it is done, which the database remembers.
    pub at: Timestamp,
    /// Whether to tell only what would be removed.
    pub dry_run: bool,
}

/// What stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// What is of this time or newer: turns by when they were staged, threads by their newest step.
    Since(Timestamp),
    /// This many of the newest: threads, or turns of each thread.
    Newest(u64),
}

/// What was removed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PruneReport {
    /// What was removed, by thread.
    pub removed: Vec<PrunedThread>,
    /// Threads of which something should have been removed and was not.
    pub kept: Vec<Kept>,
}

/// What was removed of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunedThread {
    /// The thread.
    pub thread: ThreadId,
    /// The last step of which the messages were removed; `None` for the whole thread.
    pub through: Option<Step>,
    /// How many turns.
    pub turns: u64,
    /// How many bytes of messages.
    pub bytes: u64,
}

/// A thread of which nothing was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The thread.
    pub thread: ThreadId,
    /// Why not.
    pub why: String,
}

impl SqliteStore {
    /// Removes old threads, or the beginnings of long ones; see [`Prune`]. Each thread is one transaction.
    ///
    /// What is never removed: anything of a thread that an owner that lives has, or whose history forks share; a whole
    /// thread with inputs that wait, open calls, subscriptions, or a step that is not committed. A history is cut only
    /// where no call is open and what remains begins with the user, so that it can be sent, attached to, exported and
    /// gone on with; a compaction in the place of what was removed tells so. Its newest turn always stays. The ids of
    /// all inputs stay known for as long as the thread lives, and its tokens are counted on. Whole outputs of calls that
    /// go, go too. The space is used again by later rows; [`shrink`](Self::shrink) gives it back.
    ///
    /// # Errors
    /// [`NotFound`](StoreErrorKind::NotFound) for a thread that is named; [`Busy`](StoreErrorKind::Busy),
    /// [`Unavailable`](StoreErrorKind::Unavailable): some threads may be pruned and others not, none is half.
    ///
    /// # Cancel safety
    /// As after an error.
    pub async fn prune(&self, prune: &Prune) -> Result<PruneReport, StoreError> {
        apart(self.connect_options(), "pruning the database", async |connection| {
            let mut report = PruneReport::default();
            for name in names(connection, prune).await? {
                let one = One { owners: self.owners(), prune, name: &name };
                let done = transaction(connection, async |connection| {
                    let done =
                        if prune.whole_threads { one.whole(connection).await? } else { one.turns(connection).await? };
                    Ok((!prune.dry_run && matches!(done, Done::Removed(_)), done))
                });
                match done.await? {
                    Done::Removed(removed) => report.removed.push(removed),
                    Done::Kept(why) => report.kept.push(Kept { thread: name, why }),
                    Done::Nothing => {}
                }
            }
            Ok(report)
        })
        .await
    }
}

/// The threads in question: forks before what they were forked from, so that a parent may follow its forks.
async fn names(connection: &mut SqliteConnection, prune: &Prune) -> Result<Vec<ThreadId>, Error> {
    if let Some(thread) = &prune.thread {
        if read(connection, thread.as_str()).await?.is_none() {
            return Err(StoreError::new(StoreErrorKind::NotFound, format!("there is no thread {thread:?}")).into());
        }
        return Ok(vec![thread.clone()]);
    }
    let rows = match prune.keep {
        Keep::Newest(newest) if prune.whole_threads => {
            let sql = "SELECT name FROM threads WHERE id NOT IN \
                       (SELECT id FROM threads ORDER BY updated_at DESC, id DESC LIMIT ?) ORDER BY id DESC";
            select(connection, sql, Value::Integer(i64::try_from(newest).unwrap_or(i64::MAX))).await?
        }
        Keep::Since(time) if prune.whole_threads => {
            let sql = "SELECT name FROM threads WHERE updated_at < ? ORDER BY id DESC";
            select(connection, sql, Value::Integer(time.0)).await?
        }
        _ => run_once(connection, "SELECT name FROM threads ORDER BY id DESC").await?,
    };
    let names = rows.iter().map(|row| row.try_get::<String, _>(0).map(ThreadId::from));
    Ok(names.collect::<Result<_, _>>()?)
}

/// What became of a thread.
enum Done {
    Removed(PrunedThread),
    Kept(String),
    Nothing,
}

/// One thread, within the transaction that prunes it.
struct One<'a> {
    owners: &'a Owners,
    prune: &'a Prune,
    name: &'a ThreadId,
}

impl One<'_> {
    /// Why the thread must stay as it is, whatever is old in it.
    async fn is_in_use(&self, connection: &mut SqliteConnection, thread: &ThreadRow) -> Result<Option<String>, Error> {
        if let Some(owner) = &thread.owner {
            match check_dead(self.owners, self.name, owner) {
                Ok(()) => {}
                Err(error) if error.kind() == StoreErrorKind::Owned => return Ok(Some(error.to_string())),
                Err(error) => return Err(error.into()),
            }
        }
        let sql = "SELECT name FROM threads WHERE origin = 'fork' AND parent = ? \
                   AND id NOT IN (SELECT thread FROM pruned) ORDER BY name LIMIT 1";
        let forks = select(connection, sql, Value::Text(self.name.as_str())).await?;
        match forks.first() {
            Some(row) => Ok(Some(format!("its history is shared by its fork {}", row.try_get::<String, _>(0)?))),
            None => Ok(None),
        }
    }

    async fn whole(&self, connection: &mut SqliteConnection) -> Result<Done, Error> {
        let Some(thread) = read(connection, self.name.as_str()).await? else { return Ok(Done::Nothing) };
        if let Some(why) = self.is_in_use(connection, &thread).await? {
            return Ok(Done::Kept(why));
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM inbox WHERE thread = ?1) OR EXISTS (SELECT 1 FROM calls WHERE thread = ?1) \
                   OR EXISTS (SELECT 1 FROM subscriptions WHERE thread = ?1)";
        let waits: bool = first(&select(connection, sql, Value::Integer(thread.id)).await?, |row| row.try_get(0))?;
        if waits || thread.committed < thread.step {
            return Ok(Done::Kept("it has something to do: an input, an open call, a subscription or a commit".into()));
        }
        let sql = "SELECT count(DISTINCT step), coalesce(sum(octet_length(body)), 0) FROM messages WHERE thread = ?";
        let rows = select(connection, sql, Value::Integer(thread.id)).await?;
        let [turns, bytes] = first(&rows, |row| Ok([row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?]))?;
        if !self.prune.dry_run {
            run(connection, DELETE_THREAD, arguments([(); 11].map(|()| Value::Integer(thread.id)))?).await?;
        }
        let [turns, bytes] = [turns, bytes].map(i64::cast_unsigned);
        Ok(Done::Removed(PrunedThread { thread: self.name.clone(), through: None, turns, bytes }))
    }

    async fn turns(&self, connection: &mut SqliteConnection) -> Result<Done, Error> {
        let Some(thread) = read(connection, self.name.as_str()).await? else { return Ok(Done::Nothing) };
        let Some(wanted) = self.first_to_keep(connection, &thread).await? else { return Ok(Done::Nothing) };
        let cut = match cut(connection, &thread, wanted).await? {
            Ok(Some(cut)) => cut,
            Ok(None) => return Ok(Done::Nothing),
            Err(why) => return Ok(Done::Kept(why)),
        };
        if let Some(why) = self.is_in_use(connection, &thread).await? {
            return Ok(Done::Kept(why));
        }
        if !self.prune.dry_run {
            remove(connection, &thread, &cut, self.prune.at).await?;
        }
        let (thread, through) = (self.name.clone(), Some(cut.step));
        Ok(Done::Removed(PrunedThread { thread, through, turns: cut.turns, bytes: cut.bytes }))
    }

    /// The oldest step that is to stay by what was asked, of those that have messages; the newest step always stays.
    async fn first_to_keep(
        &self,
        connection: &mut SqliteConnection,
        thread: &ThreadRow,
    ) -> Result<Option<i64>, sqlx::Error> {
        let id = Value::Integer(thread.id);
        let (sql, values) = match self.prune.keep {
            Keep::Newest(newest) => (
                "SELECT min(step) FROM (SELECT DISTINCT step FROM messages WHERE thread = ? ORDER BY step DESC LIMIT ?)",
                [id, Value::Integer(i64::try_from(newest.max(1)).unwrap_or(i64::MAX))],
            ),
            Keep::Since(time) => (
                "SELECT coalesce(min(step) FILTER (WHERE at >= ?2), max(step)) FROM messages WHERE thread = ?1",
                [id, Value::Integer(time.0)],
            ),
        };
        let rows = run(connection, sql, arguments(values)?).await?;
        rows.iter().flatten().next().ok_or(sqlx::Error::RowNotFound)?.try_get(0)
    }
}

/// A thread's row, as far as it matters here.
#[derive(Debug)]
struct ThreadRow {
    id: i64,
    step: Step,
    committed: Step,
    owner: Option<String>,
    /// The last step that was removed before.
    removed: Option<Step>,
}

async fn read(connection: &mut SqliteConnection, name: &str) -> Result<Option<ThreadRow>, sqlx::Error> {
    let sql = "SELECT id, step, committed, owner, (SELECT step FROM pruned WHERE thread = threads.id) \
               FROM threads WHERE name = ?";
    let row = |row: &SqliteRow| {
        Ok(ThreadRow {
            id: row.try_get(0)?,
            step: unsigned(row, 1)?,
            committed: unsigned(row, 2)?,
            owner: row.try_get(3)?,
            removed: row.try_get::<Option<i64>, _>(4)?.map(i64::cast_unsigned),
        })
    };
    select(connection, sql, Value::Text(name)).await?.first().map(row).transpose()
}

async fn select(
    connection: &mut SqliteConnection,
    sql: &'static str,
    value: Value<'_>,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    Ok(run(connection, sql, arguments([value])?).await?.into_iter().flatten().collect())
}

fn first<T>(rows: &[SqliteRow], read: impl FnOnce(&SqliteRow) -> Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
    rows.first().ok_or(sqlx::Error::RowNotFound).and_then(read)
}

/// Where a history is cut, and what goes.
#[derive(Debug, Clone, Default)]
struct Cut {
    /// The last step that goes.
    step: Step,
    /// The time of that step.
    at: i64,
    turns: u64,
    bytes: u64,
    usage: Usage,
    /// Calls whose whole outputs go too.
    outputs: Vec<CallId>,
}

/// How many messages are read at once.
const PAGE: i64 = 256;

/// The last boundary at or before step `wanted`. The inner error says why the history cannot be cut.
async fn cut(
    connection: &mut SqliteConnection,
    thread: &ThreadRow,
    wanted: i64,
) -> Result<Result<Option<Cut>, String>, sqlx::Error> {
    let sql = "SELECT step, place, at, body FROM messages WHERE thread = ? AND (step, place) > (?, ?) AND step <= ? \
               ORDER BY step, place LIMIT ?";
    let (mut reading, mut last) = (Reading::new(thread), (i64::MIN, 0));
    loop {
        let asked = [thread.id, last.0, last.1, wanted, PAGE].map(Value::Integer);
        let rows: Vec<_> = run(connection, sql, arguments(asked)?).await?.into_iter().flatten().collect();
        for row in &rows {
            last = (row.try_get(0)?, row.try_get(1)?);
            let body: &[u8] = row.try_get(3)?;
            let Ok(message) = message(body) else {
                return Ok(Err(format!("a message of step {} cannot be read", last.0)));
            };
            reading.message(last.0.cast_unsigned(), row.try_get(2)?, &message, body.len());
        }
        if (rows.len() as i64) < PAGE {
            return Ok(Ok(reading.boundary));
        }
    }
}

/// A history, read up to some message.
struct Reading<'a> {
    thread: &'a ThreadRow,
    /// What would go if the cut were after the messages up to here.
    sofar: Cut,
    open: HashSet<CallId>,
    boundary: Option<Cut>,
}

impl<'a> Reading<'a> {
    fn new(thread: &'a ThreadRow) -> Self {
        Self { thread, sofar: Cut::default(), open: HashSet::new(), boundary: None }
    }

    fn message(&mut self, step: Step, at: i64, message: &Message, bytes: usize) {
        let is_first = step != self.sofar.step;
        let begins = matches!(message, Message::User(_) | Message::Compaction(_));
        // What is not known to be committed must stand where the barrier resumes it.
        let is_committed = self.sofar.step <= self.thread.committed;
        if is_first && begins && self.open.is_empty() && self.sofar.turns > 0 && is_committed {
            self.boundary = Some(self.sofar.clone());
        }
        // The mark that an earlier pruning left goes, and counts for nothing.
        let is_mark = self.thread.removed == Some(step);
        self.sofar.step = step;
        self.sofar.at = at;
        self.sofar.turns += u64::from(is_first && !is_mark);
        self.sofar.bytes += if is_mark { 0 } else { bytes as u64 };
        match message {
            Message::Assistant(assistant) => {
                self.sofar.usage += assistant.usage;
                self.open.extend(assistant.calls().map(|call| call.id.clone()));
            }
            Message::ToolResult(result) => {
                self.open.remove(&result.call_id);
                // The runtime names a call's whole output by the call. What others have put under other names stays.
                if result.blob.as_ref().is_some_and(|blob| *blob.id == *result.call_id.as_str()) {
                    self.sofar.outputs.push(result.call_id.clone());
                }
            }
            _ => {}
        }
    }
}

/// Removes what a cut says, and leaves a mark in its place.
async fn remove(
    connection: &mut SqliteConnection,
    thread: &ThreadRow,
    cut: &Cut,
    at: Timestamp,
) -> Result<(), sqlx::Error> {
    let json = |error: serde_json::Error| sqlx::Error::Encode(error.into());
    let summary = format!("(The beginning of this conversation, up to step {}, was removed to save space.)", cut.step);
    let mark = Message::Compaction(CompactionSummary { summary: summary.into() }.into());
    let (mark, outputs) =
        (serde_json::to_string(&mark).map_err(json)?, serde_json::to_string(&cut.outputs).map_err(json)?);
    let (id, step) = (thread.id, cut.step.cast_signed());
    let sql = "DELETE FROM messages WHERE thread = ? AND step <= ?; \
        INSERT INTO messages (thread, step, place, at, body) VALUES (?, ?, 0, ?, ?); \
        DELETE FROM blobs WHERE thread = ? AND blob_id IN (SELECT value FROM json_each(?)); \
        INSERT INTO pruned (thread, step, at, turns, input_tokens, output_tokens, cache_read_tokens, \
            cache_write_tokens, reasoning_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) \
        ON CONFLICT (thread) DO UPDATE SET step = excluded.step, at = excluded.at, turns = turns + excluded.turns, \
            input_tokens = input_tokens + excluded.input_tokens, \
            output_tokens = output_tokens + excluded.output_tokens, \
            cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens, \
            cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, \
            reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens";
    let number = |number: u64| Value::Integer(number.cast_signed());
    let Usage { input, output, cache_read, cache_write, reasoning } = cut.usage;
    let values = [
        Value::Integer(id),
        Value::Integer(step),
        Value::Integer(id),
        Value::Integer(step),
        Value::Integer(cut.at),
        Value::Text(&mark),
        Value::Integer(id),
        Value::Text(&outputs),
        Value::Integer(id),
        Value::Integer(step),
        Value::Integer(at.0),
        number(cut.turns),
        number(input),
        number(output),
        number(cache_read),
        number(cache_write),
        number(reasoning),
    ];
    run(connection, sql, arguments(values)?).await.map(drop)
}
