//! Connections for reading, beside the writer's: a read sees the newest commit and waits for nobody.
//!
//! They know nothing of any runtime: a read may be begun in one, and the connection go on to another.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use selvedge_store::{StoreError, StoreErrorKind};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::{Value, arguments, run, run_once};
use crate::error::reading;

/// A bounded number of connections, opened when they are first needed.
#[derive(Debug)]
pub(crate) struct Readers {
    connect: SqliteConnectOptions,
    permits: Arc<Semaphore>,
    count: u32,
    idle: Arc<Mutex<Vec<SqliteConnection>>>,
}

/// A connection for one read. It goes back when this is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    connection: Option<SqliteConnection>,
    idle: Arc<Mutex<Vec<SqliteConnection>>>,
    _permit: OwnedSemaphorePermit,
}

impl Readers {
    pub(crate) fn new(connect: SqliteConnectOptions, count: usize) -> Self {
        let connect = connect.pragma("query_only", "ON");
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(64);
        Self { connect, permits: Arc::new(Semaphore::new(count as usize)), count, idle: Arc::default() }
    }

    /// Waits for a connection.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the line.
    pub(crate) async fn get(&self) -> Result<Reader, StoreError> {
        let closed = |_closed| StoreError::new(StoreErrorKind::Unavailable, "the store is closed");
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(closed)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect.connect().await.map_err(reading)?,
        };
        Ok(Reader { connection: Some(connection), idle: Arc::clone(&self.idle), _permit: permit })
    }

    /// Waits for a connection, and begins to read one state of the database with it.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the line.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let mut snapshot = Snapshot { reader: self.get().await?, has_ended: false };
        match run_once(&mut snapshot.reader, "BEGIN").await {
            Ok(_begun) => Ok(snapshot),
            Err(error) => Err(snapshot.reader.failed(error)),
        }
    }

    /// Waits for the reads that run, refuses further ones, and closes all connections.
    ///
    /// # Cancel safety
    /// Dropping the future may leave some or all connections open, which are then closed when the store is dropped.
    pub(crate) async fn close(&self) {
        let all = self.permits.acquire_many(self.count).await;
        self.permits.close();
        drop(all);
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for connection in idle {
            // It has only read: nothing can be lost with it.
            drop(connection.close().await);
        }
    }
}

impl Reader {
    /// The rows of one `SELECT`.
    pub(crate) async fn select<const N: usize>(
        &mut self,
        sql: &'static str,
        values: [Value<'_>; N],
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let rows = async { run(self, sql, arguments(values)?).await }.await;
        rows.map(|statements| statements.into_iter().flatten().collect()).map_err(|error| self.failed(error))
    }

    /// What is made of an error: the connection is not used again.
    pub(crate) fn failed(&mut self, error: sqlx::Error) -> StoreError {
        self.connection = None;
        reading(error)
    }
}

/// A connection in a transaction: all that is read with it is of one state of the database. The connection is not used
/// again unless [`end`](Self::end) has returned Ok, for it would go on seeing that state.
#[derive(Debug)]
pub(crate) struct Snapshot {
    reader: Reader,
    has_ended: bool,
}

impl Snapshot {
    pub(crate) fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// Ends the transaction. The connection goes back.
    pub(crate) async fn end(mut self) -> Result<(), StoreError> {
        match run_once(&mut self.reader, "COMMIT").await {
            Ok(_ended) => {
                self.has_ended = true;
                Ok(())
            }
            Err(error) => Err(self.reader.failed(error)),
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if !self.has_ended {
            self.reader.connection = None;
        }
    }
}

impl Deref for Reader {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        self.connection.as_ref().expect("bug: a reader is used after it has failed")
    }
}

impl DerefMut for Reader {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("bug: a reader is used after it has failed")
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}
