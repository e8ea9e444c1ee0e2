//! There is a changelog, with a section for what is to be released next.

use super::Findings;
use crate::workspace::TextFile;

const PATH: &str = "CHANGELOG.md";
const SECTION: &str = "## [Unreleased]";

pub(super) fn check(files: &[TextFile]) -> Findings {
    match files.iter().find(|file| file.path == PATH) {
        None => Findings::problem(format!("{PATH}: is not there")),
        Some(file) if file.text.lines().any(|line| line.trim() == SECTION) => Findings::default(),
        Some(_) => Findings::problem(format!("{PATH}: has no section `{SECTION}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn the_changelog_has_a_section_for_the_next_release() {
        assert_eq!(check(&[file(PATH, "# Changelog\n\n## [Unreleased]\n")]), Findings::default());
        assert_eq!(check(&[file(PATH, "# Changelog\n")]).problems.len(), 1);
        assert_eq!(check(&[]).problems.len(), 1);
    }
}
