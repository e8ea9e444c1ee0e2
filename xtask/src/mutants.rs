//! `cargo xtask mutants`: tests of the tests. Each mutant is a deliberate fault in a copy of the workspace, and the tests
//! that the [table](table::ALL) names must fail there, by those names; unmutated, they must pass.
//!
//! A mutant does not rot: each of its edits must find its text exactly once, and its tests must exist and have run. The
//! copy and its builds lie in `target/mutants`, so that what no mutant touches is built once.

mod table;

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use self::table::{ALL, Edit, Mutant, Test};
use crate::{command, install::Tool, workspace::Workspace};

/// Runs all mutants, or those whose names begin so.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    Tool::CARGO_NEXTEST.find(workspace)?;
    let chosen: Vec<&Mutant> = match args {
        [] => ALL.iter().collect(),
        [name] => ALL.iter().filter(|mutant| mutant.name.starts_with(name.as_str())).collect(),
        _ => return Err("cargo xtask mutants takes the name of one mutant, or nothing".into()),
    };
    if chosen.is_empty() {
        return Err("no mutant is called so".into());
    }
    let copy = Copy::new(workspace)?;
    // Every edit is looked for before anything is built.
    let edited: Vec<_> = chosen.iter().map(|mutant| copy.edited(mutant)).collect::<Result<_, _>>()?;

    let tests: Vec<&Test> = chosen.iter().flat_map(|mutant| mutant.caught_by).collect();
    let found = copy.test(&tests)?;
    if let Some(test) = tests.iter().find(|test| found.verdict(test) != Verdict::Passed) {
        println!("{}", found.output);
        return Err(format!("unmutated, {} does not pass", test.name).into());
    }
    println!("unmutated: {} tests pass\n", tests.len());

    let mut survivors = 0;
    for (mutant, files) in chosen.into_iter().zip(edited) {
        let start = Instant::now();
        let verdict = copy.with(&files, |copy| judge(copy, mutant))?;
        survivors += usize::from(verdict.is_err());
        let verdict = verdict.map_or_else(|what| format!("SURVIVES: {what}"), |names| format!("caught by {names}"));
        println!("{:<44} {:>6.1} s  {verdict}", mutant.name, start.elapsed().as_secs_f64());
    }
    if survivors > 0 {
        println!("\n{survivors} mutants survive");
        return Ok(ExitCode::FAILURE);
    }
    println!("\nevery mutant is caught");
    Ok(ExitCode::SUCCESS)
}

/// Runs the tests of a mutant that stands in the copy: what caught it, or what did not.
fn judge(copy: &Copy, mutant: &Mutant) -> Result<Result<String, String>, Box<dyn Error>> {
    let tests: Vec<&Test> = mutant.caught_by.iter().collect();
    let found = copy.test(&tests)?;
    let missed = tests.iter().find(|test| found.verdict(test) != Verdict::Failed);
    Ok(match missed {
        None => Ok(tests.iter().map(|test| test.name).collect::<Vec<_>>().join(", ")),
        Some(test) if found.verdict(test) == Verdict::Passed => Err(format!("{} passes", test.name)),
        Some(test) => Err(format!("{} did not run:\n{}", test.name, tail(&found.output))),
    })
}

fn tail(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

/// A copy of the workspace's files, to be changed.
struct Copy<'a> {
    workspace: &'a Workspace,
    root: PathBuf,
}

/// A file of the copy, as it is and as a mutant has it.
struct Edited {
    path: PathBuf,
    original: String,
    mutated: String,
}

/// What a test run printed.
struct Found {
    output: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    /// It did not run: there is none of this name, or it was not built.
    Absent,
}

impl<'a> Copy<'a> {
    /// Brings the copy up to date. What has not changed is not written, so that it is not built again.
    fn new(workspace: &'a Workspace) -> Result<Self, Box<dyn Error>> {
        let root = workspace.root().join("target/mutants/src");
        let files = workspace.files()?;
        for file in &files {
            let Some(bytes) = read(&workspace.root().join(file))? else { continue };
            let to = root.join(file);
            if read(&to)?.as_ref() != Some(&bytes) {
                fs::create_dir_all(to.parent().unwrap_or(&root))?;
                fs::write(to, bytes)?;
            }
        }
        let known: Vec<PathBuf> = files.iter().map(|file| root.join(file)).collect();
        remove_others(&root, &known)?;
        Ok(Self { workspace, root })
    }

    /// The files that a mutant changes.
    fn edited(&self, mutant: &Mutant) -> Result<Vec<Edited>, Box<dyn Error>> {
        let mut files: Vec<Edited> = Vec::new();
        for Edit { file, from, to } in mutant.edits {
            let path = self.root.join(file);
            if !files.iter().any(|known| known.path == path) {
                let original = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
                files.push(Edited { path: path.clone(), mutated: original.clone(), original });
            }
            let known = files.iter_mut().find(|known| known.path == path).ok_or("bug: the file is known")?;
            let times = known.mutated.matches(from).count();
            if times != 1 {
                let name = mutant.name;
                return Err(format!("mutant `{name}` finds its text {times} times in {file}, not once:\n{from}").into());
            }
            known.mutated = known.mutated.replace(from, to);
        }
        Ok(files)
    }

    /// Does something while the files are as a mutant has them.
    fn with<T>(
        &self,
        files: &[Edited],
        work: impl FnOnce(&Self) -> Result<T, Box<dyn Error>>,
    ) -> Result<T, Box<dyn Error>> {
        for file in files {
            fs::write(&file.path, &file.mutated)?;
        }
        let done = work(self);
        for file in files {
            fs::write(&file.path, &file.original)?;
        }
        done
    }

    /// Builds and runs tests in the copy, as far as they can be built.
    fn test(&self, tests: &[&Test]) -> Result<Found, Box<dyn Error>> {
        let mut packages: Vec<&str> = tests.iter().map(|test| test.package).collect();
        packages.sort_unstable();
        packages.dedup();
        let names: Vec<String> = tests.iter().map(|test| format!("test(/\\b{}$/)", test.name)).collect();
        let mut nextest = command::cargo(self.workspace);
        nextest.current_dir(&self.root).env("CARGO_TARGET_DIR", self.root.with_file_name("target"));
        nextest.args(["nextest", "run", "--profile", "mutants", "--cargo-quiet", "--all-features"]);
        nextest.args(packages.iter().flat_map(|package| ["--package", package]));
        let ran = command::run(nextest.args(["-E", &names.join(" + ")]))?;
        Ok(Found { output: ran.output })
    }
}

impl Found {
    /// What became of a test: all of that name count, and one that failed is enough.
    fn verdict(&self, test: &Test) -> Verdict {
        let lines = self.output.lines().filter(|line| line.trim_end().ends_with(test.name));
        let mut verdict = Verdict::Absent;
        for line in lines.map(str::trim_start) {
            // As in `PASS [   0.1s] (1/2) package::binary module::name`.
            match line.split_once(" [").map(|(word, _)| word) {
                Some("PASS") if verdict == Verdict::Absent => verdict = Verdict::Passed,
                Some("FAIL" | "TIMEOUT" | "ABORT" | "SIGABRT" | "SIGSEGV") => verdict = Verdict::Failed,
                _ => {}
            }
        }
        verdict
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

/// Removes the files under a folder that are not known.
fn remove_others(folder: &Path, known: &[PathBuf]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, known)?;
        } else if !known.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: Test = Test { package: "p", name: "it_holds" };

    fn verdict(output: &str) -> Verdict {
        Found { output: output.to_owned() }.verdict(&TEST)
    }

    #[test]
    fn verdicts_are_read() {
        assert_eq!(verdict("        PASS [   0.1s] (1/2) p::it module::it_holds\n"), Verdict::Passed);
        assert_eq!(verdict("   FAIL [ 0.1s] p::it it_holds\n   PASS [ 0.1s] p::it other::it_holds"), Verdict::Failed);
        assert_eq!(verdict("   TIMEOUT [ 60.1s] (2/2) p::it it_holds"), Verdict::Failed);
        assert_eq!(verdict("error: could not compile `p`\n   PASS [ 0.1s] p::it another"), Verdict::Absent);
    }
}
