//! Nothing lands unfinished: neither a macro that panics for want of code nor a note to do it later.

use super::{Findings, at, code::code_of, line_of, sources, words};
use crate::workspace::TextFile;

/// Macros that stand for code that is not there.
const MACROS: &[&str] = &[concat!("to", "do"), concat!("un", "implemented")];

/// Notes to oneself, anywhere in a file, comments included.
const NOTES: &[&str] = &[concat!("FIX", "ME"), concat!("X", "XX")];

pub(super) fn check(files: &[TextFile]) -> Findings {
    let mut problems = Vec::new();
    for file in sources(files) {
        let code = code_of(&file.text);
        for name in MACROS {
            for start in words(&code, name).filter(|start| code[start + name.len()..].starts_with('!')) {
                problems.push(at(file, line_of(&code, start), format!("`{name}!` stands for missing code")));
            }
        }
    }
    for file in files.iter().filter(|file| may_not_hold_notes(file)) {
        for note in NOTES {
            for start in words(&file.text, note) {
                let problem = format!("`{note}`: do it now, or say what is so and why");
                problems.push(at(file, line_of(&file.text, start), problem));
            }
        }
    }
    Findings::problems(problems)
}

fn may_not_hold_notes(file: &TextFile) -> bool {
    [".rs", ".toml", ".sh", ".yml"].iter().any(|ending| file.path.ends_with(ending)) || file.path == ".ci/run"
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        check(&[file("crates/x/src/lib.rs", text)]).problems
    }

    #[test]
    fn missing_code_is_found_in_code() {
        for name in MACROS {
            assert_eq!(problems(&format!("fn f() {{\n    {name}!()\n}}")).len(), 1);
            assert_eq!(problems(&format!("fn f() {{ {name}(); my_{name}!() }}")), Vec::<String>::new());
            assert_eq!(problems(&format!("// {name}!\nlet x = \"{name}!()\";")), Vec::<String>::new());
        }
    }

    #[test]
    fn notes_are_found_anywhere() {
        for note in NOTES {
            let found = problems(&format!("//! Docs.\n// {note}: later\n"));
            assert_eq!(found.len(), 1);
            assert!(found[0].starts_with("crates/x/src/lib.rs:2: "), "{found:?}");
            assert_eq!(problems(&format!("// A{note}, {note}X")), Vec::<String>::new());
        }
    }
}
