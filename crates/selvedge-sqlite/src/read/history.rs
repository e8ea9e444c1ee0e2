//! Pages of history: the sizes of turns first, newest to oldest, until the page is full; then its messages.
//!
//! Messages never change, so the two statements see one state; a thread that is deleted between them is not found.

use std::sync::Arc;

use futures_util::TryStreamExt;
use selvedge_event::{Message, Step, ThreadId, Timestamp, TurnRecord};
use selvedge_store::{HistoryPage, Quarantined, StoreError};
use sqlx::sqlite::SqliteRow;
use sqlx::{Executor, Row};

use super::{not_found, unsigned};
use crate::connection::{Value, arguments};
use crate::readers::{Reader, Readers};

/// The thread, the one that it was forked from, and so on; each with the last of its steps that counts.
const LINEAGE: &str = "WITH RECURSIVE lineage (id, origin, parent, fork_step, last, distance) AS ( \
        SELECT id, origin, parent, fork_step, ?, 0 FROM threads WHERE name = ? \
        UNION ALL SELECT threads.id, threads.origin, threads.parent, threads.fork_step, \
            min(lineage.last, lineage.fork_step), distance + 1 \
        FROM lineage JOIN threads ON threads.name = lineage.parent WHERE lineage.origin = 'fork') \
    SELECT id, last FROM lineage ORDER BY distance";

const SIZES: &str = "SELECT step, sum(octet_length(body)) FROM messages WHERE thread = ? AND step <= ? \
    GROUP BY step ORDER BY step DESC";

const MESSAGES: &str = "SELECT step, place, at, body FROM messages \
    WHERE thread = ? AND step BETWEEN ? AND ? ORDER BY step, place";

/// How many bytes of messages are read before other tasks of the thread get their turn.
const STRETCH: usize = 64 << 10;

/// A part of a page: steps of one thread.
#[derive(Debug)]
struct Segment {
    thread: i64,
    first: Step,
    last: Step,
}

/// The newest turns before a step: as many as fit in `max_bytes`, but at least one.
pub(crate) async fn history(
    readers: &Readers,
    thread: &ThreadId,
    before: Option<Step>,
    max_bytes: u64,
) -> Result<HistoryPage, StoreError> {
    let mut reader = readers.get().await?;
    let last = before.unwrap_or(Step::MAX).saturating_sub(1).min(i64::MAX as u64);
    let asked = [Value::Integer(last.cast_signed()), Value::Text(thread.as_str())];
    let lineage = reader.select(LINEAGE, asked).await?;
    if lineage.is_empty() {
        return Err(not_found(thread));
    }
    let (segments, older) = measure(&mut reader, &lineage, max_bytes).await.map_err(|error| reader.failed(error))?;
    let mut page = HistoryPage { older, ..HistoryPage::default() };
    for segment in segments.iter().rev() {
        let found = read(&mut reader, segment, thread, &mut page).await.map_err(|error| reader.failed(error))?;
        if !found {
            return Err(not_found(thread));
        }
    }
    Ok(page)
}

/// The segments of the page, newest first, and the oldest step of it if there are older ones.
async fn measure(
    reader: &mut Reader,
    lineage: &[SqliteRow],
    max_bytes: u64,
) -> Result<(Vec<Segment>, Option<Step>), sqlx::Error> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut bytes = 0_u64;
    for row in lineage {
        let (thread, last) = (row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?);
        let mut within: Option<Segment> = None;
        let query = sqlx::query_with(SIZES, arguments([Value::Integer(thread), Value::Integer(last)])?);
        let mut sizes = reader.fetch(query);
        while let Some(row) = sizes.try_next().await? {
            let (step, size) = (unsigned(&row, 0)?, unsigned(&row, 1)?);
            let is_first = segments.is_empty() && within.is_none();
            if !is_first && bytes.saturating_add(size) > max_bytes {
                let older = within.as_ref().or(segments.last()).map(|segment| segment.first);
                segments.extend(within);
                return Ok((segments, older));
            }
            bytes = bytes.saturating_add(size);
            within.get_or_insert(Segment { thread, first: step, last: step }).first = step;
        }
        segments.extend(within);
    }
    Ok((segments, None))
}

/// Adds a segment's turns to the page. Returns whether there was any row.
async fn read(
    reader: &mut Reader,
    segment: &Segment,
    thread: &ThreadId,
    page: &mut HistoryPage,
) -> Result<bool, sqlx::Error> {
    let steps = [segment.first, segment.last].map(|step| Value::Integer(step.cast_signed()));
    let [first, last] = steps;
    let query = sqlx::query_with(MESSAGES, arguments([Value::Integer(segment.thread), first, last])?);
    let mut rows = reader.fetch(query);
    let mut turn: Option<TurnRecord> = None;
    let mut any = false;
    let mut stretch = 0;
    while let Some(row) = rows.try_next().await? {
        any = true;
        let step = unsigned(&row, 0)?;
        let body = row.try_get::<&[u8], _>(3)?;
        match serde_json::from_slice::<Message>(body) {
            Ok(message) => add(page, &mut turn, step, Timestamp(row.try_get(2)?), message),
            Err(error) => {
                let place = format!("messages of {thread:?}, step {step}, place {}", row.try_get::<i64, _>(1)?);
                page.quarantined.push(Quarantined { place, reason: error.to_string() });
            }
        }
        stretch += body.len();
        if stretch > STRETCH {
            stretch = 0;
            tokio::task::yield_now().await;
        }
    }
    page.turns.extend(turn.map(Arc::new));
    Ok(any)
}

/// Adds a message to the turn that is being put together, which goes to the page when another begins.
fn add(page: &mut HistoryPage, turn: &mut Option<TurnRecord>, step: Step, at: Timestamp, message: Message) {
    match turn {
        Some(turn) if turn.step == step => turn.messages.push(message),
        _ => {
            let begun = TurnRecord { step, at, messages: vec![message] };
            page.turns.extend(turn.replace(begun).map(Arc::new));
        }
    }
}
