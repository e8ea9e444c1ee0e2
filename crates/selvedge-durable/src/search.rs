//! Full-text search: any text is a query, and never a syntax error.

use selvedge_event::ItemId;
use sqlx::Row;

use crate::readers::Readers;
use crate::session::{Hit, Snippet};
use crate::{SessionsError, read};

/// Marks around a found word, which no text that is shown has.
const WORD: char = '\u{2}';
const END: char = '\u{3}';

/// A query for FTS5 that finds texts with all of the words, the last of which may be the beginning of one. `None` if
/// there is nothing in `words` that could be found.
///
/// FTS5 has a language of its own, see <https://www.sqlite.org/fts5.html#full_text_query_syntax>; what stands between
/// double quotes is taken as it is.
fn query(words: &str) -> Option<String> {
    let found = |word: &&str| word.chars().any(char::is_alphanumeric);
    let quote = |word: &str| format!("\"{}\"", word.replace('"', "\"\"").replace('\0', " "));
    let quoted: Vec<String> = words.split_whitespace().filter(found).map(quote).collect();
    (!quoted.is_empty()).then(|| format!("{} *", quoted.join(" ")))
}

/// Searches all threads; the best hits come first.
pub(crate) async fn search(readers: &Readers, words: &str, limit: usize) -> Result<Vec<Hit>, SessionsError> {
    let Some(query) = query(words) else { return Ok(Vec::new()) };
    // A result is shown within the item of its call.
    let sql = "SELECT session.thread, coalesce(call.step, entry.step), coalesce(call.place, entry.place), \
                   snippet(durable_search, 0, char(2), char(3), '…', 16) \
               FROM durable_search \
               JOIN durable_entries AS entry ON entry.id = durable_search.rowid \
               JOIN durable_sessions AS session ON session.id = entry.session AND session.state = 'kept' \
               LEFT JOIN durable_entries AS call ON entry.kind = 'tool_result' AND call.kind = 'tool_call' \
                   AND call.session = entry.session AND call.call_id = entry.call_id \
               WHERE durable_search MATCH ?1 ORDER BY durable_search.rank LIMIT ?2";
    let rows = readers.select(sql, [query.as_str().into(), (limit as u64).into()]).await?;
    let mut hits = Vec::with_capacity(rows.len());
    for row in rows {
        let hit = (|| {
            // The result of a call whose record is damaged belongs to no item.
            let Some(place) = row.try_get::<Option<i64>, _>(2)? else { return Ok(None) };
            let item = ItemId {
                step: row.try_get::<i64, _>(1)?.cast_unsigned(),
                place: u32::try_from(place).unwrap_or(u32::MAX),
            };
            let thread = row.try_get::<String, _>(0)?.into();
            Ok(Some(Hit { thread, item, snippet: snippet(row.try_get(3)?) }))
        })();
        hits.extend(hit.map_err(read::failed)?);
    }
    Ok(hits)
}

/// A snippet from text with marks in it.
fn snippet(marked: &str) -> Snippet {
    let mut snippet = Snippet::default();
    let mut start = 0;
    for character in marked.chars() {
        match character {
            WORD => start = snippet.text.len(),
            END => snippet.words.push(start..snippet.text.len()),
            other => snippet.text.push(other),
        }
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted() {
        assert_eq!(query("red AND \"blue\"").as_deref(), Some("\"red\" \"AND\" \"\"\"blue\"\"\" *"));
        assert_eq!(query(" - * \" () "), None);
    }

    #[test]
    fn marks_become_ranges() {
        let found = snippet("…a \u{2}red\u{3} fox");
        assert_eq!(found.text, "…a red fox");
        assert_eq!(found.words.iter().map(|word| &found.text[word.clone()]).collect::<Vec<_>>(), ["red"]);
    }
}
