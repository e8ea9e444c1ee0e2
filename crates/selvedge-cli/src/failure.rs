//! How the program fails: what happened, and what to do about it.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use selvedge::BuildError;
use selvedge::durable::SessionsError;
use selvedge::prelude::ThreadId;
use selvedge::runtime::SendError;
use selvedge::store::{StoreError, StoreErrorKind};

/// Why the program ends badly.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    /// What the user can do.
    advice: Option<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Something failed.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// Whoever reads the output is gone; nothing is wrong.
    NobodyReads,
}

impl Failure {
    /// Something failed.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), advice: None, kind: Kind::Failed }
    }

    /// The command line makes no sense.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, ..Self::new(what) }
    }

    /// What the user can do about it.
    #[must_use]
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// 0 if nothing is wrong, 1 for a failure, 2 for a command line that makes no sense.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.kind {
            Kind::NobodyReads => ExitCode::SUCCESS,
            Kind::Failed => ExitCode::FAILURE,
            Kind::Usage => ExitCode::from(2),
        }
    }

    /// Whether there is anything to tell.
    pub(crate) fn is_silent(&self) -> bool {
        self.kind == Kind::NobodyReads
    }

    /// A failure of the store at `database`, about a thread or none.
    pub(crate) fn of_store(error: &StoreError, thread: Option<&ThreadId>, database: &Path) -> Self {
        let name = thread.map(ThreadId::as_str).unwrap_or_default();
        let failure = Self::new(with_sources(error));
        match error.kind() {
            StoreErrorKind::NotFound => Self::no_such_thread(name, database),
            StoreErrorKind::Exists => Self::new(format!("there is a thread {name} already"))
                .advise("choose another name, or delete it first: selvedge delete"),
            StoreErrorKind::Owned => Self::owned(name, &error.to_string()),
            StoreErrorKind::InUse => failure.advise("delete the forks that share its history first"),
            StoreErrorKind::Busy => failure.advise("another process holds the database for long; try again"),
            StoreErrorKind::Corrupt => failure.advise(format!(
                "{} is of a newer version of selvedge, of another program, or damaged; nothing was written to it. \
                 Use a newer selvedge, or another file with --db",
                database.display()
            )),
            StoreErrorKind::Unavailable => failure.advise(format!(
                "check that {} is on a local disk with space left, and that you may write there; or name another file with --db",
                database.display()
            )),
            _ => failure,
        }
    }

    /// A failure of what is derived from the histories, at `path`.
    pub(crate) fn of_sessions(error: &SessionsError, path: &Path) -> Self {
        let failure = Self::new(with_sources(error));
        match error {
            SessionsError::Busy { .. } | SessionsError::Moving { .. } => failure.advise("try again"),
            _ => failure.advise(format!(
                "everything in {} is derived from the threads: move it away, and selvedge rebuild makes it anew",
                path.display()
            )),
        }
    }

    /// A request about a thread was not served.
    pub(crate) fn of_send(error: SendError, database: &Path) -> Self {
        match error {
            SendError::Owned { thread, owner } => Self::owned(thread.as_str(), &owner),
            SendError::NoSuchThread(thread) => Self::no_such_thread(thread.as_str(), database),
            SendError::Store(error) => Self::of_store(&error, None, database),
            SendError::Full(_) => Self::new(error.to_string()).advise("wait until it has worked off what waits"),
            other => Self::new(with_sources(&other)),
        }
    }

    /// A system did not start.
    pub(crate) fn of_build(error: &BuildError, database: &Path) -> Self {
        match error {
            BuildError::Start(selvedge::runtime::StartError::Store(error)) | BuildError::Store(error) => {
                Self::of_store(error, None, database)
            }
            other => Self::new(with_sources(other)),
        }
    }

    pub(crate) fn no_such_thread(name: &str, database: &Path) -> Self {
        Self::new(format!("there is no thread {name} in {}", database.display()))
            .advise("selvedge threads lists what there is; selvedge chat --thread NAME begins one")
    }

    /// `message` names the owner: its label, then `#` and what makes it unique.
    fn owned(thread: &str, message: &str) -> Self {
        let owner = message.rsplit_once("driven by ").map_or(message, |(_, owner)| owner);
        let owner = owner.rsplit_once('#').map_or(owner, |(label, _)| label);
        Self::new(format!("the thread {thread} is driven by {owner}"))
            .advise("end that process, or use another thread: --thread NAME")
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let kind = if error.kind() == std::io::ErrorKind::BrokenPipe { Kind::NobodyReads } else { Kind::Failed };
        Self { kind, ..Self::new(error.to_string()) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "selvedge: {}", crate::render::clean(&self.what))?;
        match &self.advice {
            Some(advice) => write!(f, "\n  {}", crate::render::clean(advice)),
            None => Ok(()),
        }
    }
}

/// An error and what caused it, in one line.
pub(crate) fn with_sources(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(": ");
        line.push_str(&cause.to_string());
        source = cause.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owned_thread_names_its_owner_without_marks() {
        let error =
            StoreError::new(StoreErrorKind::Owned, "thread \"main\" is driven by selvedge chat (process 123)#123-00ff");
        let failure = Failure::of_store(&error, Some(&"main".into()), Path::new("x.db"));
        assert_eq!(
            failure.to_string(),
            "selvedge: the thread main is driven by selvedge chat (process 123)\n  end that process, or use another thread: --thread NAME"
        );
    }
}
