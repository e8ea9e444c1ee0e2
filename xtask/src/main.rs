//! The project's own commands, run as `cargo xtask …`.
//!
//! `cargo xtask ci` is the whole truth about a change: what passes it may land.
//! A new rule of the project belongs in one of its checks, not in a reviewer's memory.

mod bench;
mod checks;
mod ci;
mod command;
mod crash;
mod install;
mod metadata;
mod mutants;
mod report;
mod tidy;
mod workspace;

use std::{env, error::Error, process::ExitCode};

use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci                 install the tools that are missing, and run all checks
  ci --only A,B,…    run only the checks that are named
  CHECK              run one check, as in: cargo xtask tidy
  bench [ARG…]       run the whole-system benchmarks; arguments are passed on
  crash [ARG…]       run the crash proof; `cargo xtask crash --help` tells its arguments
  mutants [NAME]     run the tests of the tests: deliberate faults, each of which must be caught
  tools              install the programs that ci needs, where they are missing
  peers              install the third-party servers that tests talk to

checks:
";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    run(&args).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn run(args: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let workspace = Workspace::find();
    let Some((command, rest)) = args.split_first() else {
        return Err(usage().into());
    };
    match (command.as_str(), rest) {
        ("ci", []) => {
            // One command on a fresh machine. What cannot be installed, its check says once more, and how.
            if let Err(error) = install::tools(&workspace) {
                eprintln!("warning: {error}");
            }
            Ok(ci::run(&workspace, checks::ALL))
        }
        ("ci", [only, names]) if only == "--only" => Ok(ci::run(&workspace, &checks::named(names)?)),
        ("bench", _) => bench::run(&workspace, rest),
        ("crash", _) => crash::run(&workspace, rest),
        ("mutants", _) => mutants::run(&workspace, rest),
        ("tools", []) => install::tools(&workspace).map(|()| ExitCode::SUCCESS),
        ("peers", []) => install::peers(&workspace).map(|()| ExitCode::SUCCESS),
        ("help" | "--help" | "-h", _) => {
            println!("{}", usage());
            Ok(ExitCode::SUCCESS)
        }
        (check, []) if checks::ALL.iter().any(|one| one.name == check) => {
            Ok(ci::run(&workspace, &checks::named(check)?))
        }
        _ => Err(format!("cargo xtask does not know `{}`\n\n{}", args.join(" "), usage()).into()),
    }
}

fn usage() -> String {
    let checks: Vec<String> = checks::ALL.iter().map(|check| format!("  {:<18} {}", check.name, check.what)).collect();
    format!("{USAGE}{}", checks.join("\n"))
}
