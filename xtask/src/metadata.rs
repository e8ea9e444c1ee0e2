//! What `cargo metadata` knows: the packages of the workspace and all that they build on.

use std::{collections::HashMap, error::Error};

use serde::Deserialize;

use crate::{command, workspace::Workspace};

/// The packages and how they depend on each other, every feature enabled, every platform considered.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    workspace_members: Vec<String>,
    #[serde(default)]
    resolve: Resolve,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// `None` if it declares none.
    pub(crate) rust_version: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as a manifest declares it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

#[derive(Debug, Default, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

/// A package as it was resolved: with the ids of the packages that it builds on.
#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Kind,
}

impl Metadata {
    /// # Errors
    ///
    /// When cargo fails, for example for a manifest that it does not understand.
    pub(crate) fn load(workspace: &Workspace) -> Result<Self, Box<dyn Error>> {
        let json = command::stdout_of(command::cargo(workspace).args([
            "metadata",
            "--format-version=1",
            "--all-features",
            "--quiet",
        ]))?;
        Ok(serde_json::from_str(&json)?)
    }

    /// The packages of the workspace itself.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The shortest chain of package names from `from` to a package called `to`,
    /// over all edges but those for tests. `None` if `from` does not build on it.
    pub(crate) fn path_between(&self, from: &Package, to: &str) -> Option<Vec<&str>> {
        let nodes: HashMap<&str, &Node> = self.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let names: HashMap<&str, &str> =
            self.packages.iter().map(|package| (package.id.as_str(), package.name.as_str())).collect();
        let name_of = |id: &str| names.get(id).copied().unwrap_or_default();

        let (from, _) = names.get_key_value(from.id.as_str())?;
        let mut came_from: HashMap<&str, &str> = HashMap::new();
        let mut frontier = std::collections::VecDeque::from([*from]);
        while let Some(id) = frontier.pop_front() {
            if name_of(id) == to {
                let mut chain: Vec<&str> = std::iter::successors(Some(id), |id| came_from.get(id).copied()).collect();
                chain.reverse();
                return Some(chain.into_iter().map(name_of).collect());
            }
            for edge in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
                let built_with = edge.dep_kinds.iter().any(|edge| edge.kind != Kind::Dev);
                if built_with && edge.pkg != *from && !came_from.contains_key(edge.pkg.as_str()) {
                    came_from.insert(&edge.pkg, id);
                    frontier.push_back(&edge.pkg);
                }
            }
        }
        None
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Cargo writes a normal dependency's kind as null.
        match Option::<String>::deserialize(deserializer)?.as_deref() {
            None | Some("normal") => Ok(Self::Normal),
            Some("build") => Ok(Self::Build),
            Some("dev") => Ok(Self::Dev),
            Some(other) => Err(serde::de::Error::unknown_variant(other, &["build", "dev"])),
        }
    }
}

#[cfg(test)]
impl Metadata {
    /// A workspace of the given members, each with its dependencies by name, all of which resolve.
    pub(crate) fn of(members: &[(&str, &[(&str, Kind)])]) -> Self {
        let mut metadata = Self::default();
        for (name, dependencies) in members {
            metadata.workspace_members.push((*name).into());
            metadata.add(name, dependencies);
        }
        metadata
    }

    /// Adds a package from outside the workspace.
    pub(crate) fn with(mut self, name: &str, dependencies: &[(&str, Kind)]) -> Self {
        self.add(name, dependencies);
        self
    }

    fn add(&mut self, name: &str, dependencies: &[(&str, Kind)]) {
        let declared = dependencies.iter().map(|(name, kind)| Dependency { name: (*name).into(), kind: *kind });
        let edges = dependencies
            .iter()
            .map(|(name, kind)| Edge { pkg: (*name).into(), dep_kinds: vec![EdgeKind { kind: *kind }] });
        self.resolve.nodes.push(Node { id: name.into(), deps: edges.collect() });
        self.packages.push(Package {
            id: name.into(),
            name: name.into(),
            dependencies: declared.collect(),
            ..Package::default()
        });
    }
}
