//! The Rust version that the workspace declares is one that everything it builds on can be built with.

use std::error::Error;

use crate::{metadata::Metadata, report::Report, workspace::Workspace};

pub(super) fn check(workspace: &Workspace) -> Result<Report, Box<dyn Error>> {
    // Inherited from the workspace, as every member's must be.
    let declared = env!("CARGO_PKG_RUST_VERSION");
    let metadata = Metadata::load(workspace)?;
    let summary = format!("Rust {declared}, {} packages", metadata.packages.len());
    Ok(Report::of(summary, judge(&metadata, declared)))
}

fn judge(metadata: &Metadata, declared: &str) -> Vec<String> {
    let members = metadata.members().filter(|member| member.rust_version.as_deref() != Some(declared)).map(|member| {
        let name = &member.name;
        format!("{name} does not inherit the workspace's rust-version: write `rust-version.workspace = true`")
    });
    let newer = metadata.packages.iter().filter_map(|package| {
        let needed = package.rust_version.as_deref()?;
        (numbers(needed) > numbers(declared)).then(|| {
            format!("{} {} needs Rust {needed}, and the workspace promises {declared}", package.name, package.version)
        })
    });
    members.chain(newer).collect()
}

/// `1.94` and `1.94.0` are the same version.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(member: Option<&str>, dependency: Option<&str>) -> Vec<String> {
        let mut metadata = Metadata::of(&[("data", &[])]).with("serde", &[]);
        metadata.packages[0].rust_version = member.map(Into::into);
        metadata.packages[1].rust_version = dependency.map(Into::into);
        judge(&metadata, "1.94")
    }

    #[test]
    fn older_equal_and_silent_dependencies_pass() {
        for dependency in [None, Some("1.9"), Some("1.56.1"), Some("1.94"), Some("1.94.0")] {
            assert_eq!(judged(Some("1.94"), dependency), Vec::<String>::new());
        }
    }

    #[test]
    fn a_newer_dependency_fails() {
        for dependency in ["1.94.1", "1.100", "2.0"] {
            assert_eq!(judged(Some("1.94"), Some(dependency)).len(), 1);
        }
    }

    #[test]
    fn a_member_declares_the_workspaces_own() {
        for member in [None, Some("1.80")] {
            assert!(judged(member, None)[0].contains("data does not inherit"));
        }
    }
}
