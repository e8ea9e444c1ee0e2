//! Runs the program in a folder of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder with a database, and the program to run on it.
pub(crate) struct Program {
    folder: tempfile::TempDir,
}

/// What a run has come to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        for name in
            ["SELVEDGE_MODEL", "SELVEDGE_BASE_URL", "SELVEDGE_KEY_ENV", "OPENAI_API_KEY", "SELVEDGE_LOG", "RUST_LOG"]
        {
            command.env_remove(name);
        }
        for proxy in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env_remove(proxy);
        }
        command.env("SELVEDGE_DB", self.path("threads.db")).current_dir(self.folder.path()).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end, with an input.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Ran {
        finish(self.command(arguments), input)
    }

    /// Runs the program, which must end well; what it printed.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str], input: &str) -> String {
        let ran = self.run(arguments, input);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:#?}");
        ran.stdout
    }

    /// Runs the program, which must fail with a code; what it said of that.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let ran = self.run(arguments, "");
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:#?}");
        ran.stderr
    }

    /// Starts a chat, says something, and kills the chat the moment that a line with `mark` is there.
    pub(crate) fn kill_at(&self, arguments: &[&str], input: &str, mark: &str) {
        let mut child = self.command(arguments).spawn().expect("the program starts");
        child.stdin.as_mut().expect("a pipe").write_all(input.as_bytes()).expect("the program reads");
        wait_for(&mut child, mark);
        child.kill().expect("the program runs");
        child.wait().expect("the program ends");
    }
}

/// Reads what a program prints until a line has a mark.
pub(crate) fn wait_for(child: &mut Child, mark: &str) {
    let mut lines = BufReader::new(child.stdout.as_mut().expect("a pipe"));
    let mut line = String::new();
    while lines.read_line(&mut line).expect("the program prints text") > 0 {
        if line.contains(mark) {
            return;
        }
        line.clear();
    }
    panic!("{mark:?} was never printed");
}

/// Runs a program to its end.
pub(crate) fn finish(mut command: Command, input: &str) -> Ran {
    let mut child = command.spawn().expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the program reads");
    let began = Instant::now();
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the program ends");
    assert!(began.elapsed() < Duration::from_secs(60), "it took {:?}", began.elapsed());
    let text = |bytes| String::from_utf8(bytes).expect("the program prints text");
    Ran { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}
