//! Where the threads are: the database file, its default place, and how it is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selvedge::durable::Sessions;
use selvedge::prelude::{ConversationStore, SqliteStore, ThreadId};
use selvedge::sqlite::SqliteOptions;
use selvedge::store::{StoreError, ThreadRecord};

use tokio::sync::OnceCell;

use crate::failure::Failure;

/// An open database.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    store: SqliteStore,
    path: PathBuf,
    /// What is derived from the histories; opened when it is first needed.
    sessions: Arc<OnceCell<Sessions>>,
}

impl Database {
    /// Opens the database, and makes it, with its folder, if it is not there.
    pub(crate) async fn create(path: Option<PathBuf>) -> Result<Self, Failure> {
        let path = path.map_or_else(default_path, Ok)?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| {
                Failure::new(format!("the folder {} cannot be made: {error}", folder.display()))
                    .advise("name a database file in a folder that you may write to with --db")
            })?;
        }
        Self::open(SqliteOptions::default(), path).await
    }

    /// Opens a database that is there.
    pub(crate) async fn existing(path: Option<PathBuf>) -> Result<Self, Failure> {
        let path = path.map_or_else(default_path, Ok)?;
        if !path.exists() {
            return Err(Failure::new(format!("there is no database {}", path.display()))
                .advise("selvedge chat makes one; --db names another file"));
        }
        Self::open(SqliteOptions::default().create(false), path).await
    }

    async fn open(options: SqliteOptions, path: PathBuf) -> Result<Self, Failure> {
        if path.is_dir() {
            return Err(Failure::new(format!("{} is a folder", path.display())).advise("--db names a file"));
        }
        let opened = options.open(&path).await;
        let store = opened.map_err(|error| Failure::of_store(&error, None, &path))?;
        Ok(Self { store, path, sessions: Arc::default() })
    }

    /// The store.
    pub(crate) fn store(&self) -> &SqliteStore {
        &self.store
    }

    /// What is derived from the histories, in a file of its own beside the database: `threads.db` has
    /// `threads.sessions.db`.
    pub(crate) async fn sessions(&self) -> Result<Sessions, Failure> {
        let path = self.sessions_path();
        let open = || async { Sessions::open(&path).await.map_err(|error| Failure::of_sessions(&error, &path)) };
        self.sessions.get_or_try_init(open).await.cloned()
    }

    /// The file of the sessions, which need not be there yet.
    pub(crate) fn sessions_path(&self) -> PathBuf {
        self.path.with_extension("sessions.db")
    }

    /// Ends what is being written, and closes the files.
    pub(crate) async fn close(&self) {
        if let Some(sessions) = self.sessions.get() {
            sessions.close().await;
        }
        self.store.close().await;
    }

    /// The store, shared.
    pub(crate) fn shared(&self) -> Arc<dyn ConversationStore> {
        Arc::new(self.store.clone())
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is kept of a thread beside its history.
    pub(crate) async fn load(&self, thread: &ThreadId) -> Result<ThreadRecord, Failure> {
        self.store.load(thread).await.map_err(|error| self.failure(&error, thread))
    }

    /// The same, with the store's own error.
    pub(crate) async fn store_of(&self, thread: &ThreadId) -> Result<ThreadRecord, StoreError> {
        self.store.load(thread).await
    }

    /// A failure of the store about a thread.
    pub(crate) fn failure(&self, error: &StoreError, thread: &ThreadId) -> Failure {
        Failure::of_store(error, Some(thread), &self.path)
    }
}

/// `$XDG_DATA_HOME/selvedge/selvedge.db`, or the same under `~/.local/share`.
fn default_path() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| std::env::home_dir().map(|home| home.join(".local/share")));
    data.map(|data| data.join("selvedge").join("selvedge.db")).ok_or_else(|| {
        Failure::new("neither XDG_DATA_HOME nor HOME is set").advise("name the database file with --db or SELVEDGE_DB")
    })
}

/// A thread's name from the command line.
pub(crate) fn thread_id(name: &str) -> Result<ThreadId, Failure> {
    ThreadId::parse(name).map_err(|error| Failure::usage(format!("{name:?} is no name for a thread: {error}")))
}
