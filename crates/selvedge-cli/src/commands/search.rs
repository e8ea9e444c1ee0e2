//! `selvedge search`: what was said, called and answered, in all threads.

use std::io::Write;

use selvedge::durable::{Hit, Snippet};
use serde_json::json;

use crate::archive::to_line;
use crate::database::Database;
use crate::failure::Failure;
use crate::index;
use crate::render::{Page, Printer, Style, clean_line};

/// Searches, as lines for people or as one JSON array. Nothing found is no failure.
pub(crate) async fn run(words: &str, limit: usize, json: bool, database: &Database) -> Result<(), Failure> {
    let sessions = database.sessions().await?;
    index::catch_up(&sessions, database).await?;
    let found = sessions.search(words, limit).await;
    let hits = found.map_err(|error| Failure::of_sessions(&error, sessions.path()))?;
    if json {
        let rows: Vec<_> = hits.iter().map(as_json).collect();
        let line = to_line(&rows).map_err(std::io::Error::other)?;
        return Ok(writeln!(std::io::stdout().lock(), "{line}")?);
    }
    if hits.is_empty() {
        eprintln!("nothing in {} has all of: {}", database.path().display(), clean_line(words, 200));
    }
    let mut page = Page::default();
    for hit in &hits {
        page.text(Style::Dim, &format!("{} {}  ", clean_line(hit.thread.as_str(), 60), hit.item));
        show(&hit.snippet, &mut page);
        page.fresh();
    }
    Ok(Printer::stdout().print(&page)?)
}

/// The text on one line, with the words that were searched for made to stand out.
fn show(snippet: &Snippet, page: &mut Page) {
    let mut at = 0;
    for word in &snippet.words {
        page.text(Style::Plain, &one_line(&snippet.text[at..word.start]));
        page.text(Style::User, &one_line(&snippet.text[word.clone()]));
        at = word.end;
    }
    page.text(Style::Plain, &one_line(&snippet.text[at..]));
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn as_json(hit: &Hit) -> serde_json::Value {
    let words: Vec<&str> = hit.snippet.words.iter().map(|word| &hit.snippet.text[word.clone()]).collect();
    json!({ "thread": hit.thread, "item": hit.item, "text": hit.snippet.text, "words": words })
}
