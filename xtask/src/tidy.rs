//! The tidy check: rules of the project that no linter knows.
//!
//! Each rule is a function from the workspace's text files to findings, in a file of its own.

mod attributes;
mod changelog;
mod code;
mod invariants;
mod length;
mod machine;
mod module_docs;
mod test_index;
mod words;

use std::error::Error;

use crate::{
    report::Report,
    workspace::{TextFile, Workspace},
};

/// What the rules found, each finding a line that starts with its place.
#[derive(Debug, Default, PartialEq, Eq)]
struct Findings {
    warnings: Vec<String>,
    problems: Vec<String>,
}

type Rule = fn(&[TextFile]) -> Findings;

const RULES: &[Rule] = &[
    module_docs::check,
    length::check,
    words::check,
    attributes::check,
    machine::check,
    invariants::check,
    changelog::check,
];

pub(crate) fn check(workspace: &Workspace) -> Result<Report, Box<dyn Error>> {
    let files = workspace.text_files()?;
    let mut report = Report::of(format!("{} files", files.len()), Vec::new());
    for rule in RULES {
        let Findings { warnings, problems } = rule(&files);
        report.warnings.extend(warnings);
        report.problems.extend(problems);
    }
    Ok(report)
}

impl Findings {
    fn problem(problem: impl Into<String>) -> Self {
        Self { problems: vec![problem.into()], ..Self::default() }
    }

    /// Only problems.
    fn problems(problems: impl IntoIterator<Item = String>) -> Self {
        Self { problems: problems.into_iter().collect(), ..Self::default() }
    }
}

impl TextFile {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Inputs of compile-fail tests, which are there to be wrong: `tests/ui/` of any package.
    fn is_fixture(&self) -> bool {
        self.path.contains("/tests/ui/")
    }
}

/// The Rust files that are written to be read: all but the fixtures.
fn sources(files: &[TextFile]) -> impl Iterator<Item = &TextFile> {
    files.iter().filter(|file| file.is_rust() && !file.is_fixture())
}

/// One line of a finding: where, then what.
fn at(file: &TextFile, line: usize, what: impl std::fmt::Display) -> String {
    format!("{}:{line}: {what}", file.path)
}

/// The number of the line, from 1, that the byte at `offset` is in.
fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Where `needle` stands as a word of its own, as byte offsets.
fn words<'a>(text: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let in_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    text.match_indices(needle).map(|(start, _)| start).filter(move |start| {
        let bytes = text.as_bytes();
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        !in_word(before) && !in_word(bytes.get(start + needle.len()))
    })
}

#[cfg(test)]
fn file(path: &str, text: &str) -> TextFile {
    TextFile { path: path.into(), text: text.into() }
}
