//! `selvedge show`: what was said, through the reducer that the live display uses.

use std::io::Write;

use selvedge::event::OpenCall;
use selvedge::prelude::{ConversationStore, ReplaySnapshot, ThreadId, Transcript};
use selvedge::store::HistoryPage;

use crate::archive::to_line;
use crate::database::Database;
use crate::failure::Failure;
use crate::render::{self, Printer};

/// Shows a thread's transcript, or its items as one JSON array.
pub(crate) async fn run(thread: &ThreadId, json: bool, database: &Database) -> Result<(), Failure> {
    let transcript = Transcript::from_snapshot(&snapshot(thread, database).await?);
    if json {
        let line = to_line(&transcript.items()).map_err(std::io::Error::other)?;
        return Ok(writeln!(std::io::stdout().lock(), "{line}")?);
    }
    let mut page = render::transcript(&transcript);
    page.fresh();
    Ok(Printer::stdout().print(&page)?)
}

/// What is durable of a thread, as somebody who attached would see it. Needs no claim.
async fn snapshot(thread: &ThreadId, database: &Database) -> Result<ReplaySnapshot, Failure> {
    let record = database.load(thread).await?;
    let HistoryPage { turns, older, quarantined } = history(thread, database).await?;
    for record in quarantined.iter().chain(&record.quarantined) {
        let (place, reason) = (render::clean(&record.place), render::clean(&record.reason));
        eprintln!("selvedge: a record cannot be read and is left out: {place}: {reason}");
    }
    let open = record.open_calls.into_iter().map(|open| OpenCall { call_id: open.call_id, name: open.tool });
    let pending = record.choices.into_iter().filter(|(_, resolution)| resolution.is_none());
    Ok(ReplaySnapshot {
        thread_id: thread.clone(),
        created_at: record.created_at,
        step: record.head.step,
        committed: record.committed,
        history: turns.into_iter().collect(),
        older,
        partial: None,
        open_calls: open.collect(),
        choices: pending.map(|(choice, _)| choice).collect(),
        oauth: record.oauth,
        views: record.views,
        usage: record.usage,
    })
}

/// The whole history of a thread.
pub(super) async fn history(thread: &ThreadId, database: &Database) -> Result<HistoryPage, Failure> {
    let page = database.store().history(thread, None, u64::MAX).await;
    page.map_err(|error| database.failure(&error, thread))
}
