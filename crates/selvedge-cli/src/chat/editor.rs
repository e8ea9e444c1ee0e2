//! The line that the user types, as plain data.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_width::UnicodeWidthChar;

/// A line being edited, with the lines before it to go back to.
#[derive(Debug, Default)]
pub(super) struct Editor {
    chars: Vec<char>,
    /// Where the next letter goes.
    at: usize,
    history: Vec<String>,
    /// The place in `history` that is on show; its length for the line being written.
    place: usize,
    /// The line being written, while an earlier one is on show.
    draft: String,
}

/// What a key has come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// The line may have changed.
    Changed,
    /// The line is done.
    Submit(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D on an empty line.
    End,
    /// Ctrl-L.
    Redraw,
}

impl Editor {
    /// An empty line, after earlier ones.
    pub(super) fn new<'a>(history: impl Iterator<Item = &'a str>) -> Self {
        let history: Vec<String> = history.map(str::to_owned).collect();
        Self { place: history.len(), history, ..Self::default() }
    }

    /// Whether nothing is typed.
    pub(super) fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    /// Forgets what is typed.
    pub(super) fn clear(&mut self) {
        self.set("");
        self.place = self.history.len();
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Edit {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char(char) if control => return self.control(char),
            KeyCode::Char('b') if alt => self.at = self.word_start(),
            KeyCode::Char('f') if alt => self.at = self.word_end(),
            KeyCode::Enter if alt => self.insert('\n'),
            KeyCode::Char(char) => self.insert(char),
            KeyCode::Enter => return self.submit(),
            KeyCode::Backspace if alt => self.remove(self.word_start()..self.at),
            KeyCode::Backspace => self.remove(self.at.saturating_sub(1)..self.at),
            KeyCode::Delete => self.remove(self.at..(self.at + 1).min(self.chars.len())),
            KeyCode::Left if control || alt => self.at = self.word_start(),
            KeyCode::Right if control || alt => self.at = self.word_end(),
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Right => self.at = (self.at + 1).min(self.chars.len()),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.chars.len(),
            KeyCode::Up => self.earlier(),
            KeyCode::Down => self.later(),
            _ => {}
        }
        Edit::Changed
    }

    /// Takes text that was pasted, newlines included.
    pub(super) fn paste(&mut self, text: &str) {
        text.replace("\r\n", "\n").replace('\r', "\n").chars().for_each(|char| self.insert(char));
    }

    /// What fits of the line into a width, and the column of the cursor in it.
    pub(super) fn shown(&self, width: usize) -> (String, usize) {
        let columns = |char: &char| sign(*char).width().unwrap_or(0);
        // The text before the cursor decides where the window begins: the cursor is always within.
        let mut start = self.at;
        let mut cursor = 0;
        while start > 0 && cursor + columns(&self.chars[start - 1]) < width {
            start -= 1;
            cursor += columns(&self.chars[start]);
        }
        let mut room = width;
        let fitting = self.chars[start..].iter().take_while(|char| {
            let fits = columns(char) <= room;
            room = room.saturating_sub(columns(char));
            fits
        });
        (fitting.map(|char| sign(*char)).collect(), cursor)
    }

    fn control(&mut self, char: char) -> Edit {
        match char {
            'c' => return Edit::Interrupt,
            'd' if self.chars.is_empty() => return Edit::End,
            'd' => self.remove(self.at..(self.at + 1).min(self.chars.len())),
            'l' => return Edit::Redraw,
            'a' => self.at = 0,
            'e' => self.at = self.chars.len(),
            'b' => self.at = self.at.saturating_sub(1),
            'f' => self.at = (self.at + 1).min(self.chars.len()),
            'h' => self.remove(self.at.saturating_sub(1)..self.at),
            'j' => self.insert('\n'),
            'k' => self.remove(self.at..self.chars.len()),
            'u' => self.remove(0..self.at),
            'w' => self.remove(self.word_start()..self.at),
            'p' => self.earlier(),
            'n' => self.later(),
            _ => {}
        }
        Edit::Changed
    }

    fn insert(&mut self, char: char) {
        self.chars.insert(self.at, char);
        self.at += 1;
    }

    fn remove(&mut self, range: std::ops::Range<usize>) {
        self.at = range.start;
        self.chars.drain(range);
    }

    fn submit(&mut self) -> Edit {
        let line: String = self.chars.iter().collect();
        if !line.trim().is_empty() && self.history.last() != Some(&line) {
            self.history.push(line.clone());
        }
        self.clear();
        Edit::Submit(line)
    }

    fn earlier(&mut self) {
        if self.place == self.history.len() {
            self.draft = self.chars.iter().collect();
        }
        self.show(self.place.saturating_sub(1));
    }

    fn later(&mut self) {
        self.show((self.place + 1).min(self.history.len()));
    }

    fn show(&mut self, place: usize) {
        if place != self.place {
            self.place = place;
            let line = self.history.get(place).unwrap_or(&self.draft).clone();
            self.set(&line);
        }
    }

    fn set(&mut self, line: &str) {
        self.chars = line.chars().collect();
        self.at = self.chars.len();
    }

    fn word_start(&self) -> usize {
        let before = &self.chars[..self.at];
        let end = before.iter().rposition(|char| !char.is_whitespace()).map_or(0, |place| place + 1);
        before[..end].iter().rposition(|char| char.is_whitespace()).map_or(0, |place| place + 1)
    }

    fn word_end(&self) -> usize {
        let after = &self.chars[self.at..];
        let start = after.iter().position(|char| !char.is_whitespace()).unwrap_or(after.len());
        let length = after[start..].iter().position(|char| char.is_whitespace()).unwrap_or(after.len() - start);
        self.at + start + length
    }
}

/// A letter as it is shown on the one line that there is.
fn sign(char: char) -> char {
    match char {
        '\n' => '⏎',
        _ if char.is_control() => '\u{fffd}',
        _ => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(editor: &mut Editor, text: &str) {
        text.chars().for_each(|char| drop(editor.key(KeyCode::Char(char).into())));
    }

    fn control(editor: &mut Editor, char: char) -> Edit {
        editor.key(KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL))
    }

    #[test]
    fn lines_are_edited_and_submitted() {
        let mut editor = Editor::default();
        typed(&mut editor, "one two thre");
        editor.key(KeyCode::Left.into());
        typed(&mut editor, "x");
        editor.key(KeyCode::Backspace.into());
        control(&mut editor, 'e');
        typed(&mut editor, "e");
        assert_eq!(editor.shown(80), ("one two three".into(), 13));
        control(&mut editor, 'w');
        control(&mut editor, 'a');
        editor.key(KeyCode::Delete.into());
        assert_eq!(editor.key(KeyCode::Enter.into()), Edit::Submit("ne two ".into()));
        assert!(editor.is_empty());
    }

    #[test]
    fn earlier_lines_come_back_and_the_draft_is_kept() {
        let mut editor = Editor::new(["a", "b"].into_iter());
        typed(&mut editor, "dra");
        editor.key(KeyCode::Up.into());
        editor.key(KeyCode::Up.into());
        editor.key(KeyCode::Up.into());
        assert_eq!(editor.shown(80).0, "a");
        editor.key(KeyCode::Down.into());
        editor.key(KeyCode::Down.into());
        assert_eq!(editor.shown(80).0, "dra");
    }

    #[test]
    fn the_cursor_is_always_in_the_window() {
        let mut editor = Editor::default();
        editor.paste("0123456789\r\nab");
        assert_eq!(editor.shown(6), ("89⏎ab".into(), 5));
        control(&mut editor, 'a');
        assert_eq!(editor.shown(6), ("012345".into(), 0));
    }

    #[test]
    fn control_d_ends_only_an_empty_line() {
        let mut editor = Editor::default();
        assert_eq!(control(&mut editor, 'd'), Edit::End);
        typed(&mut editor, "a");
        assert_eq!(control(&mut editor, 'd'), Edit::Changed);
        assert_eq!(control(&mut editor, 'c'), Edit::Interrupt);
    }
}
