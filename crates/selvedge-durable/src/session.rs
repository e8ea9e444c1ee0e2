//! What is kept of a thread, as readers get it.

use std::ops::Range;

use selvedge_event::{FailureKind, ItemId, Step, Text, ThreadId, Timestamp, Usage};

/// A thread in a list of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The thread.
    pub thread: ThreadId,
    /// The beginning of the first thing that a user wrote, on one line; `None` if nobody wrote anything.
    pub title: Option<String>,
    /// When it was created: the arrival of its first input.
    pub created_at: Timestamp,
    /// When its newest step was committed; if it was rebuilt, when its newest turn was staged.
    pub updated_at: Timestamp,
    /// The newest step that is in here.
    pub step: Step,
    /// Tokens of its own steps; a fork's begin at its fork.
    pub usage: Usage,
    /// What they cost.
    pub cost: Cost,
    /// What it does or waits for.
    pub status: Status,
    /// The failure of its newest completion, if that failed.
    pub last_error: Option<SessionError>,
}

/// What a thread's tokens cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// In millionths, as the [`Prices`](crate::Prices) were when each step was committed.
    pub millionths: u64,
    /// How many completions are not counted, because the price of their model was not known.
    pub unpriced: u64,
}

/// What a thread does or waits for, as of its newest committed step. Whether its model is being asked right now shows
/// in its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It waits for an input.
    Idle,
    /// So many calls are open.
    RunningCalls(u64),
    /// An open call asks the user.
    WaitingForChoice,
    /// Its newest completion failed; it waits for an input.
    Failed,
}

/// How a completion failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionError {
    /// The step that asked.
    pub step: Step,
    /// What kind of failure.
    pub kind: FailureKind,
    /// What the provider or the runtime said.
    pub message: Text,
}

/// Which part of the list of sessions, which begins with the one that was updated last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// At most this many.
    pub limit: usize,
    /// Only those that come after this session in the list; `None` from the beginning.
    pub after: Option<(Timestamp, ThreadId)>,
}

impl Listing {
    /// The first so many.
    pub fn first(limit: usize) -> Self {
        Self { limit, after: None }
    }

    /// As many as before, after a session that was the last of its page.
    #[must_use]
    pub fn after(self, session: &Session) -> Self {
        Self { after: Some((session.updated_at, session.thread.clone())), ..self }
    }
}

/// Something that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The thread.
    pub thread: ThreadId,
    /// The item: one of [`Sessions::transcript`](crate::Sessions::transcript). A result is found in its call's item.
    pub item: ItemId,
    /// The text around what was found.
    pub snippet: Snippet,
}

/// A piece of text, and where in it the words are that were searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The text; `…` stands where it was cut.
    pub text: String,
    /// The words, as ranges of bytes of `text`, in order.
    pub words: Vec<Range<usize>>,
}

/// How long a title may be, in characters.
const TITLE: usize = 80;

/// A title from the text that a user wrote: its first line that says something, without needless space.
pub(crate) fn title_of(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => Some(format!("{}…", line[..end].trim_end())),
        None => Some(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(title_of("\n  fix   the\ttest \n please").as_deref(), Some("fix the test"));
        assert_eq!(title_of(" \n"), None);
        let long = title_of(&"ä".repeat(500)).unwrap();
        assert_eq!(long.chars().count(), TITLE + 1);
        assert!(long.ends_with('…'));
    }
}
