//! `cargo xtask crash`: the crash proof, a program of the whole-system tests whose arguments are its own.

use std::{error::Error, process::ExitCode};

use crate::{command, report::Report, workspace::Workspace};

const RUN: [&str; 6] = ["run", "--quiet", "--package", "selvedge-tests", "--bin", "crash"];

/// Runs the proof in the foreground, so that its table appears as it grows. The long form is worth an optimised build.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let optimised = args.iter().any(|arg| arg == "--long").then_some("--release");
    let status = command::cargo(workspace).args(RUN).args(optimised).arg("--").args(args).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The short form, as a check.
pub(crate) fn check(workspace: &Workspace) -> Result<Report, Box<dyn Error>> {
    let ran = command::run(command::cargo(workspace).args(RUN))?;
    if !ran.status.success() {
        return Ok(Report::problem(format!("{}\n{}", ran.output, ran.status)));
    }
    // As in `crash: 5120 runs, 2011 kills, 0 violations`.
    let summary = ran.output.lines().rev().find_map(|line| line.strip_prefix("crash: "));
    Ok(Report::of(summary.unwrap_or_default(), Vec::new()))
}
