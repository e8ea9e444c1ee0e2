//! Connections, and the one way in which SQL runs on them.
//!
//! What costs with sqlx is the way to a connection's own thread and back, more than most statements do. So a text may
//! hold several statements, whose arguments are taken in sequence; it runs in one go, and gives the rows of each.

use std::path::Path;

use futures_util::TryStreamExt;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions, Either, Executor, SqlSafeStr};

use crate::SqliteOptions;

/// How any connection to the database is opened. Nothing in it writes to the file.
pub(crate) fn options(path: &Path, options: &SqliteOptions) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(options.busy)
        .foreign_keys(false)
        .pragma("temp_store", "MEMORY")
        .statement_cache_capacity(256)
        .row_buffer_size(256)
        .thread_name(|number| format!("selvedge-db-{number}"))
        .disable_statement_logging()
}

/// Runs the statements of a text, and returns the rows of each. The text is kept compiled, so it should be one of few.
///
/// # Cancel safety
/// If the future is dropped, some of the statements may run and others not. A single `SELECT` is given up.
pub(crate) async fn run(
    connection: &mut SqliteConnection,
    sql: impl SqlSafeStr,
    arguments: SqliteArguments,
) -> Result<Vec<Vec<SqliteRow>>, sqlx::Error> {
    let mut results = connection.fetch_many(sqlx::query_with(sql, arguments));
    let mut statements = Vec::new();
    let mut rows = Vec::new();
    while let Some(result) = results.try_next().await? {
        match result {
            Either::Left(_done) => statements.push(std::mem::take(&mut rows)),
            Either::Right(row) => rows.push(row),
        }
    }
    Ok(statements)
}

/// Runs statements without arguments, compiled anew: pragmas that act when they are compiled, and whatever runs once.
pub(crate) async fn run_once(
    connection: &mut SqliteConnection,
    sql: impl SqlSafeStr,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    connection.fetch_all(sqlx::raw_sql(sql)).await
}

/// Builds arguments.
pub(crate) fn arguments<const N: usize>(values: [Value<'_>; N]) -> Result<SqliteArguments, sqlx::Error> {
    use sqlx::Arguments;

    let mut arguments = SqliteArguments::default();
    for value in values {
        match value {
            Value::Text(text) => arguments.add(text),
            Value::Integer(integer) => arguments.add(integer),
            Value::Bytes(bytes) => arguments.add(bytes),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

/// An argument.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    Integer(i64),
    Bytes(&'a [u8]),
}
