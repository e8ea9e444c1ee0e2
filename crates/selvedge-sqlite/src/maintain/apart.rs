//! Work on a connection of its own, beside the writer and the readers: it shares the file with them as another process
//! would.

use selvedge_store::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::connection::run_once;
use crate::error::Failure;

/// Why such work fails.
#[derive(Debug)]
pub(super) enum Error {
    /// SQLite.
    Database(sqlx::Error),
    /// Anything else.
    Store(StoreError),
}

/// Does something on a connection of its own, which is closed whatever comes of it: that rolls back what is open.
pub(super) async fn apart<T>(
    connect: &SqliteConnectOptions,
    what: &'static str,
    does: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, Error>,
) -> Result<T, StoreError> {
    let failed = |error| Failure::new(what, error);
    let mut connection = connect.connect().await.map_err(failed)?;
    let done = does(&mut connection).await;
    // Whatever was committed stands in the file, and whatever was not is rolled back.
    drop(connection.close().await);
    done.map_err(|error| match error {
        Error::Database(error) => failed(error).into(),
        Error::Store(error) => error,
    })
}

/// Takes the lock for writing, does something, and commits it if it says so.
pub(super) async fn transaction<T>(
    connection: &mut SqliteConnection,
    does: impl AsyncFnOnce(&mut SqliteConnection) -> Result<(bool, T), Error>,
) -> Result<T, Error> {
    run_once(connection, "BEGIN IMMEDIATE").await?;
    match does(connection).await {
        Ok((commits, done)) => {
            run_once(connection, if commits { "COMMIT" } else { "ROLLBACK" }).await?;
            Ok(done)
        }
        Err(error) => {
            // The first error says more than this one could.
            drop(run_once(connection, "ROLLBACK").await);
            Err(error)
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
