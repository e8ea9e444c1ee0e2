//! Tools that list and read files below one folder, and nothing else.
//!
//! What they promise: no path leads out of the folder, be it absolute, with `..`, or through a symbolic link; only
//! regular files are read; hidden files, which often hold secrets, are neither listed nor read; every answer is bounded.
//! What they do not: hold against another program that swaps a folder for a link between the check and the reading.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use selvedge::prelude::{BoxError, Tool, ToolContext, ToolOutput, ToolSpec, tool};
use serde::Deserialize;
use serde_json::json;

/// The most bytes that one call reads.
const READ_BYTES: u64 = 32 * 1024;
/// The most entries that one call lists.
const LIST_ENTRIES: usize = 300;

/// The folder that holds all that may be seen.
#[derive(Debug)]
pub(super) struct Root(PathBuf);

impl Root {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The place that a path names, with every link resolved, if it is below the folder.
    fn resolve(&self, path: &str) -> Result<PathBuf, BoxError> {
        let relative = Path::new(path);
        for component in relative.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) if is_hidden(name) => {
                    return Err(format!("{path:?} is hidden, and hidden files are left alone").into());
                }
                Component::Normal(_) => {}
                _ => {
                    return Err(
                        format!("{path:?} leads out of the working directory; use relative paths without ..").into()
                    );
                }
            }
        }
        let root = self.0.canonicalize()?;
        let place = root.join(relative).canonicalize().map_err(|error| format!("{path:?}: {error}"))?;
        let Ok(below) = place.strip_prefix(&root) else {
            return Err(format!("{path:?} is a link that leads out of the working directory").into());
        };
        if below.components().any(|component| is_hidden(component.as_os_str())) {
            return Err(format!("{path:?} leads to a hidden file, and those are left alone").into());
        }
        Ok(place)
    }

    fn list(&self, path: &str) -> Result<String, BoxError> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.resolve(path)?)? {
            let entry = entry?;
            if is_hidden(&entry.file_name()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            entries.push(if kind.is_dir() {
                format!("{name}/")
            } else if kind.is_file() {
                format!("{name} ({} bytes)", entry.metadata()?.len())
            } else {
                format!("{name} (neither a file nor a folder)")
            });
        }
        entries.sort();
        let all = entries.len();
        entries.truncate(LIST_ENTRIES);
        if all > LIST_ENTRIES {
            entries.push(format!("… and {} more", all - LIST_ENTRIES));
        }
        Ok(if entries.is_empty() { "(empty)".into() } else { entries.join("\n") })
    }

    fn read(&self, path: &str, offset: u64) -> Result<String, BoxError> {
        let place = self.resolve(path)?;
        // Opening what is no regular file may already do something, such as wait for ever.
        let length = fs::metadata(&place)?;
        if !length.is_file() {
            return Err(format!("{path:?} is no regular file").into());
        }
        let length = length.len();
        let bytes = read_part(&place, offset)?;
        if bytes.contains(&0) {
            return Ok(format!("{path:?} is no text: {length} bytes"));
        }
        let end = offset.saturating_add(bytes.len() as u64);
        let text = String::from_utf8_lossy(&bytes);
        Ok(if end < length {
            format!("{text}\n[bytes {offset} to {end} of {length}; go on with offset {end}]")
        } else {
            text.into_owned()
        })
    }
}

fn read_part(place: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(place)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(READ_BYTES).read_to_end(&mut bytes)?;
    // A character that was cut in two is left to the next part.
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
        && error.valid_up_to() > 0
    {
        bytes.truncate(error.valid_up_to());
    }
    Ok(bytes)
}

fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().first() == Some(&b'.')
}

#[derive(Deserialize)]
struct Arguments {
    path: Option<String>,
    #[serde(default)]
    offset: u64,
}

/// Lists a folder.
pub(super) fn list_files(root: Arc<Root>) -> impl Tool {
    let spec = ToolSpec::new("list_files", "Lists a folder below the working directory. Hidden files are left out.")
        .with_parameters(json!({
            "type": "object",
            "properties": { "path": { "type": "string", "description": "A relative path; the working directory if left out." } },
        }))
        .read_only();
    tool(spec, move |call: ToolContext| {
        let root = root.clone();
        async move {
            let Arguments { path, .. } = call.parse()?;
            in_background(move || root.list(path.as_deref().unwrap_or("."))).await
        }
    })
}

/// Reads a file.
pub(super) fn read_file(root: Arc<Root>) -> impl Tool {
    let spec = ToolSpec::new("read_file", "Reads a text file below the working directory, up to 32 KiB at once.")
        .with_parameters(json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "A relative path." },
                "offset": { "type": "integer", "minimum": 0, "description": "Where to begin, in bytes." },
            },
            "required": ["path"],
        }))
        .read_only();
    tool(spec, move |call: ToolContext| {
        let root = root.clone();
        async move {
            let Arguments { path, offset } = call.parse()?;
            in_background(move || root.read(&path.unwrap_or_default(), offset)).await
        }
    })
}

async fn in_background(
    work: impl FnOnce() -> Result<String, BoxError> + Send + 'static,
) -> Result<ToolOutput, BoxError> {
    Ok(ToolOutput::text(tokio::task::spawn_blocking(work).await??))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::write(folder.path().join("secret.txt"), "secret").unwrap();
        fs::write(inside.join("a.txt"), "héllo").unwrap();
        fs::write(inside.join(".env"), "KEY=1").unwrap();
        fs::write(inside.join("sub/b.txt"), "b").unwrap();
        (folder, Root::new(inside))
    }

    #[track_caller]
    fn refused(root: &Root, path: &str) {
        let read = root.read(path, 0);
        assert!(read.is_err(), "{path} was read: {read:?}");
    }

    #[test]
    fn files_below_are_listed_and_read() {
        let (_folder, root) = folder();
        assert_eq!(root.list(".").unwrap(), "a.txt (6 bytes)\nsub/");
        assert_eq!(root.read("a.txt", 0).unwrap(), "héllo");
        assert_eq!(root.read("./sub/b.txt", 0).unwrap(), "b");
        assert_eq!(root.read("a.txt", 100).unwrap(), "");
    }

    #[test]
    fn no_path_leads_out() {
        let (folder, root) = folder();
        refused(&root, "../secret.txt");
        refused(&root, "sub/../../secret.txt");
        refused(&root, &folder.path().join("secret.txt").to_string_lossy());
        refused(&root, "/etc/passwd");
        refused(&root, ".env");
        refused(&root, "sub");
        refused(&root, "");
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_out_or_to_what_is_hidden() {
        use std::os::unix::fs::symlink;
        let (folder, root) = folder();
        symlink(folder.path().join("secret.txt"), root.0.join("link")).unwrap();
        symlink(folder.path(), root.0.join("up")).unwrap();
        symlink(".env", root.0.join("env")).unwrap();
        symlink("a.txt", root.0.join("fine")).unwrap();
        refused(&root, "link");
        refused(&root, "up/secret.txt");
        refused(&root, "up/inside/a.txt/../../secret.txt");
        refused(&root, "env");
        assert!(root.list("up").is_err());
        assert_eq!(root.read("fine", 0).unwrap(), "héllo");
        refused(&root, "/dev/stdin");
    }

    #[test]
    fn long_files_come_in_parts_cut_between_characters() {
        let (_folder, root) = folder();
        fs::write(root.0.join("long"), "é".repeat(20_000)).unwrap();
        let first = root.read("long", 0).unwrap();
        assert!(
            first.ends_with("\n[bytes 0 to 32768 of 40000; go on with offset 32768]"),
            "{}",
            &first[first.len() - 80..]
        );
        assert_eq!(root.read("long", 32768).unwrap().chars().count(), (40_000 - 32_768) / 2);
        fs::write(root.0.join("odd"), format!("a{}", "é".repeat(20_000))).unwrap();
        assert!(!root.read("odd", 0).unwrap().contains('\u{fffd}'));
        fs::write(root.0.join("binary"), [0, 1, 2]).unwrap();
        assert_eq!(root.read("binary", 0).unwrap(), "\"binary\" is no text: 3 bytes");
    }
}
