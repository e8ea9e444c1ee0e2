//! `selvedge verify`: whether the database is as it should be; and repairs, where that is asked for.

mod derived;

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

use selvedge::prelude::ThreadId;
use selvedge::runtime::{Clock, SystemClock};
use selvedge::sqlite::{Repair, Verified};
use selvedge::store::StoreError;

use super::backup;
use crate::database::Database;
use crate::failure::Failure;
use crate::render::clean;

/// What was found and is not put right.
#[derive(Debug, Default)]
struct Left {
    /// All of it.
    findings: u64,
    /// What `--repair` would put right.
    repairable: u64,
    /// Threads of which something cannot be put right.
    damaged: HashSet<ThreadId>,
}

/// Tells what is not as it should be, and puts right what can be if `repair`. A failure if anything is left.
pub(crate) async fn run(repair: bool, database: &Database) -> Result<(), Failure> {
    let mut left = Left::default();
    let verified = check(&mut left, database).await?;
    if repair && left.repairable > 0 {
        left = mend(database).await?;
    }
    let differences = derived::check(repair, &left.damaged, database).await?;
    left.findings += differences;
    left.repairable += differences;
    let Verified { threads, messages, .. } = verified;
    if left.findings == 0 {
        let looked_at = [counted(threads, "thread"), counted(messages, "message")].join(", ");
        say(&format!("{looked_at}: everything is as it should be"));
        return Ok(());
    }
    let found = format!("{} in {}", counted(left.findings, "finding"), database.path().display());
    Err(Failure::new(found).advise(match left {
        Left { repairable: 0, .. } => "what is damaged is left as it is; everything else goes on".to_owned(),
        Left { repairable, .. } => format!("selvedge verify --repair puts {repairable} of them right"),
    }))
}

/// Prints the store's findings.
async fn check(left: &mut Left, database: &Database) -> Result<Verified, Failure> {
    let found = database.store().verify(|finding| {
        left.findings += 1;
        say(&clean(&finding.to_string()));
        left.repairable += u64::from(finding.problem.is_repairable());
        left.damaged.extend(finding.thread.filter(|_| !finding.problem.is_repairable()));
    });
    found.await.map_err(|error| failure(&error, database))
}

/// Repairs after a copy was made, and prints what was done.
async fn mend(database: &Database) -> Result<Left, Failure> {
    let copy = copy_name(database);
    backup::copy(&copy, database).await?;
    say(&format!("{} is copied to {}", database.path().display(), copy.display()));
    let mut left = Left::default();
    let label = format!("selvedge verify (process {})", std::process::id());
    let repaired = database.store().repair(&label, SystemClock.now(), |finding, repair| {
        left.findings += u64::from(repair != Repair::Done);
        let (thread, finding) = (finding.thread.clone(), clean(&finding.to_string()));
        left.damaged.extend(thread.filter(|_| repair == Repair::Left));
        match repair {
            Repair::Done => say(&format!("repaired: {finding}")),
            Repair::Left => say(&format!("left: {finding}")),
            Repair::Owned(owner) => say(&format!("left: {finding} ({}; end that process first)", clean(&owner))),
        }
    });
    repaired.await.map_err(|error| failure(&error, database))?;
    Ok(left)
}

/// A number of things.
pub(super) fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Prints a line. If nobody reads any more, the exit code still tells, and repairs go on.
fn say(line: &str) {
    drop(writeln!(std::io::stdout(), "{line}"));
}

/// A name beside the database that no file has, for a copy of it as it was before the repair.
fn copy_name(database: &Database) -> PathBuf {
    let time = super::threads::time(SystemClock.now()).replace([':', '-'], "");
    let name = |suffix: &str| {
        let mut name = database.path().as_os_str().to_owned();
        name.push(format!(".before-repair-{time}{suffix}"));
        PathBuf::from(name)
    };
    let numbered = (2..).map(|number: u32| name(&format!("-{number}")));
    let mut names = std::iter::once(name("")).chain(numbered);
    names.find(|path| !path.exists()).expect("bug: there are endless names")
}

fn failure(error: &StoreError, database: &Database) -> Failure {
    Failure::of_store(error, None, database.path())
}
