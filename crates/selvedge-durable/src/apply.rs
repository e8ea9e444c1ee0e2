//! Each operation as SQL, within a transaction that the writer has begun.

use selvedge_event::{Step, ThreadId, Timestamp, UserChoice};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::Prices;
use crate::database::{Value, run};
use crate::op::{Answer, Built, Op, SessionId};
use crate::step_rows::StepRows;

/// After how many milliseconds a thread that is being built counts as abandoned.
const ABANDONED: i64 = 3_600_000;

/// Does one operation.
pub(crate) async fn apply(
    connection: &mut SqliteConnection,
    op: &Op,
    prices: &Prices,
    now: Timestamp,
) -> Result<Answer, sqlx::Error> {
    match op {
        Op::Commit { thread, rows, created_at } => {
            let session = follows(connection, thread, rows.step, *created_at, now).await?;
            commit(connection, session, rows, prices, now).await
        }
        Op::Require { thread, choice } => match find(connection, thread).await? {
            Some(kept) => require(connection, kept.session, choice).await.map(|()| Answer::Done),
            None => Ok(Answer::Gap),
        },
        Op::Dismiss { thread, choice } => dismiss(connection, thread, choice).await,
        Op::Choices { thread, choices } => match find(connection, thread).await? {
            Some(kept) => replace_choices(connection, kept.session, choices).await.map(|()| Answer::Done),
            None => Ok(Answer::Gap),
        },
        Op::Begin { thread, inherited } => begin(connection, thread, *inherited, now).await,
        Op::Append { session, steps } => append(connection, *session, steps, prices).await,
        Op::Finish { session, kept, built } => finish(connection, *session, *kept, built).await,
        Op::Forget { thread } => {
            if let Some(kept) = find(connection, thread).await? {
                remove(connection, kept.session).await?;
            }
            Ok(Answer::Done)
        }
        Op::Sweep => {
            for row in run(connection, "SELECT id FROM durable_sessions WHERE state = 'building'", []).await? {
                remove(connection, row.try_get(0)?).await?;
            }
            Ok(Answer::Done)
        }
    }
}

/// What is kept of a thread.
struct Kept {
    session: SessionId,
    step: Step,
    inherited: Step,
    created_at: Timestamp,
}

async fn find(connection: &mut SqliteConnection, thread: &ThreadId) -> Result<Option<Kept>, sqlx::Error> {
    let sql = "SELECT id, step, inherited, created_at FROM durable_sessions WHERE thread = ?1 AND state = 'kept'";
    let rows = run(connection, sql, [thread.as_str().into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let step = |column| row.try_get::<i64, _>(column).map(|step| step.cast_unsigned());
    let created_at = Timestamp(row.try_get(3)?);
    Ok(Some(Kept { session: row.try_get(0)?, step: step(1)?, inherited: step(2)?, created_at }))
}

/// The session that a step follows on in, or that has it already; `None` if there is none.
async fn follows(
    connection: &mut SqliteConnection,
    thread: &ThreadId,
    step: Step,
    created_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<Kept>, sqlx::Error> {
    match (find(connection, thread).await?, created_at) {
        (Some(kept), created_at) if created_at.is_none_or(|at| at == kept.created_at) => {
            Ok(Some(kept).filter(|kept| step == kept.step || step == kept.step + 1))
        }
        // Only a thread's first step can stand alone.
        (another, Some(created_at)) => {
            if let Some(another) = another {
                remove(connection, another.session).await?;
            }
            let session = insert(connection, thread, "kept", 0, (created_at, now)).await?;
            Ok(Some(Kept { session, step: 0, inherited: 0, created_at }))
        }
        (_, None) => Ok(None),
    }
}

async fn commit(
    connection: &mut SqliteConnection,
    kept: Option<Kept>,
    rows: &StepRows,
    prices: &Prices,
    now: Timestamp,
) -> Result<Answer, sqlx::Error> {
    let Some(kept) = kept else { return Ok(Answer::Gap) };
    put_step(connection, kept.session, rows, kept.inherited, prices).await?;
    // A step that is committed again leaves the time at which it first was.
    let sql = "UPDATE durable_sessions SET step = ?2, updated_at = ?3 WHERE id = ?1 AND step < ?2; \
               SELECT EXISTS (SELECT 1 FROM durable_choices WHERE session = ?1)";
    let waiting = run(connection, sql, [kept.session.into(), rows.step.into(), now.0.into()]).await?;
    let choices = waiting.first().map(|row| row.try_get::<i64, _>(0)).transpose()?.unwrap_or(0) > 0;
    Ok(Answer::Kept { choices })
}

async fn insert(
    connection: &mut SqliteConnection,
    thread: &ThreadId,
    state: &str,
    inherited: Step,
    (created_at, updated_at): (Timestamp, Timestamp),
) -> Result<SessionId, sqlx::Error> {
    let sql = "INSERT INTO durable_sessions (thread, state, step, inherited, created_at, updated_at) \
               VALUES (?1, ?2, 0, ?3, ?4, ?5) RETURNING id";
    let values = [thread.as_str().into(), state.into(), inherited.into(), created_at.0.into(), updated_at.0.into()];
    run(connection, sql, values).await?.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)
}

/// Puts the rows of a step in the place of what is there of it, and adds the difference to the sums.
async fn put_step(
    connection: &mut SqliteConnection,
    session: SessionId,
    rows: &StepRows,
    inherited: Step,
    prices: &Prices,
) -> Result<(), sqlx::Error> {
    let (this, step) = (|| session.into(), || rows.step.into());
    run(connection, TAKE_OUT, [this(), step()]).await?;
    for entry in &rows.entries {
        let place = entry.place.map(i64::from).into();
        let call = entry.call_id.as_ref().map(|call| call.as_str()).into();
        let (text, body) = (entry.text.as_str().into(), entry.body.as_str().into());
        run(connection, ENTRY, [this(), step(), place, (&*entry.kind).into(), call, text, body]).await?;
    }
    if !rows.is_empty() {
        let line = rows.line(inherited, prices);
        let values = [
            this(),
            step(),
            line.model.as_deref().into(),
            line.outcome.as_deref().into(),
            line.usage.input.into(),
            line.usage.output.into(),
            line.usage.cache_read.into(),
            line.usage.cache_write.into(),
            line.usage.reasoning.into(),
            line.cost.millionths.into(),
            line.cost.unpriced.into(),
            line.open_calls.into(),
        ];
        run(connection, PUT_IN, values).await?;
    }
    for call in rows.settled() {
        let sql = "DELETE FROM durable_choices WHERE session = ?1 AND call_id = ?2";
        run(connection, sql, [this(), call.as_str().into()]).await?;
    }
    Ok(())
}

/// Takes a step out: its entries, its line of the ledger, and what that had added to the sums.
const TAKE_OUT: &str = "\
    DELETE FROM durable_entries WHERE session = ?1 AND step = ?2; \
    UPDATE durable_sessions SET \
        input_tokens = durable_sessions.input_tokens - line.input_tokens, \
        output_tokens = durable_sessions.output_tokens - line.output_tokens, \
        cache_read_tokens = durable_sessions.cache_read_tokens - line.cache_read_tokens, \
        cache_write_tokens = durable_sessions.cache_write_tokens - line.cache_write_tokens, \
        reasoning_tokens = durable_sessions.reasoning_tokens - line.reasoning_tokens, \
        cost = durable_sessions.cost - line.cost, \
        unpriced = durable_sessions.unpriced - line.unpriced, \
        open_calls = durable_sessions.open_calls - line.open_calls \
    FROM (SELECT * FROM durable_steps WHERE session = ?1 AND step = ?2) AS line WHERE id = ?1; \
    DELETE FROM durable_steps WHERE session = ?1 AND step = ?2";

const ENTRY: &str = "\
    INSERT INTO durable_entries (session, step, place, kind, call_id, text, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// Writes a step's line of the ledger, and adds it to the sums.
const PUT_IN: &str = "\
    INSERT INTO durable_steps VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12); \
    UPDATE durable_sessions SET \
        input_tokens = input_tokens + ?5, output_tokens = output_tokens + ?6, \
        cache_read_tokens = cache_read_tokens + ?7, cache_write_tokens = cache_write_tokens + ?8, \
        reasoning_tokens = reasoning_tokens + ?9, \
        cost = cost + ?10, unpriced = unpriced + ?11, open_calls = open_calls + ?12 \
    WHERE id = ?1";

async fn require(
    connection: &mut SqliteConnection,
    session: SessionId,
    choice: &UserChoice,
) -> Result<(), sqlx::Error> {
    let body = serde_json::to_string(choice).map_err(|error| sqlx::Error::Encode(error.into()))?;
    // One that is put before the user again keeps its place.
    let sql = "INSERT INTO durable_choices (session, choice_id, call_id, body) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (session, choice_id) DO UPDATE SET call_id = excluded.call_id, body = excluded.body";
    let values = [session.into(), choice.id.as_str().into(), choice.call_id.as_str().into(), body.as_str().into()];
    run(connection, sql, values).await.map(drop)
}

async fn dismiss(connection: &mut SqliteConnection, thread: &ThreadId, choice: &str) -> Result<Answer, sqlx::Error> {
    if let Some(kept) = find(connection, thread).await? {
        let sql = "DELETE FROM durable_choices WHERE session = ?1 AND choice_id = ?2";
        run(connection, sql, [kept.session.into(), choice.into()]).await?;
    }
    Ok(Answer::Done)
}

async fn replace_choices(
    connection: &mut SqliteConnection,
    session: SessionId,
    choices: &[UserChoice],
) -> Result<(), sqlx::Error> {
    run(connection, "DELETE FROM durable_choices WHERE session = ?1", [session.into()]).await?;
    for choice in choices {
        require(connection, session, choice).await?;
    }
    Ok(())
}

async fn begin(
    connection: &mut SqliteConnection,
    thread: &ThreadId,
    inherited: Step,
    now: Timestamp,
) -> Result<Answer, sqlx::Error> {
    // What somebody began to build and will not finish any more.
    let sql = "SELECT id FROM durable_sessions WHERE thread = ?1 AND state = 'building' AND created_at < ?2";
    for row in run(connection, sql, [thread.as_str().into(), now.plus_millis(-ABANDONED).0.into()]).await? {
        remove(connection, row.try_get(0)?).await?;
    }
    let session = insert(connection, thread, "building", inherited, (now, now)).await?;
    Ok(Answer::Building { session })
}

async fn append(
    connection: &mut SqliteConnection,
    session: SessionId,
    steps: &[StepRows],
    prices: &Prices,
) -> Result<Answer, sqlx::Error> {
    let sql = "SELECT inherited FROM durable_sessions WHERE id = ?1 AND state = 'building'";
    let rows = run(connection, sql, [session.into()]).await?;
    let Some(row) = rows.first() else { return Ok(Answer::Overtaken) };
    let inherited = row.try_get::<i64, _>(0)?.cast_unsigned();
    for rows in steps {
        put_step(connection, session, rows, inherited, prices).await?;
    }
    Ok(Answer::Done)
}

async fn finish(
    connection: &mut SqliteConnection,
    session: SessionId,
    kept: Option<Step>,
    built: &Built,
) -> Result<Answer, sqlx::Error> {
    let sql = "SELECT thread FROM durable_sessions WHERE id = ?1 AND state = 'building'";
    let rows = run(connection, sql, [session.into()]).await?;
    let Some(row) = rows.first() else { return Ok(Answer::Overtaken) };
    let old = find(connection, &ThreadId::from(row.try_get::<String, _>(0)?)).await?;
    if old.as_ref().map(|old| old.step) != kept {
        remove(connection, session).await?;
        return Ok(Answer::Overtaken);
    }
    if let Some(old) = old {
        remove(connection, old.session).await?;
    }
    replace_choices(connection, session, &built.choices).await?;
    let sql = "UPDATE durable_sessions SET state = 'kept', step = ?2, created_at = ?3, updated_at = ?4 WHERE id = ?1";
    let values = [session.into(), built.step.into(), built.created_at.0.into(), built.updated_at.0.into()];
    run(connection, sql, values).await?;
    Ok(Answer::Done)
}

async fn remove(connection: &mut SqliteConnection, session: SessionId) -> Result<(), sqlx::Error> {
    let sql = "DELETE FROM durable_entries WHERE session = ?1; DELETE FROM durable_steps WHERE session = ?1; \
               DELETE FROM durable_choices WHERE session = ?1; DELETE FROM durable_sessions WHERE id = ?1";
    run(connection, sql, [Value::Integer(session)]).await.map(drop)
}
