//! Connections for reading, beside the writer's: a read sees the newest commit and waits for nobody.

use std::sync::{Arc, Mutex, PoisonError};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::Semaphore;

use crate::SessionsError;
use crate::database::{Value, run};

/// A bounded number of connections, opened when they are first needed.
#[derive(Debug)]
pub(crate) struct Readers {
    connect: SqliteConnectOptions,
    permits: Semaphore,
    count: u32,
    idle: Arc<Mutex<Vec<SqliteConnection>>>,
}

impl Readers {
    pub(crate) fn new(connect: SqliteConnectOptions, count: usize) -> Self {
        let connect = connect.pragma("query_only", "ON");
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(64);
        Self { connect, permits: Semaphore::new(count as usize), count, idle: Arc::default() }
    }

    /// The rows of one `SELECT`.
    ///
    /// # Cancel safety
    /// Dropping the future gives the read up.
    pub(crate) async fn select<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value<'_>; N],
    ) -> Result<Vec<SqliteRow>, SessionsError> {
        let reading = |error| SessionsError::database("reading sessions", error);
        let _permit = self.permits.acquire().await.map_err(|_closed| SessionsError::Closed)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect.connect().await.map_err(reading)?,
        };
        // A connection that has failed, or whose read is given up, is not used again.
        let rows = run(&mut connection, sql, values).await.map_err(reading)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(rows)
    }

    /// Waits for the reads that run, refuses further ones, and closes all connections.
    ///
    /// # Cancel safety
    /// Dropping the future may leave some or all connections open, which are then closed when they are dropped.
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
