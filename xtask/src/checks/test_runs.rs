//! The checks that run tests, and count them.

use std::error::Error;

use super::cargo::report_of;
use crate::{
    command,
    install::Tool,
    report::{Report, TestCount},
    workspace::Workspace,
};

pub(super) fn nextest(workspace: &Workspace) -> Result<Report, Box<dyn Error>> {
    if let Err(missing) = Tool::CARGO_NEXTEST.find(workspace) {
        return Ok(Report::problem(missing));
    }
    let nextest = ["nextest", "run", "--workspace", "--all-features", "--profile", "ci", "--cargo-quiet"];
    // A snapshot that differs is a failure here, never a file to be reviewed later.
    let ran = command::run(command::cargo(workspace).env("INSTA_UPDATE", "no").args(nextest))?;
    Ok(counted(report_of(&ran), count_of_nextest(&ran.output)))
}

pub(super) fn doctests(workspace: &Workspace) -> Result<Report, Box<dyn Error>> {
    let doctests = ["test", "--doc", "--workspace", "--all-features", "--no-fail-fast", "--quiet"];
    let ran = command::run(command::cargo(workspace).args(doctests))?;
    Ok(counted(report_of(&ran), count_of_libtest(&ran.output)))
}

fn counted(report: Report, tests: Option<TestCount>) -> Report {
    Report { summary: tests.map(|tests| tests.to_string()).unwrap_or_default(), tests, ..report }
}

/// Reads nextest's closing line, as in
/// `Summary [ 0.1s] 5 tests run: 4 passed (1 slow), 1 failed, 2 skipped`.
fn count_of_nextest(output: &str) -> Option<TestCount> {
    let line = output.lines().rfind(|line| line.trim_start().starts_with("Summary ["))?;
    let (_, counts) = line.split_once(':')?;
    let failures = ["failed", "timed out", "exec failed"];
    Some(TestCount {
        passed: count_before("passed", counts),
        failed: failures.into_iter().map(|words| count_before(words, counts)).sum(),
        skipped: count_before("skipped", counts),
    })
}

/// Sums up the closing lines of the standard test runner, as in
/// `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn count_of_libtest(output: &str) -> Option<TestCount> {
    output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "))
        .filter_map(|line| line.split_once(". "))
        .map(|(_, counts)| TestCount {
            passed: count_before("passed", counts),
            failed: count_before("failed", counts),
            skipped: count_before("ignored", counts),
        })
        .reduce(|sum, one| sum + one)
}

/// The number in `3 passed` of a list separated by `,` or `;`, whatever follows the words; 0 if they are not there.
fn count_before(words: &str, counts: &str) -> usize {
    counts
        .split([',', ';'])
        .filter_map(|one| one.trim().split_once(' '))
        .find(|(_, what)| *what == words || what.strip_prefix(words).is_some_and(|rest| rest.starts_with(" (")))
        .and_then(|(number, _)| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nextest_is_counted() {
        let output =
            "  PASS x\n     Summary [   0.014s] 9 tests run: 5 passed (1 slow), 2 failed, 2 timed out, 3 skipped\n";
        assert_eq!(count_of_nextest(output), Some(TestCount { passed: 5, failed: 4, skipped: 3 }));
        assert_eq!(count_of_nextest("error: could not compile"), None);
    }

    #[test]
    fn doctests_are_summed() {
        let output = "\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
            test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(count_of_libtest(output), Some(TestCount { passed: 7, failed: 2, skipped: 1 }));
        assert_eq!(count_of_libtest(""), None);
    }
}
