//! Files stay short enough to be read: past 400 lines one wonders, past 600 it is split.
//!
//! The unit tests at the end of a file do not count.

use super::{Findings, sources};
use crate::workspace::TextFile;

const WARN_PAST: usize = 400;
const FAIL_PAST: usize = 600;

pub(super) fn check(files: &[TextFile]) -> Findings {
    let mut findings = Findings::default();
    for file in sources(files) {
        let lines = lines_without_tests(&file.text);
        let finding = || format!("{}: {lines} lines, its unit tests apart; one idea a file", file.path);
        if lines > FAIL_PAST {
            findings.problems.push(finding());
        } else if lines > WARN_PAST {
            findings.warnings.push(finding());
        }
    }
    findings
}

/// Lines before a `#[cfg(test)] mod … {` that closes at the end of the file; all of them if there is none.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let opens_tests = |at: usize| {
        lines[at] == "#[cfg(test)]"
            && lines.get(at + 1).is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
            // Whatever is closed in the first column closes the module.
            && lines[at..].iter().position(|line| *line == "}") == Some(lines.len() - 1 - at)
    };
    (0..lines.len()).find(|at| opens_tests(*at)).unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn findings(text: &str) -> (usize, usize) {
        let findings = check(&[file("crates/x/src/lib.rs", text)]);
        (findings.warnings.len(), findings.problems.len())
    }

    fn tests_of(lines: usize) -> String {
        format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    x();\n".repeat(lines))
    }

    #[test]
    fn long_warns_and_longer_fails() {
        assert_eq!(findings(&"x();\n".repeat(400)), (0, 0));
        assert_eq!(findings(&"x();\n".repeat(401)), (1, 0));
        assert_eq!(findings(&"x();\n".repeat(600)), (1, 0));
        assert_eq!(findings(&"x();\n".repeat(601)), (0, 1));
    }

    #[test]
    fn unit_tests_at_the_end_do_not_count() {
        assert_eq!(findings(&format!("{}{}", "x();\n".repeat(400), tests_of(900))), (0, 0));
    }

    #[test]
    fn code_after_the_tests_counts() {
        assert_eq!(findings(&format!("{}fn f() {{\n}}\n", tests_of(700))), (0, 1));
    }
}
