//! A thread's history, read from its beginning in pages: what it tells of calls, results, outputs, inputs and tokens.

use std::collections::HashSet;

use selvedge_event::{BlobRef, CallId, InputId, Message, ThreadId, ToolResult, Usage};
use selvedge_store::StoreError;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::Problem;
use crate::connection::Value;
use crate::read::{message, unsigned};
use crate::readers::Reader;

/// What a history tells.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) problems: Vec<Problem>,
    /// Messages that were read.
    pub(super) messages: u64,
    pub(super) calls: Calls,
    /// Of the thread's own messages.
    pub(super) usage: Usage,
    /// Whether there are records that cannot be read: then nobody can tell what they would have told.
    pub(super) has_unreadable: bool,
}

/// The calls of a history.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// In the order in which they were made.
    pub(super) unanswered: Vec<CallId>,
    pub(super) answered: HashSet<CallId>,
    unknown: Vec<CallId>,
}

/// The thread, the one that it was forked from, and so on; each with the last of its steps that counts.
const LINEAGE: &str = "WITH RECURSIVE lineage (id, origin, parent, fork_step, last, distance) AS ( \
        SELECT id, origin, parent, fork_step, 9223372036854775807, 0 FROM threads WHERE id = ? \
        UNION ALL SELECT threads.id, threads.origin, threads.parent, threads.fork_step, \
            min(lineage.last, lineage.fork_step), distance + 1 \
        FROM lineage JOIN threads ON threads.name = lineage.parent WHERE lineage.origin = 'fork' \
            AND NOT EXISTS (SELECT 1 FROM pruned WHERE pruned.thread = lineage.id)) \
    SELECT id, last FROM lineage ORDER BY distance";

const PAGE: &str = "SELECT step, place, body FROM messages WHERE thread = ? AND (step, place) > (?, ?) AND step <= ? \
    ORDER BY step, place LIMIT 64";

const BLOB: &str = "SELECT count(*), coalesce(max(piece) + 1, 0), coalesce(sum(octet_length(bytes)), 0) FROM blobs \
    WHERE thread = ? AND blob_id = ?";

const KNOWN: &str =
    "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT input_id FROM input_ids WHERE thread = ?)";

/// Reads a history, a fork's with what it shares.
pub(super) async fn read(reader: &mut Reader, thread: &ThreadId, id: i64, is_fork: bool) -> Result<Told, StoreError> {
    let mut lineage = vec![(id, i64::MAX)];
    if is_fork {
        let rows = reader.select(LINEAGE, [Value::Integer(id)]).await?;
        let rows = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        lineage = rows.collect::<Result<_, _>>().map_err(|error| reader.failed(error))?;
    }
    let mut told = Told::default();
    for (number, last) in lineage.iter().rev() {
        let is_own = *number == id;
        let mut after = (i64::MIN, i64::MIN);
        let mut expected = (0, 0);
        loop {
            let values = [*number, after.0, after.1, *last].map(Value::Integer);
            let rows = reader.select(PAGE, values).await?;
            let page = rows.iter().map(Record::read).collect::<Result<Vec<_>, _>>();
            let page = page.map_err(|error| reader.failed(error))?;
            let mut needs = Needs::default();
            for record in &page {
                after = (record.step, record.place);
                if is_own {
                    told.check_place(&mut expected, record);
                }
                told.take_in(thread, record, is_own, &mut needs);
            }
            needs.check(reader, &lineage, &mut told.problems).await?;
            if page.is_empty() {
                break;
            }
        }
    }
    if !told.has_unreadable {
        let strays = std::mem::take(&mut told.calls.unknown);
        told.problems.extend(strays.into_iter().map(Problem::ResultWithoutCall));
    }
    Ok(told)
}

/// A message as it is kept.
struct Record<'a> {
    step: i64,
    place: i64,
    body: &'a [u8],
}

impl<'a> Record<'a> {
    fn read(row: &'a SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self { step: row.try_get(0)?, place: row.try_get(1)?, body: row.try_get_unchecked(2)? })
    }
}

impl Told {
    /// A turn's messages are numbered from 0. `expected` is the place that comes next, and of which step.
    fn check_place(&mut self, expected: &mut (i64, i64), record: &Record<'_>) {
        if expected.0 != record.step {
            *expected = (record.step, 0);
        }
        for place in expected.1..record.place {
            let (step, place) = (record.step.cast_unsigned(), place.cast_unsigned());
            self.problems.push(Problem::MessageMissing { step, place });
        }
        expected.1 = record.place + 1;
    }

    fn take_in(&mut self, thread: &ThreadId, record: &Record<'_>, is_own: bool, needs: &mut Needs) {
        self.messages += 1;
        let message = match message(record.body) {
            Ok(message) => message,
            Err(error) => {
                self.has_unreadable = true;
                if is_own {
                    let place = format!("messages of {thread:?}, step {}, place {}", record.step, record.place);
                    self.problems.push(Problem::Unreadable { place, reason: error.to_string() });
                }
                return;
            }
        };
        match &message {
            Message::Assistant(assistant) => {
                for call in assistant.calls() {
                    self.call(&call.id);
                }
                if is_own {
                    self.usage += assistant.usage;
                }
            }
            Message::ToolResult(result) => {
                self.result(result);
                if let Some(blob) = result.blob.as_ref().filter(|_| is_own) {
                    needs.blobs.push((result.call_id.clone(), blob.clone()));
                }
            }
            Message::User(user) if is_own => needs.inputs.push(user.input_id.clone()),
            Message::SubscriptionEvent(event) if is_own => needs.inputs.push(event.input_id.clone()),
            Message::User(_) | Message::SubscriptionEvent(_) | Message::Compaction(_) => {}
        }
    }

    fn call(&mut self, call: &CallId) {
        if self.calls.answered.contains(call) || self.calls.unanswered.contains(call) {
            self.problems.push(Problem::CallTwice(call.clone()));
        } else {
            self.calls.unanswered.push(call.clone());
        }
    }

    fn result(&mut self, result: &ToolResult) {
        let Calls { unanswered, answered, unknown } = &mut self.calls;
        let call = &result.call_id;
        match unanswered.iter().position(|made| made == call) {
            Some(place) => {
                unanswered.remove(place);
                answered.insert(call.clone());
            }
            None if answered.contains(call) => self.problems.push(Problem::ResultTwice(call.clone())),
            None => unknown.push(call.clone()),
        }
    }
}

/// What the messages of a page say must be there.
#[derive(Debug, Default)]
struct Needs {
    blobs: Vec<(CallId, BlobRef)>,
    inputs: Vec<InputId>,
}

impl Needs {
    async fn check(
        self,
        reader: &mut Reader,
        lineage: &[(i64, i64)],
        problems: &mut Vec<Problem>,
    ) -> Result<(), StoreError> {
        for (call, BlobRef { id: blob, bytes }) in self.blobs {
            let kept = kept(reader, lineage, &blob).await?;
            if kept != bytes {
                problems.push(Problem::Blob { call, blob, bytes, kept });
            }
        }
        // The first of the lineage is the thread itself.
        if let (Some((id, _)), false) = (lineage.first(), self.inputs.is_empty()) {
            let asked = serde_json::Value::from_iter(self.inputs.iter().map(InputId::as_str)).to_string();
            for row in reader.select(KNOWN, [Value::Text(&asked), Value::Integer(*id)]).await? {
                let input = row.try_get::<String, _>(0).map_err(|error| reader.failed(error))?;
                problems.push(Problem::InputForgotten(input.into()));
            }
        }
        Ok(())
    }
}

/// How many bytes of a blob there are, up to the first piece that is missing: in the nearest thread that has any.
async fn kept(reader: &mut Reader, lineage: &[(i64, i64)], blob: &str) -> Result<u64, StoreError> {
    for (thread, _) in lineage {
        let rows = reader.select(BLOB, [Value::Integer(*thread), Value::Text(blob)]).await?;
        let Some(row) = rows.first() else { continue };
        let read = || Ok((unsigned(row, 0)?, unsigned(row, 1)?, unsigned(row, 2)?));
        let (pieces, length, bytes) = read().map_err(|error| reader.failed(error))?;
        if pieces > 0 {
            // Without one of its pieces, what is behind it stands in the wrong place.
            return Ok(if pieces == length { bytes } else { 0 });
        }
    }
    Ok(0)
}
