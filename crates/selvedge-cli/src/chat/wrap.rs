//! Text broken into lines as it is streamed.
//!
//! A word is shown as soon as its first letters come. If it turns out not to fit, it is taken back and moved to the next
//! line. The terminal itself never breaks a line, so it is always known where the writing stands.

use unicode_width::UnicodeWidthChar;

/// Where the writing stands.
#[derive(Debug, Default)]
pub(super) struct Wrap {
    column: usize,
    /// The word that is being written, and the column of its first letter.
    word: String,
    word_column: usize,
}

impl Wrap {
    /// How many columns of the line are written.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Writes a text into lines of at most `width` columns, as what a terminal in raw mode must be sent.
    pub(super) fn push(&mut self, text: &str, width: usize, out: &mut String) {
        for char in text.chars() {
            match char {
                '\n' => self.new_line(out),
                ' ' => {
                    // A space at the edge is what the line is broken at.
                    if self.column < width {
                        out.push(' ');
                        self.column += 1;
                    }
                    self.end_word();
                }
                _ => self.letter(char, width, out),
            }
        }
    }

    /// Begins a new line, unless this one is empty.
    pub(super) fn fresh(&mut self, out: &mut String) {
        if self.column > 0 {
            self.new_line(out);
        }
    }

    fn new_line(&mut self, out: &mut String) {
        out.push_str("\r\n");
        self.column = 0;
        self.end_word();
    }

    fn end_word(&mut self) {
        self.word.clear();
        self.word_column = self.column;
    }

    fn letter(&mut self, char: char, width: usize, out: &mut String) {
        let columns = char.width().unwrap_or(0);
        if self.column + columns > width {
            self.break_line(out);
        }
        out.push(char);
        self.word.push(char);
        self.column += columns;
        // Scripts without spaces may be broken at any of their letters.
        if columns > 1 {
            self.end_word();
        }
    }

    /// The word moves to a line of its own; one that fills a line is broken where it is.
    fn break_line(&mut self, out: &mut String) {
        let columns = self.column - self.word_column;
        if self.word_column == 0 || columns == 0 {
            return self.new_line(out);
        }
        out.push_str(&format!("\x1b[{columns}D\x1b[K\r\n"));
        out.push_str(&self.word);
        self.column = columns;
        self.word_column = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal shows that is sent the chunks.
    #[track_caller]
    fn check(chunks: &[&str], width: usize, lines: &[&str]) {
        let (mut wrap, mut out) = (Wrap::default(), String::new());
        chunks.iter().for_each(|chunk| wrap.push(chunk, width, &mut out));
        let mut shown = vec![String::new()];
        let mut rest = out.as_str();
        while let Some(char) = rest.chars().next() {
            let last = shown.last_mut().unwrap();
            if let Some(after) = rest.strip_prefix("\r\n") {
                shown.push(String::new());
                rest = after;
            } else if let Some(after) = rest.strip_prefix("\x1b[") {
                let (count, after) = after.split_once("D\x1b[K").unwrap();
                let keep = last.chars().count() - count.parse::<usize>().unwrap();
                *last = last.chars().take(keep).collect();
                rest = after;
            } else {
                last.push(char);
                rest = &rest[char.len_utf8()..];
            }
        }
        assert_eq!(shown, lines);
    }

    #[test]
    fn words_move_whole() {
        check(&["the quick brown fox"], 10, &["the quick ", "brown fox"]);
        check(&["the qu", "ick bro", "wn"], 10, &["the quick ", "brown"]);
        check(&["a bc", "def"], 5, &["a ", "bcdef"]);
    }

    #[test]
    fn long_words_and_wide_letters_are_broken_where_they_are() {
        check(&["abcdefgh"], 3, &["abc", "def", "gh"]);
        check(&["漢字漢字"], 5, &["漢字", "漢字"]);
    }

    #[test]
    fn a_space_at_the_edge_is_dropped() {
        check(&["abc def"], 3, &["abc", "def"]);
        check(&["a\n\nb"], 3, &["a", "", "b"]);
    }
}
