//! Each invariant of the architecture page names a test that would fail if it did not hold.
//!
//! The form, over as many lines as it takes:
//!
//! ```text
//! - **I7** A call is dispatched only after its commit. — test: `selvedge-barrier::order`, `tests/tests/s04.rs::crash`
//! ```
//!
//! The entry ends at an empty line, a heading, or the next item of the list.
//! What a reference may look like is said at `TestIndex::resolve`.

use std::collections::HashSet;

use super::{Findings, at, test_index::TestIndex};
use crate::workspace::TextFile;

const PATH: &str = "docs/architecture.md";
const OPENING: &str = "- **I";
/// Between an invariant's words and its tests.
const MARKS: [&str; 2] = ["— test: ", "— tests: "];

pub(super) fn check(files: &[TextFile]) -> Findings {
    let Some(page) = files.iter().find(|file| file.path == PATH) else {
        return Findings::problem(format!("{PATH}: is not there"));
    };
    let tests = TestIndex::of(files);
    let entries = entries(&page.text);
    if entries.is_empty() {
        return Findings::problem(format!("{PATH}: states no invariants, as in `{OPENING}1** …`"));
    }
    let mut seen = HashSet::new();
    Findings::problems(entries.iter().flat_map(|entry| {
        let mut problems = judge(entry, &tests);
        if !seen.insert(entry.number()) {
            problems.push(format!("there are two invariants I{}", entry.number().unwrap_or_default()));
        }
        problems.into_iter().map(|problem| at(page, entry.line, problem)).collect::<Vec<_>>()
    }))
}

/// An item of the page that opens like an invariant, its lines joined.
struct Entry {
    line: usize,
    text: String,
}

impl Entry {
    fn number(&self) -> Option<&str> {
        let (number, _) = self.text.strip_prefix(OPENING)?.split_once("** ")?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
    }
}

fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut within = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with(OPENING) {
            entries.push(Entry { line: index + 1, text: line.to_owned() });
            within = true;
        } else if line.is_empty() || line.starts_with("- ") || line.starts_with('#') {
            within = false;
        } else if let Some(entry) = entries.last_mut().filter(|_| within) {
            entry.text.push(' ');
            entry.text.push_str(line);
        }
    }
    entries
}

fn judge(entry: &Entry, tests: &TestIndex) -> Vec<String> {
    let Some(number) = entry.number() else {
        return vec![format!("an invariant opens with its number, as in `{OPENING}7** `")];
    };
    let references = MARKS.iter().find_map(|mark| entry.text.rsplit_once(mark));
    let Some((_, references)) = references else {
        return vec![format!("I{number} names no test: end it with ` {}`package::name``", MARKS[0])];
    };
    // Every other piece between backticks is inside of them.
    let references: Vec<&str> = references.split('`').skip(1).step_by(2).collect();
    if references.is_empty() {
        return vec![format!("I{number} names no test between backticks")];
    }
    let broken = references.iter().filter_map(|reference| tests.resolve(reference).err());
    broken.map(|why| format!("I{number}: {why}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn problems(page: &str) -> Vec<String> {
        let tests = file("crates/a/tests/a.rs", "#[test] fn holds() {}\n#[test] fn too() {}");
        check(&[tests, file(PATH, page)]).problems
    }

    #[track_caller]
    fn passes(page: &str) {
        assert_eq!(problems(page), Vec::<String>::new());
    }

    #[track_caller]
    fn fails(page: &str, word: &str) {
        let problems = problems(page);
        assert!(problems.len() == 1 && problems[0].contains(word), "{problems:?}");
    }

    #[test]
    fn an_invariant_with_a_test_passes() {
        passes(
            "# A\n- **I1** Holds. — test: `a::holds`\n\n- no invariant\n- **I2** Holds. — tests: `a::holds`, `a::too`",
        );
    }

    #[test]
    fn an_invariant_may_take_several_lines() {
        passes("- **I1** Holds\n  always. — test:\n  `crates/a/tests/a.rs::holds`\n- **I2** X. — test: `a::too`\n");
    }

    #[test]
    fn an_invariant_without_a_test_fails() {
        fails("- **I1** Holds.\n", "I1 names no test");
        fails("- **I1** Holds. — test: a::holds\n", "I1 names no test between backticks");
        fails("- **I1** Holds.\n\n— test: `a::holds`\n", "I1 names no test");
    }

    #[test]
    fn a_test_that_is_not_there_fails() {
        fails("- **I1** Holds. — tests: `a::holds`, `a::gone`\n", "no test `gone` in a");
    }

    #[test]
    fn numbers_are_numbers_and_their_own() {
        fails("- **Inv** Holds. — test: `a::holds`\n", "opens with its number");
        fails("- **I1** A. — test: `a::holds`\n- **I1** B. — test: `a::holds`\n", "two invariants I1");
    }

    #[test]
    fn a_page_without_invariants_fails() {
        fails("# Architecture\n", "states no invariants");
        assert_eq!(check(&[]).problems.len(), 1);
    }
}
