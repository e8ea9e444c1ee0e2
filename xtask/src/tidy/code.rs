//! The code of a Rust file without its words: what a rule about code may look at.

/// The text with every comment and the inside of every string and character literal turned into spaces.
/// Lines and byte offsets stay what they were.
pub(super) fn code_of(text: &str) -> String {
    let mut blanked = text.as_bytes().to_vec();
    let mut at = 0;
    while at < text.len() {
        let (inside, next) = match token_at(text, at) {
            Token::Code(length) => (at..at, at + length),
            Token::Comment(length) => (at..at + length, at + length),
            Token::Literal { open, inside, close } => {
                let start = at + open;
                (start..start + inside, start + inside + close)
            }
        };
        for byte in &mut blanked[inside] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = next.min(text.len());
    }
    String::from_utf8(blanked).expect("bug: tokens end between characters")
}

/// What stands at a place, with lengths in bytes.
enum Token {
    Code(usize),
    Comment(usize),
    Literal { open: usize, inside: usize, close: usize },
}

fn token_at(text: &str, at: usize) -> Token {
    let rest = &text[at..];
    let mut chars = rest.chars();
    match (chars.next(), chars.next()) {
        (Some('/'), Some('/')) => Token::Comment(rest.find('\n').unwrap_or(rest.len())),
        (Some('/'), Some('*')) => Token::Comment(block_comment(rest)),
        (Some('"'), _) => Token::Literal { open: 1, inside: until_unescaped('"', &rest[1..]), close: 1 },
        (Some('r'), Some('"' | '#')) if !continues_a_word(text, at) => raw_string(rest),
        (Some('\''), Some('\\')) => Token::Literal { open: 1, inside: until_unescaped('\'', &rest[1..]), close: 1 },
        (Some('\''), Some(inside)) if chars.next() == Some('\'') => {
            Token::Literal { open: 1, inside: inside.len_utf8(), close: 1 }
        }
        (first, _) => Token::Code(first.map_or(1, char::len_utf8)),
    }
}

/// The length of a block comment, those nested in it included.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let tail = &rest.as_bytes()[at..];
        if tail.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn until_unescaped(end: char, rest: &str) -> usize {
    let mut escaped = false;
    for (at, char) in rest.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if char == end => return at,
            _ => {}
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#` and so on; `r#name` is code.
fn raw_string(rest: &str) -> Token {
    let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
    let open = 1 + hashes + 1;
    if rest.as_bytes().get(open - 1) != Some(&b'"') {
        return Token::Code(open - 1);
    }
    let close = format!("\"{}", "#".repeat(hashes));
    Token::Literal { open, inside: rest[open..].find(&close).unwrap_or(rest.len() - open), close: close.len() }
}

/// Whether the `r` at this place ends a name rather than opens a raw string; `br` and `cr` do open one.
fn continues_a_word(text: &str, at: usize) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let before = &text.as_bytes()[..at];
    match before.last() {
        Some(b'b' | b'c') => before.iter().rev().nth(1).is_some_and(is_word),
        Some(byte) => is_word(byte),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, code: &str) {
        assert_eq!(code_of(text), code);
    }

    #[test]
    fn comments_are_blanked() {
        check("a // b\nc", "a     \nc");
        check("a /* b /* c */ d\n */ e", "a               \n    e");
        check("//! é\nx", "      \nx");
    }

    #[test]
    fn literals_keep_their_quotes() {
        check(r#"f("a // \" b", x)"#, r#"f("         ", x)"#);
        check("f('\"', '\\'', 'é')", "f(' ', '  ', '  ')");
        check("\"open", "\"    ");
    }

    #[test]
    fn raw_strings_end_at_their_own_mark() {
        check("r\"a\\\" b", "r\"  \" b");
        check("br#\"a\"b\"# c", "br#\"   \"# c");
        check("r#fn()", "r#fn()");
        check("for\"a\"", "for\" \"");
    }

    #[test]
    fn lifetimes_are_code() {
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
    }
}
