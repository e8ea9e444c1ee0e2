//! The schema: how a file becomes a database of sessions, and how one of an older version becomes new.
//!
//! The version stands in a table of its own, because the file's header may belong to a store. A file that is refused
//! is not written to.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use crate::SessionsError;
use crate::database::run_once;
use crate::error::is_busy;

/// `Slvd`, in the header of a file that holds sessions alone.
const APPLICATION: u32 = 0x536c_7664;

/// `Slvg`, in the header of a store's file.
const STORE: u32 = 0x536c_7667;

/// What leads from each version to the next. A step that has been released is never changed.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_initial.sql")];

/// How often a change to write-ahead logging is tried again, which SQLite does not wait for by itself.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens the database, creates or migrates it, and returns a connection that may write.
pub(crate) async fn open(
    connect: &SqliteConnectOptions,
    create: bool,
    busy: Duration,
) -> Result<SqliteConnection, SessionsError> {
    let opening = |error| SessionsError::database("opening the database of sessions", error);
    let path = connect.get_filename().to_owned();
    if is_there(&path)? {
        // Without writing; unless a process died while it created the file: what it has left of a rollback can only be
        // done by a connection that can.
        let looked = match look(&connect.clone().read_only(true)).await {
            Err(error) if needs_rollback(&error) => look(connect).await,
            looked => looked,
        };
        looked.map_err(opening)?.check(&path)?;
    }
    let mut connection = connect.clone().create_if_missing(create).connect().await.map_err(opening)?;
    use_write_ahead_log(&mut connection, busy).await.map_err(opening)?;
    migrate(&mut connection, &path).await?;
    Ok(connection)
}

/// What a database says of itself.
async fn look(connect: &SqliteConnectOptions) -> Result<State, sqlx::Error> {
    let mut connection = connect.connect().await?;
    let state = state(&mut connection).await?;
    connection.close().await?;
    Ok(state)
}

/// Whether an error says that an interrupted transaction is to be rolled back first.
fn needs_rollback(error: &sqlx::Error) -> bool {
    /// `SQLITE_READONLY_ROLLBACK`, see <https://www.sqlite.org/rescode.html>.
    const READONLY_ROLLBACK: &str = "776";
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == READONLY_ROLLBACK)
}

/// Whether there is a file with something in it; one that is no database is refused.
fn is_there(path: &Path) -> Result<bool, SessionsError> {
    let mut start = Vec::new();
    if let Ok(file) = File::open(path) {
        file.take(16).read_to_end(&mut start).map_err(|error| refused(path, format!("cannot be read: {error}")))?;
    }
    if start.is_empty() || start.starts_with(b"SQLite format 3\0") {
        Ok(!start.is_empty())
    } else {
        Err(refused(path, "is not an SQLite database".into()))
    }
}

/// What a file says of itself.
#[derive(Debug, Clone, Copy)]
struct State {
    application: u32,
    /// Of the schema of sessions; 0 if there is none yet.
    version: usize,
    is_empty: bool,
}

impl State {
    fn check(self, path: &Path) -> Result<(), SessionsError> {
        let known = MIGRATIONS.len();
        match self {
            Self { version, .. } if version > known => Err(refused(
                path,
                format!("has version {version} of the schema of sessions, this program knows versions up to {known}"),
            )),
            Self { version: 0, application: 0, is_empty: false } => {
                Err(refused(path, "is the database of another application".into()))
            }
            Self { application: 0 | APPLICATION | STORE, .. } => Ok(()),
            Self { application, .. } => {
                Err(refused(path, format!("is the database of another application (id {application:#010x})")))
            }
        }
    }
}

async fn state(connection: &mut SqliteConnection) -> Result<State, sqlx::Error> {
    let sql = "SELECT (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema), \
               (SELECT count(*) FROM sqlite_schema WHERE name = 'durable_schema')";
    let rows = run_once(connection, sql).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    // It is 32 bits in the file, which SQLite shows as signed.
    let application = row.try_get::<i64, _>(0)? as i32 as u32;
    let is_empty = row.try_get::<i64, _>(1)? == 0;
    let mut version = 0;
    if row.try_get::<i64, _>(2)? > 0 {
        let rows = run_once(connection, "SELECT max(version) FROM durable_schema").await?;
        let newest: Option<i64> = rows.first().map(|row| row.try_get(0)).transpose()?.flatten();
        version = usize::try_from(newest.unwrap_or(0)).unwrap_or(usize::MAX);
    }
    Ok(State { application, version, is_empty })
}

/// Several processes may create one file at the same moment: one of them changes its mode, the others are told "busy".
async fn use_write_ahead_log(connection: &mut SqliteConnection, busy: Duration) -> Result<(), sqlx::Error> {
    let until = Instant::now() + busy;
    loop {
        match run_once(connection, "PRAGMA journal_mode = WAL").await {
            Ok(_mode) => return Ok(()),
            Err(error) if !is_busy(&error) || Instant::now() >= until => return Err(error),
            Err(_busy) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Leads the database to the newest version in one transaction, unless it is there.
async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), SessionsError> {
    let failed = |error| SessionsError::database("migrating the database of sessions", error);
    if state(connection).await.map_err(failed)?.version == MIGRATIONS.len() {
        return Ok(());
    }
    run_once(connection, "BEGIN IMMEDIATE").await.map_err(failed)?;
    // Somebody else may have migrated it before the transaction began, to a version that is not known here.
    let state = state(connection).await.map_err(failed)?;
    state.check(path)?;
    let mut script = String::from("CREATE TABLE IF NOT EXISTS durable_schema (version INTEGER NOT NULL) STRICT;");
    if state.is_empty {
        script.push_str(&format!("PRAGMA application_id = {APPLICATION};"));
    }
    for migration in MIGRATIONS.iter().skip(state.version) {
        script.push_str(migration);
    }
    let version = MIGRATIONS.len();
    script.push_str(&format!("DELETE FROM durable_schema; INSERT INTO durable_schema VALUES ({version}); COMMIT"));
    run_once(connection, AssertSqlSafe(script)).await.map_err(failed)?;
    Ok(())
}

fn refused(path: &Path, reason: String) -> SessionsError {
    SessionsError::Refused { path: path.to_owned(), reason }
}
