//! `cargo xtask ci`: runs checks one after another, all of them, whatever fails, and sums up.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use crate::{
    checks::Check,
    report::{Report, TestCount},
    workspace::Workspace,
};

/// Runs the checks in their order and prints what they say. Fails if one of them does.
pub(crate) fn run(workspace: &Workspace, checks: &[Check]) -> ExitCode {
    let results: Vec<Finished> = checks.iter().map(|check| run_one(workspace, check)).collect();
    if results.len() > 1 {
        print_summary(&results);
    }
    if results.iter().all(|one| one.report.passed()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Finished {
    name: &'static str,
    took: Duration,
    report: Report,
}

fn run_one(workspace: &Workspace, check: &Check) -> Finished {
    println!("==> {}: {}", check.name, check.what);
    let start = Instant::now();
    let report = (check.run)(workspace).unwrap_or_else(|error| Report::problem(error.to_string()));
    let finished = Finished { name: check.name, took: start.elapsed(), report };
    print_findings(&finished);
    finished
}

fn print_findings(finished: &Finished) {
    let Finished { name, took, report } = finished;
    for warning in &report.warnings {
        println!("warning: {warning}");
    }
    for problem in &report.problems {
        println!("{problem}");
    }
    let verdict = verdict(report);
    println!("    {verdict} {name} in {} {}\n", seconds(*took), in_brackets(&report.summary));
}

fn print_summary(results: &[Finished]) {
    println!("summary");
    for Finished { name, took, report } in results {
        println!("  {:<9} {:>9}  {}  {}", name, seconds(*took), verdict(report), report.summary);
    }
    let total = results.iter().map(|one| one.took).sum();
    let failed: Vec<&str> = results.iter().filter(|one| !one.report.passed()).map(|one| one.name).collect();
    let outcome = if failed.is_empty() { "all passed".to_owned() } else { format!("failed: {}", failed.join(", ")) };
    println!("  {:<9} {:>9}  {outcome}", "total", seconds(total));

    // The last line counts the tests, in the words that the runners themselves use.
    let tests: Vec<TestCount> = results.iter().filter_map(|one| one.report.tests).collect();
    if !tests.is_empty() {
        println!("\ntests: {}", tests.into_iter().fold(TestCount::default(), |sum, one| sum + one));
    }
}

fn verdict(report: &Report) -> &'static str {
    if report.passed() { "ok    " } else { "FAILED" }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

fn in_brackets(summary: &str) -> String {
    if summary.is_empty() { String::new() } else { format!("({summary})") }
}
