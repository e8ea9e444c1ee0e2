//! The project works on any machine: its files name no folder of somebody's own, and no registry's host.
//!
//! Which registry a package comes from is a setting of whoever builds.

use super::{Findings, at, line_of};
use crate::workspace::TextFile;

/// First folders of absolute paths that are one machine's or one person's own.
const FOLDERS: &[&str] = &["home", "root", "Users", "work", "workspace"];

const HOSTS: &[&str] = &[
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("deb.debian", ".org"),
];

pub(super) fn check(files: &[TextFile]) -> Findings {
    let mut problems = Vec::new();
    for file in files {
        for path in FOLDERS.iter().map(|folder| format!("/{folder}/")) {
            for start in absolute(&file.text, &path) {
                problems.push(at(file, line_of(&file.text, start), format!("`{path}` is a path of one machine")));
            }
        }
        for host in HOSTS {
            for (start, _) in file.text.match_indices(host) {
                problems.push(at(file, line_of(&file.text, start), format!("`{host}` is a registry's host")));
            }
        }
    }
    Findings::problems(problems)
}

/// Where an absolute path starts: not within a longer one, nor within a URL.
fn absolute<'a>(text: &'a str, path: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(path).map(|(start, _)| start).filter(|start| {
        let before = text[..*start].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !"._-~*/$})>]".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn problems(text: &str) -> usize {
        check(&[file("docs/a.md", text)]).problems.len()
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        for folder in FOLDERS {
            assert_eq!(problems(&format!("/{folder}/x")), 1);
            assert_eq!(problems(&format!("x\n\"/{folder}/x\" (/{folder}/y)")), 2);
        }
    }

    #[test]
    fn relative_paths_and_urls_pass() {
        for folder in FOLDERS {
            assert_eq!(
                problems(&format!("a/{folder}/x, ../{folder}/x, $DIR/{folder}/x, /{folder}, /{folder}ing/x")),
                0
            );
            assert_eq!(problems(&format!("https://example.com/{folder}/x")), 0);
        }
    }

    #[test]
    fn hosts_are_found() {
        for host in HOSTS {
            assert_eq!(problems(&format!("see https://{host}/x")), 1);
        }
    }
}
