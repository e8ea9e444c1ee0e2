//! The checks of `cargo xtask ci`, in the order in which they run: those that take no time first.

mod cargo;
mod layers;
mod msrv;
mod test_runs;

use std::error::Error;

use crate::{crash, report::Report, tidy, workspace::Workspace};

/// One check: a rule of the project that a program can judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    /// What it looks at, in half a line.
    pub(crate) what: &'static str,
    /// An error means that the check could not be made, and counts as a failure of it.
    pub(crate) run: fn(&Workspace) -> Result<Report, Box<dyn Error>>,
}

pub(crate) const ALL: &[Check] = &[
    Check { name: "tidy", what: "rules of the project that no linter knows", run: tidy::check },
    Check { name: "layers", what: "dependencies between the crates point one way", run: layers::check },
    Check { name: "msrv", what: "no dependency needs a newer Rust than the workspace", run: msrv::check },
    Check { name: "format", what: "cargo fmt --check", run: cargo::format },
    Check { name: "deny", what: "cargo deny check bans licenses sources", run: cargo::deny },
    Check { name: "clippy", what: "cargo clippy, warnings denied", run: cargo::clippy },
    Check { name: "docs", what: "cargo doc, warnings denied", run: cargo::docs },
    Check { name: "tests", what: "cargo nextest run", run: test_runs::nextest },
    Check { name: "doctests", what: "cargo test --doc", run: test_runs::doctests },
    Check { name: "crash", what: "cargo xtask crash, the short form", run: crash::check },
    Check { name: "examples", what: "the examples, built and run", run: cargo::examples },
];

/// The checks of a comma-separated list of names, in the order in which they run.
///
/// # Errors
///
/// When a name is none of a check.
pub(crate) fn named(names: &str) -> Result<Vec<Check>, String> {
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    if let Some(unknown) = names.iter().find(|name| ALL.iter().all(|check| check.name != **name)) {
        let known: Vec<&str> = ALL.iter().map(|check| check.name).collect();
        return Err(format!("no check is called `{unknown}`; there are {}", known.join(", ")));
    }
    Ok(ALL.iter().filter(|check| names.contains(&check.name)).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_select_in_running_order() {
        let names: Vec<&str> = named("layers, tidy").unwrap().iter().map(|check| check.name).collect();
        assert_eq!(names, ["tidy", "layers"]);
    }

    #[test]
    fn an_unknown_name_is_refused() {
        assert!(named("tidy,tidiness").unwrap_err().contains("`tidiness`"));
    }
}
