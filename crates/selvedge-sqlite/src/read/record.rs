//! Everything about a thread but its history, in one statement: its cost does not depend on the history's length.

use selvedge_event::{ChoiceResolution, OAuthNotice, Subscription, ThreadId, Timestamp, UserChoice, View};
use selvedge_store::{Epoch, Head, InboxEntry, PlannedCall, Quarantined, StoreError, SyncToken, ThreadRecord};
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::{not_found, origin, unsigned, usage};
use crate::connection::Value;
use crate::readers::{Reader, Readers};

const HEAD: &str = "SELECT step, epoch, token FROM threads WHERE name = ?";

/// The thread's row comes first, then those of the tables beside it. One statement sees one state.
///
/// The columns: which part; two numbers by which it is ordered; its key; a time; its body; a second body; and ten that
/// only the thread's own row has.
const LOAD: &str = "WITH this AS MATERIALIZED (SELECT * FROM threads WHERE name = ?) \
    SELECT 0 AS part, step AS first, committed AS second, NULL, created_at, NULL, NULL, epoch, token, \
        origin, parent, fork_step, \
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens FROM this \
    UNION ALL SELECT 1, seq, 0, input_id, inbox.at, body, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
        FROM this CROSS JOIN inbox ON inbox.thread = this.id \
    UNION ALL SELECT 2, calls.step, place, call_id, 0, body, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
        FROM this CROSS JOIN calls ON calls.thread = this.id \
    UNION ALL SELECT 3, choices.step, place, choice_id, 0, body, resolution, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
        FROM this CROSS JOIN choices ON choices.thread = this.id \
    UNION ALL SELECT 4, subscriptions.step, place, call_id, 0, body, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
        FROM this CROSS JOIN subscriptions ON subscriptions.thread = this.id \
    UNION ALL SELECT 5, oauth.step, place, call_id, 0, body, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
        FROM this CROSS JOIN oauth ON oauth.thread = this.id \
    UNION ALL SELECT 6, views.step, place, view_type, 0, body, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
        FROM this CROSS JOIN views ON views.thread = this.id \
    ORDER BY part, first, second";

/// The tables of [`LOAD`] beside the thread's own, by part.
const TABLES: [&str; 7] = ["threads", "inbox", "calls", "choices", "subscriptions", "oauth", "views"];

/// Where a thread's writers are.
pub(crate) async fn head(readers: &Readers, thread: &ThreadId) -> Result<Head, StoreError> {
    let mut reader = readers.get().await?;
    let rows = reader.select(HEAD, [Value::Text(thread.as_str())]).await?;
    let row = rows.first().ok_or_else(|| not_found(thread))?;
    read_head(row, [0, 1, 2]).map_err(|error| reader.failed(error))
}

/// Everything about a thread but its history.
pub(crate) async fn load(readers: &Readers, thread: &ThreadId) -> Result<ThreadRecord, StoreError> {
    load_with(&mut readers.get().await?, thread).await
}

/// The same, with a connection at hand.
pub(crate) async fn load_with(reader: &mut Reader, thread: &ThreadId) -> Result<ThreadRecord, StoreError> {
    let rows = reader.select(LOAD, [Value::Text(thread.as_str())]).await?;
    let (first, rest) = rows.split_first().ok_or_else(|| not_found(thread))?;
    record(thread, first, rest).map_err(|error| reader.failed(error))
}

fn read_head(row: &SqliteRow, [step, epoch, token]: [usize; 3]) -> Result<Head, sqlx::Error> {
    Ok(Head {
        step: unsigned(row, step)?,
        epoch: Epoch(unsigned(row, epoch)?),
        token: SyncToken(unsigned(row, token)?),
    })
}

fn record(thread: &ThreadId, first: &SqliteRow, rest: &[SqliteRow]) -> Result<ThreadRecord, sqlx::Error> {
    let mut record = ThreadRecord {
        thread: thread.clone(),
        origin: origin(first, 9)?,
        created_at: Timestamp(first.try_get(4)?),
        head: read_head(first, [1, 7, 8])?,
        committed: unsigned(first, 2)?,
        open_calls: Vec::new(),
        choices: Vec::new(),
        subscriptions: Vec::new(),
        oauth: Vec::new(),
        views: Vec::new(),
        usage: usage(first, 12)?,
        inbox: Vec::new(),
        quarantined: Vec::new(),
    };
    for row in rest {
        let part = row.try_get::<i64, _>(0)?;
        if let Err(unreadable) = add(&mut record, part, row) {
            record.quarantined.push(quarantined(thread, part, row, &unreadable));
        }
    }
    Ok(record)
}

/// Why a row cannot be read.
type Unreadable = Box<dyn std::error::Error + Send + Sync>;

fn add(record: &mut ThreadRecord, part: i64, row: &SqliteRow) -> Result<(), Unreadable> {
    match part {
        1 => record.inbox.push(InboxEntry {
            seq: unsigned(row, 1)?,
            id: row.try_get::<String, _>(3)?.into(),
            input: body(row)?,
            at: Timestamp(row.try_get(4)?),
        }),
        2 => record.open_calls.push(body::<PlannedCall>(row)?),
        3 => {
            let resolution = match row.try_get::<Option<&[u8]>, _>(6)? {
                Some(text) => Some(serde_json::from_slice::<ChoiceResolution>(text)?),
                None => None,
            };
            record.choices.push((body::<UserChoice>(row)?, resolution));
        }
        4 => record.subscriptions.push(body::<Subscription>(row)?),
        5 => record.oauth.push(body::<OAuthNotice>(row)?),
        _ => record.views.push(body::<View>(row)?),
    }
    Ok(())
}

/// The body of a row, read as bytes, for damaged text must not be taken for anything else.
fn body<T: DeserializeOwned>(row: &SqliteRow) -> Result<T, Unreadable> {
    Ok(serde_json::from_slice(row.try_get::<&[u8], _>(5)?)?)
}

fn quarantined(thread: &ThreadId, part: i64, row: &SqliteRow, unreadable: &Unreadable) -> Quarantined {
    let table = usize::try_from(part).ok().and_then(|part| TABLES.get(part)).unwrap_or(&"threads");
    let key = match row.try_get::<Option<&[u8]>, _>(3) {
        Ok(Some(key)) => format!(" {:?}", String::from_utf8_lossy(key)),
        Ok(None) | Err(_) => String::new(),
    };
    Quarantined { place: format!("{table} of {thread:?}{key}"), reason: unreadable.to_string() }
}
