//! Untrusted text, made harmless for a terminal.
//!
//! What a model or a tool says may hold escape sequences that move the cursor, rename the window or write to the
//! clipboard. Here no control character is left but the newline; each other one is shown as a sign of its own.

/// Text in which nothing can act on a terminal: tabs become spaces, carriage returns go, and every other control
/// character, and those that turn the direction of writing, become visible signs.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' => cleaned.push('\n'),
            '\r' => {}
            '\t' => cleaned.push_str("    "),
            '\u{7f}' => cleaned.push('\u{2421}'),
            // The signs of the C0 controls stand in their own order.
            '\0'..='\u{1f}' => cleaned.push(char::from_u32(0x2400 + u32::from(char)).unwrap_or('\u{fffd}')),
            _ if char.is_control() || acts_on_its_line(char) => cleaned.push('\u{fffd}'),
            _ => cleaned.push(char),
        }
    }
    cleaned
}

/// The same, on one line of at most `limit` characters.
pub(crate) fn clean_line(text: &str, limit: usize) -> String {
    let line = clean(text).replace('\n', " ");
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Whether a character that is no control character makes a line read as what it is not.
fn acts_on_its_line(char: char) -> bool {
    matches!(char, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escape_sequence_survives() {
        assert_eq!(clean("a\u{1b}[2Jb"), "a␛[2Jb");
        assert_eq!(clean("\u{1b}]0;title\u{7}"), "␛]0;title␇");
        assert_eq!(clean("\u{9b}2J\u{7f}\u{0}"), "\u{fffd}2J␡␀");
        assert_eq!(clean("a\r\nb\tc\rd"), "a\nb    cd");
        assert_eq!(clean("x\u{202e}fdp.exe"), "x\u{fffd}fdp.exe");
        assert_eq!(clean("é 漢 🙂 e\u{301}"), "é 漢 🙂 e\u{301}");
    }

    #[test]
    fn every_character_but_the_newline_is_printable_afterwards() {
        let all: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        assert!(clean(&all).chars().all(|char| char == '\n' || !char.is_control()));
    }

    #[test]
    fn a_line_is_one_and_bounded() {
        assert_eq!(clean_line("a\nb\nc", 4), "a b …");
        assert_eq!(clean_line("abcd", 4), "abcd");
    }
}
