//! `selvedge export`: a thread as lines of JSON.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use selvedge::event::{Message, TurnRecord};
use selvedge::prelude::{ConversationStore, ThreadId};
use selvedge::runtime::{Clock, SystemClock};

use super::show::history;
use crate::archive::{Header, Line, to_line};
use crate::database::Database;
use crate::failure::Failure;

/// Writes a thread to a new file, or to standard output.
pub(crate) async fn run(thread: &ThreadId, out: Option<&Path>, database: &Database) -> Result<(), Failure> {
    let record = database.load(thread).await?;
    let page = history(thread, database).await?;
    if let Some(damaged) = page.quarantined.first() {
        let what = format!("a record of the thread cannot be read: {}: {}", damaged.place, damaged.reason);
        return Err(Failure::new(what).advise("selvedge show shows what can be read"));
    }
    let left_out = record.inbox.len();
    if left_out > 0 {
        eprintln!("selvedge: {left_out} inputs that wait in the inbox are not exported");
    }
    let name = thread.as_str();
    let header = Header::new(name, record.created_at, SystemClock.now(), page.turns.len(), record.views);
    let mut writer: Box<dyn Write> = match out {
        Some(path) => Box::new(BufWriter::new(File::create_new(path).map_err(|error| {
            Failure::new(format!("{} cannot be made: {error}", path.display()))
                .advise("name a file that does not exist")
        })?)),
        None => Box::new(BufWriter::new(std::io::stdout().lock())),
    };
    writeln!(writer, "{}", to_line(&header).map_err(std::io::Error::other)?)?;
    for turn in page.turns {
        let blobs = blobs(thread, &turn, database).await?;
        let line = Line { turn: TurnRecord::clone(&turn), blobs };
        writeln!(writer, "{}", to_line(&line).map_err(std::io::Error::other)?)?;
    }
    Ok(writer.flush()?)
}

/// The whole outputs that a turn's results refer to.
async fn blobs(thread: &ThreadId, turn: &TurnRecord, database: &Database) -> Result<BTreeMap<String, String>, Failure> {
    let mut blobs = BTreeMap::new();
    for message in &turn.messages {
        let Message::ToolResult(result) = message else { continue };
        let Some(blob) = &result.blob else { continue };
        let bytes = database.store().blob(thread, &blob.id, 0, u64::MAX).await;
        let bytes = bytes.map_err(|error| database.failure(&error, thread))?;
        let text = String::from_utf8(bytes).map_err(|_| Failure::new(format!("the output {} is no text", blob.id)))?;
        blobs.insert(blob.id.to_string(), text);
    }
    Ok(blobs)
}
