//! A lint that is switched off says why.

use super::{Findings, at, code::code_of, line_of, sources};
use crate::workspace::TextFile;

pub(super) fn check(files: &[TextFile]) -> Findings {
    Findings::problems(sources(files).flat_map(|file| {
        let code = code_of(&file.text);
        let unexplained = attributes(&code).filter(|(_, attribute)| silences(attribute) && !explained(attribute));
        let problem = "`allow` and `expect` of a lint carry a `reason = \"…\"`";
        unexplained.map(|(start, _)| at(file, line_of(&code, start), problem)).collect::<Vec<_>>()
    }))
}

/// The insides of all `#[…]` and `#![…]`, and where each starts.
fn attributes(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.match_indices('#').filter_map(|(start, _)| {
        let rest = &code[start + 1..];
        let inside = rest.strip_prefix('!').unwrap_or(rest).strip_prefix('[')?;
        let mut depth = 1_usize;
        let end = inside.find(|char| {
            depth = match char {
                '[' => depth + 1,
                ']' => depth - 1,
                _ => depth,
            };
            depth == 0
        })?;
        Some((start, &inside[..end]))
    })
}

fn silences(attribute: &str) -> bool {
    let silences = |attribute: &str| ["allow(", "expect("].iter().any(|open| attribute.trim_start().starts_with(open));
    // In `cfg_attr(condition, …)` the attributes follow the condition.
    silences(attribute) || attribute.starts_with("cfg_attr(") && attribute.split(',').skip(1).any(silences)
}

fn explained(attribute: &str) -> bool {
    attribute
        .split(['(', ','])
        .any(|part| part.trim_start().strip_prefix("reason").is_some_and(|rest| rest.trim_start().starts_with('=')))
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let problems = check(&[file("a.rs", text)]).problems;
        problems.iter().map(|problem| problem.split(':').nth(1).unwrap().to_owned()).collect()
    }

    #[test]
    fn silence_without_a_reason_is_found() {
        assert_eq!(lines("fn f() {}\n#[allow(dead_code)]\nfn g() {}"), ["2"]);
        assert_eq!(lines("#![expect(\n    dead_code,\n    unused\n)]"), ["1"]);
        assert_eq!(lines("#[cfg_attr(test, allow(dead_code))]"), ["1"]);
        assert_eq!(lines("#[allow(reason)]"), ["1"]);
    }

    #[test]
    fn silence_with_a_reason_passes() {
        assert_eq!(lines("#[allow(dead_code, reason = \"[1] says why\")]"), Vec::<String>::new());
        assert_eq!(lines("#[cfg_attr(test, expect(dead_code, reason = \"why\"))]"), Vec::<String>::new());
    }

    #[test]
    fn other_attributes_and_words_pass() {
        assert_eq!(lines("#[should_panic(expected = \"x\")]\n// #[allow(dead_code)]\n"), Vec::<String>::new());
        assert_eq!(lines("let x = \"#[allow(dead_code)]\"; option.expect(\"x\");"), Vec::<String>::new());
    }
}
