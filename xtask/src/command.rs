//! Running other programs: in the workspace's root, with their output kept.

use std::{
    env,
    error::Error,
    io::{self, Read},
    process::{Command, ExitStatus, Stdio},
};

use crate::workspace::Workspace;

/// A program to be run in the workspace's root. The project's own tools come last on its `PATH`:
/// what the machine has is used, and nothing else of the environment that they live in is seen.
pub(crate) fn in_root(workspace: &Workspace, program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace.root()).stdin(Stdio::null());
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::split_paths(&others).chain([workspace.tools().join("bin")]);
    if let Ok(path) = env::join_paths(path) {
        command.env("PATH", path);
    }
    command
}

/// The cargo that started this program.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    in_root(workspace, &cargo)
}

/// How a program ended, and all that it printed, both streams as they came.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
}

/// Runs a program to its end and keeps what it prints.
pub(crate) fn run(command: &mut Command) -> io::Result<Ran> {
    let (mut reader, writer) = io::pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The command keeps its ends of the pipe open until they are replaced, and the reader waits for the last one.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    let status = child.wait()?;
    Ok(Ran { status, output: String::from_utf8_lossy(&output).into_owned() })
}

/// Runs a program whose standard output is data; its standard error goes to ours.
///
/// # Errors
///
/// When it cannot be started, fails, or prints something other than UTF-8.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("cannot run {program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program} failed with {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether a program can be started at all.
pub(crate) fn exists(command: &mut Command) -> bool {
    run(command).is_ok_and(|ran| ran.status.success())
}
