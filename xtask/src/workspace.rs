//! Where the workspace is, and the files that belong to it.

use std::{
    env,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
};

use crate::command;

/// The checked-out workspace that this program was started from.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

/// A text file of the workspace.
#[derive(Debug)]
pub(crate) struct TextFile {
    /// Relative to the workspace's root, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Workspace {
    /// The workspace above xtask's own package, whatever the current directory is.
    pub(crate) fn find() -> Self {
        let xtask = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = xtask.parent().expect("bug: the package xtask lies in the workspace's root").to_owned();
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where `cargo xtask tools` puts the programs that it installs.
    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join("target/tools")
    }

    /// Where `cargo xtask peers` puts the servers that it installs.
    pub(crate) fn peers(&self) -> PathBuf {
        self.root.join("target/peers")
    }

    /// Every file that git tracks or would track, relative to the root. It may have been deleted from the tree.
    ///
    /// # Errors
    ///
    /// When git cannot list the files.
    pub(crate) fn files(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = command::stdout_of(command::in_root(self, "git").args(list))?;
        Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// Every text file that git tracks or would track: what is ignored is nobody's business,
    /// and what is not UTF-8 is no text.
    ///
    /// # Errors
    ///
    /// When git cannot list the files, or one of them cannot be read.
    pub(crate) fn text_files(&self) -> Result<Vec<TextFile>, Box<dyn Error>> {
        let mut files = Vec::new();
        for path in self.files()? {
            match fs::read(self.root.join(&path)) {
                Ok(bytes) => files.extend(String::from_utf8(bytes).ok().map(|text| TextFile { path, text })),
                // Deleted from the tree, not yet from the index.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("cannot read {path}: {error}").into()),
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }
}
