//! Pages of history: the sizes of turns first, newest to oldest, until the page is full; then its messages.
//!
//! Rows come in bunches, many in one row of the answer, for each row costs its way between threads. Messages never
//! change, so that several statements see one state; a thread that is deleted between them is not found.

use std::sync::Arc;

use futures_util::future::join;
use selvedge_event::{
    AssistantMessage, CompactionSummary, Message, Step, SubscriptionMessage, ThreadId, Timestamp, ToolResult,
    TurnRecord, UserMessage,
};
use selvedge_store::{HistoryPage, Quarantined, StoreError};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::not_found;
use crate::connection::Value;
use crate::readers::{Reader, Readers};

/// The thread, the one that it was forked from, and so on; each with the last of its steps that counts. A fork whose
/// beginning was removed shares nothing any more.
const LINEAGE: &str = "WITH RECURSIVE lineage (id, origin, parent, fork_step, last, distance) AS ( \
        SELECT id, origin, parent, fork_step, ?, 0 FROM threads WHERE name = ? \
        UNION ALL SELECT threads.id, threads.origin, threads.parent, threads.fork_step, \
            min(lineage.last, lineage.fork_step), distance + 1 \
        FROM lineage JOIN threads ON threads.name = lineage.parent WHERE lineage.origin = 'fork' \
            AND NOT EXISTS (SELECT 1 FROM pruned WHERE pruned.thread = lineage.id)) \
    SELECT id, last FROM lineage ORDER BY distance";

/// Some turns of a thread, newest first: step and bytes of each.
const SIZES: &str = "SELECT json_group_array(json_array(step, bytes)) FROM ( \
        SELECT step, sum(octet_length(body)) AS bytes FROM messages WHERE thread = ? AND step <= ? \
        GROUP BY step ORDER BY step DESC LIMIT ?)";

/// The messages of some steps: step, place, time and bytes of each; and their bodies, one after another in that order.
const MESSAGES: &str = "SELECT json_group_array(json_array(step, place, at, octet_length(body))), \
        group_concat(body, '') FROM messages WHERE thread = ? AND step BETWEEN ? AND ?";

/// How many turns are measured at first; then each time four times as many, up to [`MOST_MEASURED`].
const MEASURED: i64 = 32;
const MOST_MEASURED: i64 = 2048;

/// How many bytes of messages are read at once; then other tasks of the thread get their turn.
const STRETCH: u64 = 128 << 10;

/// A part of a page: steps of one thread.
#[derive(Debug)]
struct Stretch {
    thread: i64,
    first: i64,
    last: i64,
    bytes: u64,
}

/// The newest turns before a step: as many as fit in `max_bytes`, but at least one.
pub(crate) async fn history(
    readers: &Readers,
    thread: &ThreadId,
    before: Option<Step>,
    max_bytes: u64,
) -> Result<HistoryPage, StoreError> {
    if before == Some(0) {
        // No step comes before it, but the thread may not be there.
        return super::head(readers, thread).await.map(|_head| HistoryPage::default());
    }
    let mut reader = readers.get().await?;
    let last = before.unwrap_or(Step::MAX) - 1;
    let last = i64::try_from(last).unwrap_or(i64::MAX);
    let lineage = reader.select(LINEAGE, [Value::Integer(last), Value::Text(thread.as_str())]).await?;
    if lineage.is_empty() {
        return Err(not_found(thread));
    }
    let (stretches, older) = measure(&mut reader, &lineage, max_bytes).await?;
    let mut page = HistoryPage { older, ..HistoryPage::default() };
    let mut oldest_first = stretches.iter().rev();
    let mut rows = read(&mut reader, oldest_first.next()).await?;
    while !rows.is_empty() {
        // The connection reads the next stretch while this one is parsed.
        let next = read(&mut reader, oldest_first.next());
        let (next, parsed) = join(next, async { parse(&rows, thread, &mut page) }).await;
        match parsed {
            Ok(true) => rows = next?,
            Ok(false) => return Err(not_found(thread)),
            Err(error) => return Err(reader.failed(error)),
        }
    }
    Ok(page)
}

/// Reads a stretch. No rows if there is none.
async fn read(reader: &mut Reader, stretch: Option<&Stretch>) -> Result<Vec<SqliteRow>, StoreError> {
    match stretch {
        Some(Stretch { thread, first, last, .. }) => {
            reader.select(MESSAGES, [*thread, *first, *last].map(Value::Integer)).await
        }
        None => Ok(Vec::new()),
    }
}

/// Adds a stretch's turns to the page. Whether there were any messages.
fn parse(rows: &[SqliteRow], thread: &ThreadId, page: &mut HistoryPage) -> Result<bool, sqlx::Error> {
    let messages = Messages::read(rows)?;
    let any = !messages.rows.is_empty();
    messages.add_to(page, thread);
    Ok(any)
}

/// The stretches of the page, newest first, and the oldest step of it if there are older ones.
async fn measure(
    reader: &mut Reader,
    lineage: &[SqliteRow],
    max_bytes: u64,
) -> Result<(Vec<Stretch>, Option<Step>), StoreError> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut total = 0_u64;
    for row in lineage {
        let read = || Ok((row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?));
        let (thread, mut last) = read().map_err(|error| reader.failed(error))?;
        let mut limit = MEASURED;
        loop {
            let rows = reader.select(SIZES, [thread, last, limit].map(Value::Integer)).await?;
            let sizes: Vec<(i64, u64)> = decode(&rows, 0).map_err(|error| reader.failed(error))?;
            for (step, bytes) in &sizes {
                total = total.saturating_add(*bytes);
                match stretches.last_mut() {
                    Some(oldest) if total > max_bytes => {
                        let older = oldest.first.cast_unsigned();
                        return Ok((stretches, Some(older)));
                    }
                    Some(oldest) if oldest.thread == thread && oldest.bytes.saturating_add(*bytes) <= STRETCH => {
                        oldest.first = *step;
                        oldest.bytes += bytes;
                    }
                    _ => stretches.push(Stretch { thread, first: *step, last: *step, bytes: *bytes }),
                }
            }
            match sizes.last() {
                Some((oldest, _)) if sizes.len() as i64 == limit => last = oldest - 1,
                _ => break,
            }
            limit = (limit * 4).min(MOST_MEASURED);
        }
    }
    Ok((stretches, None))
}

/// What a statement gave of a stretch.
#[derive(Debug)]
struct Messages<'a> {
    /// Step, place, time and bytes of each.
    rows: Vec<(Step, i64, i64, usize)>,
    bodies: &'a [u8],
}

impl<'a> Messages<'a> {
    fn read(rows: &'a [SqliteRow]) -> Result<Self, sqlx::Error> {
        let bodies = match rows.first() {
            Some(row) => row.try_get::<Option<&[u8]>, _>(1)?.unwrap_or_default(),
            None => &[],
        };
        Ok(Self { rows: decode(rows, 0)?, bodies })
    }

    /// Adds the turns to the page, oldest first.
    fn add_to(self, page: &mut HistoryPage, thread: &ThreadId) {
        let mut rest = self.bodies;
        let mut messages: Vec<_> = self
            .rows
            .into_iter()
            .map(|(step, place, at, bytes)| {
                let (body, behind) = rest.split_at_checked(bytes).unwrap_or((rest, &[]));
                rest = behind;
                (step, place, at, body)
            })
            .collect();
        messages.sort_by_key(|(step, place, ..)| (*step, *place));
        for turn in messages.chunk_by(|one, next| one.0 == next.0) {
            let mut record = TurnRecord { step: turn[0].0, at: Timestamp(turn[0].2), messages: Vec::new() };
            for (step, place, _, body) in turn {
                match message(body) {
                    Ok(message) => record.messages.push(message),
                    Err(error) => page.quarantined.push(Quarantined {
                        place: format!("messages of {thread:?}, step {step}, place {place}"),
                        reason: error.to_string(),
                    }),
                }
            }
            if !record.messages.is_empty() {
                page.turns.push(Arc::new(record));
            }
        }
    }
}

/// A message from its JSON. Which kind it is stands at its beginning, where we have written it; then it is read without
/// the detour that serde takes to a tag that may stand anywhere.
pub(crate) fn message(body: &[u8]) -> serde_json::Result<Message> {
    let kind = body.strip_prefix(br#"{"kind":""#).and_then(|rest| rest.split(|byte| *byte == b'"').next());
    match kind.unwrap_or_default() {
        b"user" => serde_json::from_slice::<Arc<UserMessage>>(body).map(Message::User),
        b"assistant" => serde_json::from_slice::<Arc<AssistantMessage>>(body).map(Message::Assistant),
        b"tool_result" => serde_json::from_slice::<Arc<ToolResult>>(body).map(Message::ToolResult),
        b"subscription_event" => {
            serde_json::from_slice::<Arc<SubscriptionMessage>>(body).map(Message::SubscriptionEvent)
        }
        b"compaction" => serde_json::from_slice::<Arc<CompactionSummary>>(body).map(Message::Compaction),
        _ => serde_json::from_slice(body),
    }
}

/// A bunch of rows, from the JSON that SQLite made of them.
fn decode<T: serde::de::DeserializeOwned>(rows: &[SqliteRow], column: usize) -> Result<Vec<T>, sqlx::Error> {
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    serde_json::from_slice(row.try_get(column)?).map_err(|error| sqlx::Error::Decode(error.into()))
}
