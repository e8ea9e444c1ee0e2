//! A copy of the database, made while others write.
//!
//! SQLite writes the copy from one read transaction (`VACUUM INTO`): it is the database as it was at one moment, without
//! its free pages, and nobody waits for it. The copy grows under a name of its own; it takes the wanted name once the
//! disk has it whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use selvedge_store::{StoreError, StoreErrorKind};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tokio::sync::oneshot;

use crate::SqliteStore;
use crate::connection::{Value, arguments, run};
use crate::error::Failure;

impl SqliteStore {
    /// Writes a copy of the database, as it is at one moment, to a new file, while this and other processes write. The
    /// copy opens as a store of its own; the claims in it are of nobody who lives. Once this has returned Ok, the copy
    /// survives a power cut.
    ///
    /// An existing file is never written to. The copy grows as `<to>.partial`; until it is whole, an empty file holds
    /// its place. After an error neither is left. A process that is killed meanwhile leaves both.
    ///
    /// While the copy is written, the write-ahead log cannot begin anew and grows with what is written.
    ///
    /// # Errors
    /// [`Exists`](StoreErrorKind::Exists) if there is a file of that name, or of the partial copy's;
    /// [`Invalid`](StoreErrorKind::Invalid) for a path that is not Unicode, which SQLite cannot be told;
    /// [`Unavailable`](StoreErrorKind::Unavailable), for a full disk among other things;
    /// [`Corrupt`](StoreErrorKind::Corrupt) if the database cannot be read whole.
    ///
    /// # Cancel safety
    /// If the future is dropped, the copy is removed as soon as SQLite is done with it, unless it was whole already.
    pub async fn backup(&self, to: impl AsRef<Path>) -> Result<(), StoreError> {
        let to = std::path::absolute(to).map_err(|error| failed("the path cannot be made absolute", error))?;
        let from = self.connect_options().clone();
        let (mut reply, answer) = oneshot::channel();
        // A thread of its own: the copy outlives a dropped future for long enough to be removed, and waits for the disk.
        let copy = move || {
            let copied = copy(&from, &to, &mut reply);
            // Whoever has dropped the future has been heard by `copy`.
            drop(reply.send(copied));
        };
        thread::Builder::new()
            .name("selvedge-backup".into())
            .spawn(copy)
            .map_err(|error| failed("the copy cannot be begun", error))?;
        answer.await.unwrap_or_else(|_ended| Err(StoreError::new(StoreErrorKind::Unavailable, "the copy has ended")))
    }
}

/// Whoever waits for the copy.
type Reply = oneshot::Sender<Result<(), StoreError>>;

fn copy(from: &SqliteConnectOptions, to: &Path, reply: &mut Reply) -> Result<(), StoreError> {
    let place = Unfinished::create(to)?;
    let partial = Unfinished::create(&partial_of(to))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| failed("the copy cannot be begun", error))?;
    runtime.block_on(write(from, &partial.path))?;
    if reply.is_closed() {
        return Err(StoreError::new(StoreErrorKind::Unavailable, "nobody waits for the copy"));
    }
    // ORDER: the copy is on the disk before it has its name, and the name before anybody is told.
    sync(&partial.path).map_err(|error| failed("the copy cannot be synced", error))?;
    fs::rename(&partial.path, to).map_err(|error| failed("the copy cannot be named", error))?;
    sync_folder_of(to).map_err(|error| failed("the folder of the copy cannot be synced", error))?;
    partial.finish();
    place.finish();
    Ok(())
}

async fn write(from: &SqliteConnectOptions, to: &Path) -> Result<(), StoreError> {
    let Some(name) = to.to_str() else {
        return Err(StoreError::new(StoreErrorKind::Invalid, format!("{} is not Unicode", to.display())));
    };
    let copying = |error| Failure::new("copying the database", error);
    let mut connection = from.connect().await.map_err(copying)?;
    let written = async { run(&mut connection, "VACUUM INTO ?", arguments([Value::Text(name)])?).await }.await;
    // It has only read: nothing can be lost with it.
    drop(connection.close().await);
    written.map(drop).map_err(|error| copying(error).into())
}

fn partial_of(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    partial.into()
}

/// A file that was made here, and is removed unless it is finished.
struct Unfinished {
    path: PathBuf,
    is_finished: bool,
}

impl Unfinished {
    fn create(path: &Path) -> Result<Self, StoreError> {
        match File::create_new(path) {
            Ok(_file) => Ok(Self { path: path.to_owned(), is_finished: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let message = format!("there is a file {} already", path.display());
                Err(StoreError::new(StoreErrorKind::Exists, message))
            }
            Err(error) => Err(failed("the copy's file cannot be made", error)),
        }
    }

    fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_finished {
            // What led here is told; that a useless file stays behind says less.
            drop(fs::remove_file(&self.path));
        }
    }
}

fn sync(file: &Path) -> io::Result<()> {
    File::options().write(true).open(file)?.sync_all()
}

/// A name is on the disk when its folder is. Only Unix can be asked that.
fn sync_folder_of(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

fn failed(what: &str, error: io::Error) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, what).with_source(error)
}
