//! Reading blobs, which are kept in pieces.

use selvedge_event::ThreadId;
use selvedge_store::{StoreError, StoreErrorKind};
use sqlx::Row;

use crate::connection::Value;
use crate::read::not_found;
use crate::readers::Readers;

/// The bytes of a piece.
pub(crate) const PIECE: usize = 256 << 10;

/// Which thread has a blob: the thread itself, or the nearest of those that it was forked from.
const FIND: &str = "WITH RECURSIVE lineage (id, origin, parent, distance) AS ( \
        SELECT id, origin, parent, 0 FROM threads WHERE name = ? \
        UNION ALL SELECT threads.id, threads.origin, threads.parent, distance + 1 \
        FROM lineage JOIN threads ON threads.name = lineage.parent WHERE lineage.origin = 'fork' \
            AND NOT EXISTS (SELECT 1 FROM pruned WHERE pruned.thread = lineage.id)) \
    SELECT id, (SELECT piece FROM blobs WHERE thread = lineage.id AND blob_id = ? AND piece = 0) \
    FROM lineage ORDER BY distance";

const PIECES: &str =
    "SELECT bytes FROM blobs WHERE thread = ? AND blob_id = ? AND piece BETWEEN ? AND ? ORDER BY piece";

/// At most `max_bytes` of a blob from `offset`.
pub(crate) async fn read(
    readers: &Readers,
    thread: &ThreadId,
    id: &str,
    offset: u64,
    max_bytes: u64,
) -> Result<Vec<u8>, StoreError> {
    let mut reader = readers.get().await?;
    let lineage = reader.select(FIND, [Value::Text(thread.as_str()), Value::Text(id)]).await?;
    if lineage.is_empty() {
        return Err(not_found(thread));
    }
    let owner = lineage.iter().find_map(|row| match row.try_get::<Option<i64>, _>(1) {
        Ok(None) => None,
        Ok(Some(_first_piece)) => Some(row.try_get::<i64, _>(0)),
        Err(error) => Some(Err(error)),
    });
    let Some(owner) = owner else {
        let message = format!("thread {thread:?} has no blob {id:?}");
        return Err(StoreError::new(StoreErrorKind::NotFound, message));
    };
    let owner = owner.map_err(|error| reader.failed(error))?;

    let piece = PIECE as u64;
    let end = offset.saturating_add(max_bytes);
    if offset == end {
        return Ok(Vec::new());
    }
    let place = |at: u64| Value::Integer(i64::try_from(at / piece).unwrap_or(i64::MAX));
    let asked = [Value::Integer(owner), Value::Text(id), place(offset), place(end - 1)];
    let pieces = reader.select(PIECES, asked).await?;
    let mut bytes = Vec::new();
    for row in &pieces {
        bytes.extend_from_slice(row.try_get::<&[u8], _>(0).map_err(|error| reader.failed(error))?);
    }
    // `bytes` begins with the piece that `offset` is in.
    let within = usize::try_from(offset % piece).unwrap_or(usize::MAX).min(bytes.len());
    bytes.drain(..within);
    bytes.truncate(usize::try_from(max_bytes).unwrap_or(usize::MAX));
    Ok(bytes)
}
