//! The schema: how a database becomes ours, and how one of an older version becomes new.
//!
//! A file that is refused (of a newer schema, of another application, of no database) is not written to.

mod short;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use selvedge_store::{StoreError, StoreErrorKind};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use crate::connection::run_once;
use crate::error::Failure;

/// `Slvg`, in the header of every database of ours.
const APPLICATION: u32 = 0x536c_7667;

/// What leads from each version to the next. A step that has been released is never changed.
pub(crate) const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001_initial.sql"), include_str!("migrations/0002_pruned.sql")];

/// The newest version.
const VERSION: u32 = MIGRATIONS.len() as u32;

/// How often a change to write-ahead logging is tried again, which SQLite does not wait for by itself.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens the database, creates or migrates it, and returns a connection that may write.
pub(crate) async fn open(
    connect: &SqliteConnectOptions,
    create: bool,
    busy: Duration,
) -> Result<SqliteConnection, StoreError> {
    let path = connect.get_filename().to_owned();
    match header(&path).map_err(|error| unreadable(&path, error))? {
        Header::Missing if !create => {
            let missing = io::Error::from(io::ErrorKind::NotFound);
            return Err(unreadable(&path, missing));
        }
        Header::Missing | Header::Empty => {}
        Header::Foreign => return Err(refused(format!("{} is not an SQLite database", path.display()))),
        Header::Known { mark, short } => {
            mark.check(&path)?;
            check_without_writing(connect, &path, short).await?;
        }
    }
    let connect = connect.clone().create_if_missing(create);
    let mut connection = connect.connect().await.map_err(|error| Failure::new("opening the database", error))?;
    use_write_ahead_log(&mut connection, busy).await?;
    migrate(&mut connection, &path).await?;
    Ok(connection)
}

/// What a database says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    application: u32,
    version: u32,
}

impl Mark {
    /// Whether the database is new, or ours and of a version that is known; anything else is refused.
    fn check(self, path: &Path) -> Result<(), StoreError> {
        let path = path.display();
        match self {
            Self { application: 0, version: 0 } => Ok(()),
            Self { application: APPLICATION, version } if version <= VERSION => Ok(()),
            Self { application: APPLICATION, version } => Err(refused(format!(
                "{path} has schema version {version}, this program knows versions up to {VERSION}"
            ))),
            Self { application, .. } => {
                Err(refused(format!("{path} is the database of another application (id {application:#010x})")))
            }
        }
    }
}

/// How a file begins.
enum Header {
    Missing,
    Empty,
    Foreign,
    Known {
        mark: Mark,
        /// The size of a page, if the file has fewer of them than it says.
        short: Option<u64>,
    },
}

/// Reads a file's header without SQLite, which leaves no trace. See <https://www.sqlite.org/fileformat.html>.
fn header(path: &Path) -> io::Result<Header> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Header::Missing),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(100).read_to_end(&mut bytes)?;
    let number = |at: usize, size: usize| {
        bytes.get(at..at + size).map(|part| part.iter().fold(0, |sum: u32, byte| sum << 8 | u32::from(*byte)))
    };
    Ok(match (number(60, 4), number(68, 4), number(16, 2), number(28, 4)) {
        _ if bytes.is_empty() => Header::Empty,
        (Some(version), Some(application), Some(page), Some(pages)) if bytes.starts_with(b"SQLite format 3\0") => {
            // A page of 65536 bytes is written as 1.
            let page = if page == 1 { 65_536 } else { u64::from(page) };
            let is_short = length < page * u64::from(pages);
            Header::Known { mark: Mark { application, version }, short: is_short.then_some(page) }
        }
        _ => Header::Foreign,
    })
}

/// Asks SQLite, which sees also what still stands in the write-ahead log, through a connection that cannot write; unless
/// a process died while it created the database: what it has left of a rollback can only be done by one that can.
///
/// A file that is short is looked through for what is lost.
async fn check_without_writing(
    connect: &SqliteConnectOptions,
    path: &Path,
    short: Option<u64>,
) -> Result<(), StoreError> {
    match look(&connect.clone().read_only(true), path, short).await {
        Err(error) if needs_rollback(&error) => look(connect, path, short).await,
        looked => looked,
    }
    .map_err(|error| Failure::new("looking at the database", error))?
}

/// Whether an error says that an interrupted transaction is to be rolled back first.
fn needs_rollback(error: &sqlx::Error) -> bool {
    /// `SQLITE_READONLY_ROLLBACK`, see <https://www.sqlite.org/rescode.html>.
    const READONLY_ROLLBACK: &str = "776";
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == READONLY_ROLLBACK)
}

/// What there is to say against a database, once it could be looked at.
async fn look(
    connect: &SqliteConnectOptions,
    path: &Path,
    short: Option<u64>,
) -> Result<Result<(), StoreError>, sqlx::Error> {
    let mut connection = connect.connect().await?;
    let state = state(&mut connection).await?;
    if let Some(page_size) = short
        && let Some(lost) = short::lost(&mut connection, path, page_size).await?
    {
        return Ok(Err(refused(format!("{} is cut short: {lost}", path.display()))));
    }
    connection.close().await?;
    Ok(state.check(path))
}

/// What SQLite says of a database.
struct State {
    mark: Mark,
    is_empty: bool,
}

impl State {
    fn check(&self, path: &Path) -> Result<(), StoreError> {
        self.mark.check(path)?;
        if self.mark.version == 0 && !self.is_empty {
            return Err(refused(format!("{} is the database of another application", path.display())));
        }
        Ok(())
    }
}

async fn state(connection: &mut SqliteConnection) -> Result<State, sqlx::Error> {
    let sql = "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), \
               (SELECT count(*) FROM sqlite_schema)";
    let rows = run_once(connection, sql).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let number = |column: usize| row.try_get::<i64, _>(column);
    // Both are 32 bits in the file, which SQLite shows as signed.
    let mark = Mark { application: number(0)? as i32 as u32, version: number(1)? as i32 as u32 };
    Ok(State { mark, is_empty: number(2)? == 0 })
}

/// Several processes may create one file at the same moment: one of them changes its mode, the others are told "busy".
async fn use_write_ahead_log(connection: &mut SqliteConnection, busy: Duration) -> Result<(), StoreError> {
    let until = Instant::now() + busy;
    loop {
        let failure = match run_once(connection, "PRAGMA journal_mode = WAL").await {
            Ok(_mode) => return Ok(()),
            Err(error) => Failure::new("opening the database", error),
        };
        if failure.kind() != StoreErrorKind::Busy || Instant::now() >= until {
            return Err(failure.into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Leads the database to the newest version in one transaction, unless it is there.
async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| Failure::new("migrating the database", error);
    if state(connection).await.map_err(failed)?.mark.version == VERSION {
        return Ok(());
    }
    run_once(connection, "BEGIN IMMEDIATE").await.map_err(failed)?;
    // Somebody else may have migrated it before the transaction began, to a version that is not known here.
    let state = state(connection).await.map_err(failed)?;
    state.check(path)?;
    let mut script = String::new();
    for migration in MIGRATIONS.iter().skip(state.mark.version as usize) {
        script.push_str(migration);
    }
    script.push_str(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT"));
    run_once(connection, AssertSqlSafe(script)).await.map_err(failed)?;
    Ok(())
}

fn refused(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, message)
}

fn unreadable(path: &Path, error: io::Error) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, format!("{} cannot be read", path.display())).with_source(error)
}
