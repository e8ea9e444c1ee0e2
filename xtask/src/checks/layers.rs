//! The layer table: which crate of the workspace may build on which.
//!
//! Data at the bottom, traits above it, the engine above those, programs on top.
//! Whoever implements a trait depends on the trait's crate and never on the engine.
//! The table is read against `cargo metadata`; dependencies of tests are free, for a test may look at anything.
//! Whoever adds an edge adds a record to `docs/decisions/`, which says why.

use std::error::Error;

use crate::{
    metadata::{Kind, Metadata, Package},
    report::Report,
    workspace::Workspace,
};

/// Every crate and the crates that it may build on, all of them above it in the table.
const TABLE: &[Layer] = &[
    layer("selvedge-event", &[]),
    layer("selvedge-observer", &["selvedge-event"]),
    layer("selvedge-store", &["selvedge-event"]),
    layer("selvedge-model", &["selvedge-event"]),
    layer("selvedge-barrier", &["selvedge-event", "selvedge-observer", "selvedge-store", "selvedge-model"]),
    layer(
        "selvedge-runtime",
        &["selvedge-event", "selvedge-observer", "selvedge-store", "selvedge-model", "selvedge-barrier"],
    ),
    layer("selvedge-sqlite", &["selvedge-event", "selvedge-store"]),
    layer("selvedge-live", &["selvedge-event", "selvedge-observer"]),
    layer("selvedge-durable", &["selvedge-event", "selvedge-observer", "selvedge-store", "selvedge-live"]),
    layer("selvedge-providers", &["selvedge-event", "selvedge-model"]),
    layer(
        "selvedge",
        &[
            "selvedge-event",
            "selvedge-observer",
            "selvedge-store",
            "selvedge-model",
            "selvedge-barrier",
            "selvedge-runtime",
            "selvedge-sqlite",
            "selvedge-live",
            "selvedge-durable",
            "selvedge-providers",
        ],
    ),
    layer("selvedge-cli", &["selvedge"]),
    // Beside all: it may look at everything up to the engine, and nothing but tests may look at it.
    layer(
        "selvedge-testkit",
        &[
            "selvedge-event",
            "selvedge-observer",
            "selvedge-store",
            "selvedge-model",
            "selvedge-barrier",
            "selvedge-runtime",
        ],
    ),
    layer(
        "selvedge-tests",
        &[
            "selvedge-event",
            "selvedge-observer",
            "selvedge-store",
            "selvedge-model",
            "selvedge-barrier",
            "selvedge-runtime",
            "selvedge-sqlite",
            "selvedge-live",
            "selvedge-durable",
            "selvedge-providers",
            "selvedge",
            "selvedge-cli",
            "selvedge-testkit",
        ],
    ),
    layer("xtask", &[]),
];

/// The crates that can be used under any executor, or none: tokio is not among what they build on, at any depth.
const WITHOUT_TOKIO: &[&str] =
    &["selvedge-event", "selvedge-observer", "selvedge-store", "selvedge-model", "selvedge-barrier"];

pub(super) fn check(workspace: &Workspace) -> Result<Report, Box<dyn Error>> {
    let metadata = Metadata::load(workspace)?;
    let mut problems = against_table(&metadata, TABLE);
    problems.extend(tokio_users(&metadata, WITHOUT_TOKIO));
    Ok(Report::of(format!("{} crates", metadata.members().count()), problems))
}

#[derive(Debug)]
struct Layer {
    krate: &'static str,
    builds_on: &'static [&'static str],
}

const fn layer(krate: &'static str, builds_on: &'static [&'static str]) -> Layer {
    Layer { krate, builds_on }
}

fn against_table(metadata: &Metadata, table: &[Layer]) -> Vec<String> {
    let mut problems = Vec::new();
    let members: Vec<&Package> = metadata.members().collect();
    for row in table {
        if !members.iter().any(|member| member.name == row.krate) {
            problems.push(format!("the layer table has a row for {}, which is no crate of the workspace", row.krate));
        }
    }
    for member in &members {
        match table.iter().find(|row| row.krate == member.name) {
            None => {
                problems.push(format!("{} has no row in the layer table (xtask/src/checks/layers.rs)", member.name))
            }
            Some(row) => problems.extend(member.dependencies.iter().filter_map(|dependency| {
                let inside = members.iter().any(|member| member.name == dependency.name);
                let allowed = dependency.kind == Kind::Dev || row.builds_on.contains(&dependency.name.as_str());
                (inside && !allowed)
                    .then(|| format!("{} depends on {}, which its layer does not allow", member.name, dependency.name))
            })),
        }
    }
    problems
}

fn tokio_users(metadata: &Metadata, without: &[&str]) -> Vec<String> {
    metadata
        .members()
        .filter(|member| without.contains(&member.name.as_str()))
        .filter_map(|member| metadata.path_between(member, "tokio"))
        .map(|path| format!("{} may not build on tokio, but does: {}", path[0], path.join(" → ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{Build, Dev, Normal};

    const SMALL: &[Layer] = &[layer("data", &[]), layer("engine", &["data"])];

    #[test]
    fn the_table_points_one_way() {
        for (place, row) in TABLE.iter().enumerate() {
            for below in row.builds_on {
                let above = TABLE[..place].iter().any(|earlier| earlier.krate == *below);
                assert!(above, "{} may build on {below}, which is not above it in the table", row.krate);
            }
        }
    }

    #[test]
    fn an_allowed_edge_passes() {
        let metadata = Metadata::of(&[("data", &[("serde", Normal)]), ("engine", &[("data", Normal)])]);
        assert_eq!(against_table(&metadata, SMALL), Vec::<String>::new());
    }

    #[test]
    fn a_forbidden_edge_fails_whether_normal_or_build() {
        for kind in [Normal, Build] {
            let metadata = Metadata::of(&[("data", &[("engine", kind)]), ("engine", &[])]);
            let problems = against_table(&metadata, SMALL);
            assert_eq!(problems, ["data depends on engine, which its layer does not allow"]);
        }
    }

    #[test]
    fn tests_may_look_at_anything() {
        let metadata = Metadata::of(&[("data", &[("engine", Dev)]), ("engine", &[])]);
        assert_eq!(against_table(&metadata, SMALL), Vec::<String>::new());
    }

    #[test]
    fn table_and_workspace_name_the_same_crates() {
        let metadata = Metadata::of(&[("data", &[]), ("stranger", &[])]);
        let problems = against_table(&metadata, SMALL);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("engine, which is no crate"));
        assert!(problems[1].contains("stranger has no row"));
    }

    #[test]
    fn tokio_is_found_at_any_depth() {
        let metadata =
            Metadata::of(&[("data", &[("hidden", Normal)])]).with("hidden", &[("tokio", Normal)]).with("tokio", &[]);
        assert_eq!(tokio_users(&metadata, &["data"]), ["data may not build on tokio, but does: data → hidden → tokio"]);
        assert_eq!(tokio_users(&metadata, &["engine"]), Vec::<String>::new());
    }

    #[test]
    fn tokio_in_tests_is_free() {
        let metadata = Metadata::of(&[("data", &[("tokio", Dev)])]).with("tokio", &[]);
        assert_eq!(tokio_users(&metadata, &["data"]), Vec::<String>::new());
    }
}
