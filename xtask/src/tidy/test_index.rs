//! The tests of the workspace by name, read from its sources without building them.

use super::{code::code_of, words};
use crate::workspace::TextFile;

/// The crate whose functions are the cases of suites that other crates run.
const SUITES: &str = "crates/selvedge-testkit/";

/// A test, and the file that it is in.
#[derive(Debug)]
struct Test {
    file: String,
    name: String,
}

/// All tests of the workspace, and its compile-fail fixtures.
#[derive(Debug)]
pub(super) struct TestIndex {
    tests: Vec<Test>,
    fixtures: Vec<String>,
}

impl TestIndex {
    pub(super) fn of(files: &[TextFile]) -> Self {
        let rust = || files.iter().filter(|file| file.is_rust());
        Self {
            tests: rust().filter(|file| !file.is_fixture()).flat_map(tests_in).collect(),
            fixtures: rust().filter(|file| file.is_fixture()).map(|file| file.path.clone()).collect(),
        }
    }

    /// Whether a reference names a test that is run. It is one of
    /// - `package::name` or `path::name`, where the path is a file or a folder, relative to the root;
    /// - `path`, of a fixture that does not compile.
    ///
    /// # Errors
    ///
    /// When it does not; the message says why.
    pub(super) fn resolve(&self, reference: &str) -> Result<(), String> {
        let Some((place, name)) = reference.split_once("::") else {
            return if self.fixtures.iter().any(|path| path == reference) {
                Ok(())
            } else {
                Err(format!("`{reference}` is neither `place::name` nor the path of a compile-fail fixture"))
            };
        };
        if name.contains("::") {
            return Err(format!("`{reference}` has modules in it: write `package::name` or `path::name`"));
        }
        let found = self.tests.iter().any(|test| test.name == name && lies_in(&test.file, place));
        if found { Ok(()) } else { Err(format!("there is no test `{name}` in {place}, or it is ignored")) }
    }
}

/// Whether a file belongs to a package, by its name, or lies at or under a path.
fn lies_in(file: &str, place: &str) -> bool {
    let under = |folder: &str| file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let folder = match place {
        "selvedge-tests" => "tests".to_owned(),
        "xtask" => "xtask".to_owned(),
        package => format!("crates/{package}"),
    };
    under(&folder) || place.contains('/') && under(place.trim_end_matches('/'))
}

fn tests_in(file: &TextFile) -> Vec<Test> {
    let code = code_of(&file.text);
    let functions = words(&code, "fn").filter_map(|start| {
        let name = code[start + 2..].trim_start().split(|char: char| !char.is_alphanumeric() && char != '_').next()?;
        let is_test = match marks_before(&code, start) {
            Marks { ignored: true, .. } => false,
            Marks { test, .. } => test || is_made_into_tests(file),
        };
        (is_test && !name.is_empty()).then(|| Test { file: file.path.clone(), name: name.to_owned() })
    });
    functions.collect()
}

/// Files whose plain functions a macro may turn into tests.
fn is_made_into_tests(file: &TextFile) -> bool {
    file.path.starts_with(SUITES) || file.path.starts_with("tests/") || file.path.contains("/tests/")
}

#[derive(Debug, Default)]
struct Marks {
    test: bool,
    ignored: bool,
}

/// What the attributes say that stand between the function and whatever is before it.
fn marks_before(code: &str, function: usize) -> Marks {
    let start = code[..function].rfind(['{', '}', ';']).map_or(0, |before| before + 1);
    let mut marks = Marks::default();
    for attribute in code[start..function].split("#[").skip(1) {
        let path: String = attribute.chars().take_while(|char| !"(]=".contains(*char)).collect();
        match path.trim().rsplit("::").next() {
            Some("test") => marks.test = true,
            Some("ignore") => marks.ignored = true,
            _ => {}
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn index() -> TestIndex {
        let unit = "
            fn helper() {}
            // #[test] fn commented() {}
            #[test]
            fn plain() {}
            #[tokio::test(start_paused = true)]
            async fn with_runtime() { let x = 1; }
            #[test]
            #[ignore = \"slow\"]
            fn ignored() {}
            proptest! { #![config(C { cases: 3 })] #[test] fn property(x in 0..3) {} }
        ";
        TestIndex::of(&[
            file("crates/selvedge-store/src/memory.rs", unit),
            file("crates/selvedge-testkit/src/store.rs", "pub async fn case(store: &S) {}"),
            file("crates/selvedge-barrier/tests/ui/forged.rs", "fn main() {}"),
            file("tests/tests/s04.rs", "both_modes! { async fn survives(h: Harness) {} }"),
        ])
    }

    #[test]
    fn tests_are_found_by_package_file_and_folder() {
        let found = [
            "selvedge-store::plain",
            "crates/selvedge-store/src/memory.rs::plain",
            "crates/selvedge-store/src::plain",
            "selvedge-store::with_runtime",
            "selvedge-store::property",
            "selvedge-testkit::case",
            "selvedge-tests::survives",
            "tests/tests/s04.rs::survives",
            "crates/selvedge-barrier/tests/ui/forged.rs",
        ];
        for reference in found {
            assert_eq!(index().resolve(reference), Ok(()), "{reference}");
        }
    }

    #[test]
    fn what_does_not_run_is_no_test() {
        let not_found = [
            "selvedge-store::helper",
            "selvedge-store::commented",
            "selvedge-store::ignored",
            "selvedge-store::no_such_name",
            "selvedge-sto::plain",
            "selvedge-event::plain",
            "crates/selvedge-store/src/mem::plain",
            "selvedge-store::memory::plain",
            "selvedge-store",
            "crates/selvedge-barrier/tests/ui/other.rs",
        ];
        for reference in not_found {
            assert!(index().resolve(reference).is_err(), "{reference}");
        }
    }
}
