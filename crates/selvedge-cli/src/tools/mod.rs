//! The tools that a real model gets: the time, files below the working directory, and questions to the user.

mod ask;
mod files;
mod now;

use std::path::PathBuf;
use std::sync::Arc;

use selvedge::prelude::Tool;

pub(crate) use ask::Ask;

/// The tools, with files below `root`.
pub(crate) fn tools(root: PathBuf) -> Vec<Arc<dyn Tool>> {
    let root = Arc::new(files::Root::new(root));
    vec![
        Arc::new(now::current_time()),
        Arc::new(files::list_files(root.clone())),
        Arc::new(files::read_file(root)),
        Arc::new(Ask::new("ask_user", None)),
    ]
}
