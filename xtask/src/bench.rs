//! `cargo xtask bench`: the whole-system benchmarks, whose arguments are their own.

use std::{error::Error, process::ExitCode};

use crate::{command, workspace::Workspace};

/// Runs the benchmarks in the foreground, so that their table appears as it grows.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let bench = ["bench", "--package", "selvedge-tests", "--bench", "system", "--"];
    let status = command::cargo(workspace).args(bench).args(args).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
