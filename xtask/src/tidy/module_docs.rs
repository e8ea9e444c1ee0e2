//! Every module says at its top what it is for.

use super::{Findings, at, sources};
use crate::workspace::TextFile;

pub(super) fn check(files: &[TextFile]) -> Findings {
    let silent = sources(files).filter(|file| {
        let opening = file.text.lines().next().unwrap_or_default().strip_prefix("//!");
        opening.is_none_or(|words| words.trim().is_empty())
    });
    Findings::problems(silent.map(|file| at(file, 1, "open the file with `//!` and what the module is for")))
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn problems(text: &str) -> usize {
        check(&[file("crates/x/src/lib.rs", text)]).problems.len()
    }

    #[test]
    fn a_module_opens_with_its_docs() {
        assert_eq!(problems("//! What it is for.\nfn f() {}\n"), 0);
        assert_eq!(problems("use std::fmt;\n//! Too late.\n"), 1);
        assert_eq!(problems("// No doc comment.\n"), 1);
        assert_eq!(problems("//!\n//! After an empty line.\n"), 1);
        assert_eq!(problems(""), 1);
    }

    #[test]
    fn fixtures_and_other_files_need_none() {
        let files = [file("crates/x/tests/ui/forged.rs", "fn main() {}"), file("README.md", "# X")];
        assert_eq!(check(&files), Findings::default());
    }
}
