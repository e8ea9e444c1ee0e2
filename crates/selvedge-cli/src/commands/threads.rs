//! `selvedge threads`: what there is.

use std::io::Write;

use selvedge::event::Timestamp;
use selvedge::prelude::ConversationStore;
use selvedge::store::{ThreadSummary, ThreadsAfter};
use serde_json::json;

use crate::archive::to_line;
use crate::database::Database;
use crate::failure::Failure;
use crate::render::clean_line;

/// Threads that are asked for at once.
const PAGE: usize = 500;

/// Lists the threads, as a table or as one JSON array.
pub(crate) async fn run(json: bool, database: &Database) -> Result<(), Failure> {
    let threads = all(database).await?;
    let mut out = std::io::stdout().lock();
    if json {
        let rows: Vec<_> = threads.iter().map(as_json).collect();
        writeln!(out, "{}", to_line(&rows).map_err(std::io::Error::other)?)?;
    } else if threads.is_empty() {
        eprintln!("there are no threads in {} yet; selvedge chat begins one", database.path().display());
    } else {
        write!(out, "{}", table(&threads))?;
    }
    Ok(())
}

async fn all(database: &Database) -> Result<Vec<ThreadSummary>, Failure> {
    let mut threads: Vec<ThreadSummary> = Vec::new();
    loop {
        let after = threads.last().map(|last| last.thread.clone());
        let page = database.store().threads(ThreadsAfter { after, limit: PAGE }).await;
        let page = page.map_err(|error| Failure::of_store(&error, None, database.path()))?;
        let last = page.len() < PAGE;
        threads.extend(page);
        if last {
            return Ok(threads);
        }
    }
}

fn as_json(thread: &ThreadSummary) -> serde_json::Value {
    json!({
        "thread": thread.thread,
        "origin": thread.origin,
        "created_at": time(thread.created_at),
        "updated_at": time(thread.updated_at),
        "step": thread.step,
        "open_calls": thread.open_calls,
        "inbox": thread.inbox,
        "usage": thread.usage,
    })
}

fn table(threads: &[ThreadSummary]) -> String {
    let head = ["thread", "steps", "updated", "open calls", "inbox", "tokens"].map(String::from);
    let row = |thread: &ThreadSummary| {
        [
            clean_line(thread.thread.as_str(), 60),
            thread.step.to_string(),
            time(thread.updated_at),
            thread.open_calls.to_string(),
            thread.inbox.to_string(),
            (thread.usage.input + thread.usage.output).to_string(),
        ]
    };
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(threads.iter().map(row)).collect();
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 2 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// A time in UTC, to the second.
pub(super) fn time(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => "?".into(),
    }
}

#[cfg(test)]
mod tests {
    use selvedge::event::Usage;
    use selvedge::store::Origin;

    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let thread = |name: &str, step| ThreadSummary {
            thread: name.into(),
            origin: Origin::Root,
            created_at: Timestamp(0),
            updated_at: Timestamp(1_764_500_000_000),
            step,
            inbox: 0,
            open_calls: 1,
            usage: Usage { input: 10, output: 5, ..Usage::default() },
        };
        assert_eq!(
            table(&[thread("main", 5), thread("evil\u{1b}[2J", 123)]),
            "thread    steps  updated               open calls  inbox  tokens\n\
             main          5  2025-11-30T10:53:20Z           1      0      15\n\
             evil␛[2J    123  2025-11-30T10:53:20Z           1      0      15\n"
        );
    }
}
