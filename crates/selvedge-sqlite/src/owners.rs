//! Owners on one machine: alive for as long as the operating system holds a lock for them.
//!
//! Each owner has a file beside the database, in `<database>-owners/`, which it keeps locked. The lock falls with the
//! process, however that ends; so an owner whose file is missing or can be locked is dead. Nothing here looks at a
//! clock or at process ids.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use selvedge_store::{Owner, OwnerId};

/// Between an owner's label and what makes its name unique.
const SEPARATOR: char = '#';

/// The owners of one database file.
#[derive(Debug, Clone)]
pub(crate) struct Owners {
    folder: PathBuf,
}

impl Owners {
    pub(crate) fn beside(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push("-owners");
        Self { folder: folder.into() }
    }

    /// Makes a new owner, whose name begins with `label`.
    pub(crate) fn register(&self, label: &str) -> io::Result<Owner> {
        fs::create_dir_all(&self.folder)?;
        let mark = format!("{}-{:016x}", std::process::id(), by_chance());
        let path = self.file_of(&mark);
        let file = File::create_new(&path)?;
        // Nobody else knows the name yet, so the lock is free.
        file.try_lock().map_err(io::Error::from)?;
        Ok(Owner::new(OwnerId::new(format!("{label}{SEPARATOR}{mark}")), Alive { _lock: file, path }))
    }

    /// Whether an owner lives. The file of a dead one is removed.
    pub(crate) fn is_alive(&self, id: &str) -> io::Result<bool> {
        let Some(mark) = mark_of(id) else {
            // No owner that a store of this kind has made: nothing holds a lock for it.
            return Ok(false);
        };
        let path = self.file_of(mark);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => remove(&path).map(|()| false),
        }
    }

    fn file_of(&self, mark: &str) -> PathBuf {
        self.folder.join(format!("{mark}.lock"))
    }
}

/// What an owner holds while it lives.
#[derive(Debug)]
struct Alive {
    _lock: File,
    path: PathBuf,
}

impl Drop for Alive {
    fn drop(&mut self) {
        // A file that stays behind is unlocked and tells the same; whoever looks at it removes it.
        drop(remove(&self.path));
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What makes an owner's name unique and names its file: fit for one, whatever the label is.
fn mark_of(id: &str) -> Option<&str> {
    let (_label, mark) = id.rsplit_once(SEPARATOR)?;
    mark.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-').then_some(mark)
}

/// The standard library draws each hasher's keys by chance, one process unlike another.
fn by_chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_lives_until_it_is_dropped() {
        let folder = std::env::temp_dir().join(format!("selvedge-owners-{:016x}", by_chance()));
        let owners = Owners { folder: folder.clone() };
        let owner = owners.register("a/tool#1").unwrap();
        let id = owner.id().as_str().to_owned();
        assert!(id.starts_with("a/tool#1#"), "{id}");
        assert!(owners.is_alive(&id).unwrap());
        drop(owner);
        assert!(!owners.is_alive(&id).unwrap());
        assert!(!owners.is_alive("x#../elsewhere").unwrap());
        fs::remove_dir_all(folder).unwrap();
    }
}
