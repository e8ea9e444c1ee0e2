//! The checks that are a cargo command and nothing more.

use std::{error::Error, process::Command};

use crate::{
    command::{self, Ran},
    install::Tool,
    report::Report,
    workspace::Workspace,
};

type Outcome = Result<Report, Box<dyn Error>>;

pub(super) fn format(workspace: &Workspace) -> Outcome {
    report(command::cargo(workspace).args(["fmt", "--all", "--", "--check", "--color=never"]))
}

pub(super) fn clippy(workspace: &Workspace) -> Outcome {
    let clippy =
        ["clippy", "--workspace", "--all-targets", "--all-features", "--keep-going", "--quiet", "--", "-Dwarnings"];
    report(command::cargo(workspace).args(clippy))
}

pub(super) fn deny(workspace: &Workspace) -> Outcome {
    if let Err(missing) = Tool::CARGO_DENY.find(workspace) {
        return Ok(Report::problem(missing));
    }
    let ran = command::run(command::cargo(workspace).args(["deny", "check", "bans", "licenses", "sources"]))?;
    // As in `warning[duplicate]: found 2 duplicate entries for crate 'syn'`.
    let warnings = ran.output.lines().filter(|line| line.starts_with("warning["));
    let warnings = warnings.filter_map(|line| line.split_once(": ")).map(|(_, what)| what.to_owned()).collect();
    Ok(Report { warnings, ..report_of(&ran) })
}

pub(super) fn docs(workspace: &Workspace) -> Outcome {
    let doc = ["doc", "--workspace", "--no-deps", "--all-features", "--keep-going", "--quiet"];
    report(command::cargo(workspace).env("RUSTDOCFLAGS", "-Dwarnings").args(doc))
}

pub(super) fn examples(workspace: &Workspace) -> Outcome {
    let build = ["build", "--workspace", "--examples", "--all-features", "--keep-going", "--quiet"];
    let mut all = report(command::cargo(workspace).args(build))?;
    for path in workspace.text_files()?.into_iter().map(|file| file.path) {
        let Some((package, name)) = example_of(&path) else { continue };
        let run = ["run", "--quiet", "--all-features", "--package", package, "--example", name];
        let ran = command::run(command::cargo(workspace).args(run))?;
        if !ran.status.success() {
            all.problems.push(format!("the example {name} ended with {}:\n{}", ran.status, ran.output));
        }
    }
    Ok(all)
}

/// The package and the name of an example, as in `crates/selvedge/examples/embed.rs`.
fn example_of(path: &str) -> Option<(&str, &str)> {
    let (package, file) = path.strip_prefix("crates/")?.split_once("/examples/")?;
    Some((package, file.strip_suffix(".rs")?)).filter(|(_, name)| !name.contains('/'))
}

/// Runs the command; if it fails, all that it printed is the problem.
fn report(command: &mut Command) -> Outcome {
    Ok(report_of(&command::run(command)?))
}

/// The report of a command that has run.
pub(super) fn report_of(ran: &Ran) -> Report {
    if ran.status.success() { Report::default() } else { Report::problem(format!("{}\n{}", ran.output, ran.status)) }
}
