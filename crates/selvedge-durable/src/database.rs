//! Connections to the database, and the one way in which SQL runs on them.

use std::path::Path;

use selvedge_event::Text;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow, SqliteSynchronous};
use sqlx::{Arguments, ConnectOptions, Executor, SqlSafeStr};

use crate::options::{SessionsOptions, Synchronous};

/// How any connection is opened. Nothing in it writes to the file.
pub(crate) fn connect(path: &Path, options: &SessionsOptions) -> SqliteConnectOptions {
    let synchronous = match options.synchronous {
        Synchronous::Full => SqliteSynchronous::Full,
        Synchronous::Normal => SqliteSynchronous::Normal,
    };
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(options.busy)
        .synchronous(synchronous)
        .foreign_keys(false)
        .pragma("temp_store", "MEMORY")
        .thread_name(|number| format!("selvedge-sessions-{number}"))
        .disable_statement_logging()
}

/// Runs statements that are kept compiled. Each may refer to any of the arguments, as `?1`, `?2`, …
///
/// # Cancel safety
/// If the future is dropped, some of the statements may run and others not. A single `SELECT` is given up.
pub(crate) async fn run<const N: usize>(
    connection: &mut SqliteConnection,
    sql: &'static str,
    values: [Value<'_>; N],
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    connection.fetch_all(sqlx::query_with(sql, arguments(values)?)).await
}

/// Runs statements without arguments, compiled anew: pragmas, and whatever runs once.
pub(crate) async fn run_once(
    connection: &mut SqliteConnection,
    sql: impl SqlSafeStr,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    connection.fetch_all(sqlx::raw_sql(sql)).await
}

/// An argument.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    Integer(i64),
    Null,
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a Text> for Value<'a> {
    fn from(text: &'a Text) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u64> for Value<'_> {
    /// Numbers beyond 63 bits, which nothing counts up to, are kept as the largest there is.
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

fn arguments<const N: usize>(values: [Value<'_>; N]) -> Result<SqliteArguments, sqlx::Error> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        match value {
            Value::Text(text) => arguments.add(text),
            Value::Integer(integer) => arguments.add(integer),
            Value::Null => arguments.add(None::<i64>),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}
