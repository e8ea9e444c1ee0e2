//! Reads of the database.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use selvedge_event::{
    CallId, Item, ItemId, ItemKind, Outcome, Step, ThreadId, Timestamp, ToolResult, Usage, UserChoice,
};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::SessionsError;
use crate::op::SessionId;
use crate::readers::Readers;
use crate::session::{Cost, Listing, Session, SessionError, Status, title_of};
use crate::step_rows::{Entry, Line, RESULT};

/// Everything about sessions that is shown of them; a condition on `session` is added.
macro_rules! sessions_where {
    ($condition:literal) => {
        concat!(
            "SELECT session.thread, session.step, session.created_at, session.updated_at, session.input_tokens, \
                 session.output_tokens, session.cache_read_tokens, session.cache_write_tokens, \
                 session.reasoning_tokens, session.cost, session.unpriced, session.open_calls, \
                 (SELECT count(*) FROM durable_choices WHERE session = session.id) AS choices, \
                 (SELECT substr(text, 1, 1000) FROM durable_entries \
                     WHERE session = session.id AND kind = 'user' ORDER BY step, place LIMIT 1) AS text, \
                 last.step AS last_step, last.outcome AS last_outcome \
             FROM durable_sessions AS session \
             LEFT JOIN durable_steps AS last ON last.session = session.id AND last.step = \
                 (SELECT step FROM durable_steps WHERE session = session.id AND outcome IS NOT NULL \
                     ORDER BY step DESC LIMIT 1) \
             WHERE session.state = 'kept' AND ",
            $condition
        )
    };
}

pub(crate) async fn session(readers: &Readers, thread: &ThreadId) -> Result<Option<Session>, SessionsError> {
    let rows = readers.select(sessions_where!("session.thread = ?1"), [thread.as_str().into()]).await?;
    rows.first().map(read_session).transpose()
}

pub(crate) async fn list(readers: &Readers, listing: &Listing) -> Result<Vec<Session>, SessionsError> {
    let sql = sessions_where!(
        "(?1 IS NULL OR (session.updated_at, session.thread) < (?1, ?2)) \
         ORDER BY session.updated_at DESC, session.thread DESC LIMIT ?3"
    );
    let (at, thread) = listing.after.as_ref().map(|(at, thread)| (at.0, thread.as_str())).unzip();
    let rows = readers.select(sql, [at.into(), thread.into(), (listing.limit as u64).into()]).await?;
    rows.iter().map(read_session).collect()
}

fn read_session(row: &SqliteRow) -> Result<Session, SessionsError> {
    let read = || {
        let number = |name: &str| row.try_get::<i64, _>(name).map(|number| u64::try_from(number).unwrap_or(0));
        let outcome: Option<String> = row.try_get("last_outcome")?;
        let last_step = row.try_get::<Option<i64>, _>("last_step")?.unwrap_or(0).cast_unsigned();
        let text: Option<String> = row.try_get("text")?;
        let (open, choices) = (number("open_calls")?, number("choices")?);
        let outcome = outcome.map(|outcome| serde_json::from_str(&outcome)).transpose();
        let last_error = match outcome.map_err(|error| sqlx::Error::Decode(error.into()))? {
            Some(Outcome::Failed { failure, message }) => {
                Some(SessionError { step: last_step, kind: failure, message })
            }
            _ => None,
        };
        let status = match open {
            0 if last_error.is_some() => Status::Failed,
            0 => Status::Idle,
            _ if choices > 0 => Status::WaitingForChoice,
            open => Status::RunningCalls(open),
        };
        Ok(Session {
            thread: row.try_get::<String, _>("thread")?.into(),
            title: text.as_deref().and_then(title_of),
            created_at: Timestamp(row.try_get("created_at")?),
            updated_at: Timestamp(row.try_get("updated_at")?),
            step: number("step")?,
            usage: read_usage(row)?,
            cost: read_cost(row)?,
            status,
            last_error,
        })
    };
    read().map_err(failed)
}

/// The counts of a row that has them.
fn read_usage(row: &SqliteRow) -> Result<Usage, sqlx::Error> {
    let number = |name: &str| row.try_get::<i64, _>(name).map(|number| u64::try_from(number).unwrap_or(0));
    Ok(Usage {
        input: number("input_tokens")?,
        output: number("output_tokens")?,
        cache_read: number("cache_read_tokens")?,
        cache_write: number("cache_write_tokens")?,
        reasoning: number("reasoning_tokens")?,
    })
}

pub(crate) async fn choices(readers: &Readers, thread: &ThreadId) -> Result<Vec<UserChoice>, SessionsError> {
    let sql = "SELECT choice.body FROM durable_choices AS choice \
               JOIN durable_sessions AS session ON session.id = choice.session \
               WHERE session.thread = ?1 AND session.state = 'kept' ORDER BY choice.id";
    let rows = readers.select(sql, [thread.as_str().into()]).await?;
    let choice = |row: &SqliteRow| parse(thread, row.try_get(0).map_err(failed)?);
    rows.iter().map(choice).collect()
}

pub(crate) async fn transcript(readers: &Readers, thread: &ThreadId) -> Result<Vec<Item>, SessionsError> {
    let sql = "SELECT entry.step, entry.place, entry.kind, entry.body FROM durable_entries AS entry \
               JOIN durable_sessions AS session ON session.id = entry.session \
               WHERE session.thread = ?1 AND session.state = 'kept' ORDER BY entry.step, entry.place, entry.id";
    let rows = readers.select(sql, [thread.as_str().into()]).await?;
    let mut items = Vec::with_capacity(rows.len());
    let mut results: HashMap<CallId, (Step, Arc<ToolResult>)> = HashMap::new();
    for row in &rows {
        let step = row.try_get::<i64, _>(0).map_err(failed)?.cast_unsigned();
        let body: &str = row.try_get(3).map_err(failed)?;
        if row.try_get::<&str, _>(2).map_err(failed)? == RESULT {
            let result: ToolResult = parse(thread, body)?;
            results.insert(result.call_id.clone(), (step, Arc::new(result)));
        } else {
            let place = row.try_get::<Option<i64>, _>(1).map_err(failed)?.unwrap_or(0);
            let id = ItemId { step, place: u32::try_from(place).unwrap_or(u32::MAX) };
            items.push(Item { id, kind: parse(thread, body)? });
        }
    }
    for item in &mut items {
        if let ItemKind::ToolCall { call_id, result, .. } = &mut item.kind {
            *result = results.get(call_id).cloned();
        }
    }
    Ok(items)
}

/// What is kept of a thread, as far as it is sums.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) session: SessionId,
    pub(crate) step: Step,
    pub(crate) created_at: Timestamp,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
    pub(crate) open_calls: i64,
}

pub(crate) async fn kept(readers: &Readers, thread: &ThreadId) -> Result<Option<Kept>, SessionsError> {
    let sql = "SELECT * FROM durable_sessions WHERE thread = ?1 AND state = 'kept'";
    let rows = readers.select(sql, [thread.as_str().into()]).await?;
    let read = |row: &SqliteRow| {
        Ok(Kept {
            session: row.try_get("id")?,
            step: row.try_get::<i64, _>("step")?.cast_unsigned(),
            created_at: Timestamp(row.try_get("created_at")?),
            usage: read_usage(row)?,
            cost: read_cost(row)?,
            open_calls: row.try_get("open_calls")?,
        })
    };
    rows.first().map(read).transpose().map_err(failed)
}

/// What is kept of the steps in a range.
pub(crate) async fn steps(
    readers: &Readers,
    session: SessionId,
    steps: Range<Step>,
) -> Result<BTreeMap<Step, (Vec<Entry>, Line)>, SessionsError> {
    let mut kept: BTreeMap<Step, (Vec<Entry>, Line)> = BTreeMap::new();
    let range = || [session.into(), steps.start.into(), steps.end.into()];
    let entries = "SELECT * FROM durable_entries WHERE session = ?1 AND step >= ?2 AND step < ?3 ORDER BY id";
    for row in readers.select(entries, range()).await? {
        let (step, entry) = read_entry(&row).map_err(failed)?;
        kept.entry(step).or_default().0.push(entry);
    }
    let lines = "SELECT * FROM durable_steps WHERE session = ?1 AND step >= ?2 AND step < ?3";
    for row in readers.select(lines, range()).await? {
        let (step, line) = read_line(&row).map_err(failed)?;
        kept.entry(step).or_default().1 = line;
    }
    Ok(kept)
}

fn read_entry(row: &SqliteRow) -> Result<(Step, Entry), sqlx::Error> {
    let place: Option<i64> = row.try_get("place")?;
    let entry = Entry {
        place: place.map(|place| u32::try_from(place).unwrap_or(u32::MAX)),
        kind: row.try_get::<String, _>("kind")?.into(),
        call_id: row.try_get::<Option<String>, _>("call_id")?.map(CallId::from),
        text: row.try_get("text")?,
        body: row.try_get("body")?,
    };
    Ok((row.try_get::<i64, _>("step")?.cast_unsigned(), entry))
}

fn read_line(row: &SqliteRow) -> Result<(Step, Line), sqlx::Error> {
    let line = Line {
        model: row.try_get("model")?,
        outcome: row.try_get("outcome")?,
        usage: read_usage(row)?,
        cost: read_cost(row)?,
        open_calls: row.try_get("open_calls")?,
    };
    Ok((row.try_get::<i64, _>("step")?.cast_unsigned(), line))
}

fn read_cost(row: &SqliteRow) -> Result<Cost, sqlx::Error> {
    let number = |name: &str| row.try_get::<i64, _>(name).map(|number| u64::try_from(number).unwrap_or(0));
    Ok(Cost { millionths: number("cost")?, unpriced: number("unpriced")? })
}

/// The names of all threads after one, in order.
pub(crate) async fn threads(
    readers: &Readers,
    after: Option<&ThreadId>,
    limit: usize,
) -> Result<Vec<ThreadId>, SessionsError> {
    let sql = "SELECT thread FROM durable_sessions WHERE state = 'kept' AND (?1 IS NULL OR thread > ?1) \
               ORDER BY thread LIMIT ?2";
    let after = after.map(|thread| thread.as_str());
    let rows = readers.select(sql, [after.into(), (limit as u64).into()]).await?;
    rows.iter().map(|row| row.try_get::<String, _>(0).map(ThreadId::from).map_err(failed)).collect()
}

pub(crate) fn failed(error: sqlx::Error) -> SessionsError {
    SessionsError::database("reading sessions", error)
}

fn parse<T: serde::de::DeserializeOwned>(thread: &ThreadId, body: &str) -> Result<T, SessionsError> {
    let unreadable =
        |error: serde_json::Error| SessionsError::Unreadable { thread: thread.to_string(), reason: error.to_string() };
    serde_json::from_str(body).map_err(unreadable)
}
