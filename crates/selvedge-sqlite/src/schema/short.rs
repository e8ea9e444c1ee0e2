//! Files that have fewer pages than they say. Right after a power cut the others may stand in the write-ahead log; where
//! they do not, the disk has lost them, and SQLite would read them as zeros.

use std::collections::HashSet;
use std::io::{self, BufReader, Read};
use std::path::Path;

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::connection::{Value, arguments, run, run_once};

/// What is lost of a database whose pages have this size, if anything is.
pub(super) async fn lost(
    connection: &mut SqliteConnection,
    path: &Path,
    page_size: u64,
) -> Result<Option<String>, sqlx::Error> {
    run_once(connection, "BEGIN").await?;
    let rows = run_once(connection, "PRAGMA quick_check(1)").await?;
    let found: String = rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)?;
    if found != "ok" {
        return Ok(Some(found));
    }
    // SQLite does not see that the last page of a long value is gone: zeros are a value, too.
    let in_use = "SELECT pageno FROM dbstat WHERE pageno > ?";
    let in_use = run(connection, in_use, arguments([Value::Integer(whole_pages(path, page_size)?)])?).await?;
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // ORDER: the log before the file. Another process may move pages from the one to the other, and remove the log then.
    let logged = pages_of_log(Path::new(&log), page_size)?;
    let whole = whole_pages(path, page_size)?;
    for row in in_use.iter().flatten() {
        let page: i64 = row.try_get(0)?;
        if page > whole && !logged.contains(&page) {
            return Ok(Some(format!("page {page} is neither in the file nor in its log")));
        }
    }
    Ok(None)
}

/// How many whole pages a file has.
fn whole_pages(path: &Path, page_size: u64) -> io::Result<i64> {
    let pages = std::fs::metadata(path)?.len().checked_div(page_size).unwrap_or(0);
    Ok(i64::try_from(pages).unwrap_or(i64::MAX))
}

/// The pages that a write-ahead log holds since it was last begun:
/// <https://www.sqlite.org/fileformat.html#the_write_ahead_log>. Checksums are left to SQLite.
fn pages_of_log(path: &Path, page_size: u64) -> io::Result<HashSet<i64>> {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let mut pages = HashSet::new();
    let mut log = match std::fs::File::open(path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(pages),
        Err(error) => return Err(error),
    };
    let mut header = [0; HEADER];
    if !is_whole(log.read_exact(&mut header))? {
        return Ok(pages);
    }
    // The database's own, which is bounded: what a log says of itself may be anything.
    let mut frame = vec![0; FRAME_HEADER + usize::try_from(page_size).unwrap_or(0)];
    while is_whole(log.read_exact(&mut frame))? && frame[8..16] == header[16..24] {
        pages.insert(u32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]).into());
    }
    Ok(pages)
}

/// Whether as much was there as was asked for.
fn is_whole(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
