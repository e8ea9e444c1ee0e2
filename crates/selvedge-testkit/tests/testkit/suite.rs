//! The suites' macros name all of their cases.

use std::{fs, path::Path};

#[test]
fn every_case_of_the_store_suite_is_a_test() {
    assert!(cases_that_are_tests("store_conformance") > 100);
}

#[test]
fn every_case_of_the_observer_suite_is_a_test() {
    assert!(cases_that_are_tests("observer_conformance") > 25);
}

/// How many cases a suite has, all of which its macro names.
fn cases_that_are_tests(name: &str) -> usize {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let suite = fs::read_to_string(source.join(format!("{name}.rs"))).unwrap();
    let mut cases = 0;
    for file in fs::read_dir(source.join(name)).unwrap() {
        let path = file.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap();
        for case in cases_of(&fs::read_to_string(&path).unwrap()) {
            assert!(tests_of(&suite, module).contains(&case), "{module}::{case} is not in the macro");
            cases += 1;
        }
    }
    cases
}

/// The public functions of a module.
fn cases_of(module: &str) -> Vec<&str> {
    let functions = module.lines().filter_map(|line| line.strip_prefix("pub async fn "));
    functions.map(|line| line.split_once('<').map_or(line, |(name, _)| name)).collect()
}

/// The cases that the macro lists for a module.
fn tests_of<'a>(suite: &'a str, module: &str) -> Vec<&'a str> {
    let (_, list) = suite.split_once(&format!(" {module} {{\n")).unwrap_or_else(|| panic!("the macro has {module}"));
    list.lines().map(str::trim).take_while(|line| *line != "}").collect()
}
