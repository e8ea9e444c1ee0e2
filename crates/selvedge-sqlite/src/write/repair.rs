//! Repairs of one thread: a transaction of its own. Rows that cannot be read are not touched: none is named here.

use selvedge_event::{CallId, ChoiceId, InputId, ThreadId, Usage};
use selvedge_store::{Epoch, StoreError, StoreErrorKind};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::batch::not_found;
use super::op::number;
use crate::connection::{Value, arguments, run, run_once};

/// What is to be put right.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Remedy {
    /// Whether the thread's newest step and inbox number are raised to what there is, and what is committed lowered.
    pub(crate) counters: bool,
    /// Tokens to be counted.
    pub(crate) usage: Option<Usage>,
    /// Inputs to be known.
    pub(crate) inputs: Vec<InputId>,
    /// Calls that are open no more.
    pub(crate) settled: Vec<CallId>,
    /// Choices that nobody waits for.
    pub(crate) choices: Vec<(CallId, ChoiceId)>,
    /// Calls whose sign-ins nobody waits for.
    pub(crate) sign_ins: Vec<CallId>,
}

const BEGIN: &str = "BEGIN IMMEDIATE; SELECT id, epoch FROM threads WHERE name = ?";

const COUNTERS: &str = "UPDATE threads SET \
        step = max(step, coalesce((SELECT max(step) FROM messages WHERE thread = threads.id), 0)), \
        last_seq = max(last_seq, coalesce((SELECT max(seq) FROM inbox WHERE thread = threads.id), 0)) WHERE id = ?; \
    UPDATE threads SET committed = min(committed, step) WHERE id = ?";

const USAGE: &str = "UPDATE threads SET input_tokens = ?, output_tokens = ?, cache_read_tokens = ?, \
    cache_write_tokens = ?, reasoning_tokens = ? WHERE id = ?";

const INPUTS: &str = "INSERT OR IGNORE INTO input_ids (thread, input_id) SELECT ?, value FROM json_each(?)";

const SETTLED: &str = "DELETE FROM calls WHERE thread = ? AND call_id IN (SELECT value FROM json_each(?))";

const CHOICES: &str = "DELETE FROM choices WHERE thread = ? \
    AND (call_id, choice_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))";

const SIGN_INS: &str = "DELETE FROM oauth WHERE thread = ? AND call_id IN (SELECT value FROM json_each(?))";

/// Puts things right, or says why not. The outer error is one of the database.
pub(super) async fn repair(
    connection: &mut SqliteConnection,
    thread: &ThreadId,
    epoch: Epoch,
    remedy: &Remedy,
) -> Result<Result<(), StoreError>, sqlx::Error> {
    let results = run(connection, BEGIN, arguments([Value::Text(thread.as_str())])?).await?;
    let found = match results.iter().flatten().next() {
        Some(row) => Some((row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?)),
        None => None,
    };
    let refused = match found {
        Some((id, claimed)) if claimed == number(epoch.0) => {
            apply(connection, id, remedy).await?;
            run_once(connection, "COMMIT").await?;
            return Ok(Ok(()));
        }
        Some((_, claimed)) => {
            let message = format!("the thread is claimed with epoch {claimed}, not {}", epoch.0);
            StoreError::new(StoreErrorKind::Conflict, message)
        }
        None => not_found(thread),
    };
    run_once(connection, "ROLLBACK").await?;
    Ok(Err(refused))
}

async fn apply(connection: &mut SqliteConnection, id: i64, remedy: &Remedy) -> Result<(), sqlx::Error> {
    let Remedy { counters, usage, inputs, settled, choices, sign_ins } = remedy;
    let thread = || Value::Integer(id);
    if *counters {
        run(connection, COUNTERS, arguments([thread(), thread()])?).await?;
    }
    if let Some(Usage { input, output, cache_read, cache_write, reasoning }) = *usage {
        let [input, output, read, write, reasoning] =
            [input, output, cache_read, cache_write, reasoning].map(|tokens| Value::Integer(number(tokens)));
        run(connection, USAGE, arguments([input, output, read, write, reasoning, thread()])?).await?;
    }
    if !inputs.is_empty() {
        let inputs = list(inputs)?;
        run(connection, INPUTS, arguments([thread(), Value::Text(&inputs)])?).await?;
    }
    if !settled.is_empty() {
        let calls = list(settled)?;
        run(connection, SETTLED, arguments([thread(), Value::Text(&calls)])?).await?;
    }
    if !choices.is_empty() {
        let choices = list(choices)?;
        run(connection, CHOICES, arguments([thread(), Value::Text(&choices)])?).await?;
    }
    if !sign_ins.is_empty() {
        let calls = list(sign_ins)?;
        run(connection, SIGN_INS, arguments([thread(), Value::Text(&calls)])?).await?;
    }
    Ok(())
}

fn list(values: &impl serde::Serialize) -> Result<String, sqlx::Error> {
    serde_json::to_string(values).map_err(|error| sqlx::Error::Encode(error.into()))
}
