//! `selvedge prune`: retention, by age or by count.

use selvedge::event::Timestamp;
use selvedge::prelude::ThreadId;
use selvedge::runtime::{Clock, SystemClock};
use selvedge::sqlite::{Keep, Prune, PruneReport, PrunedThread};
use selvedge::store::{StoreError, StoreErrorKind};

use super::confirm::confirm;
use crate::args::PruneArgs;
use crate::database::{Database, thread_id};
use crate::failure::Failure;
use crate::render::clean;

/// Shows what would go, asks, removes it, and gives the space back.
pub(crate) async fn run(args: &PruneArgs, database: &Database) -> Result<(), Failure> {
    let thread = args.thread.as_deref().map(thread_id).transpose()?;
    let plan = plan(args, thread)?;
    let failed = |error: StoreError| match (&plan.thread, error.kind()) {
        (Some(thread), StoreErrorKind::NotFound) => database.failure(&error, thread),
        _ => Failure::of_store(&error, None, database.path()),
    };
    let told = database.store().prune(&Prune { dry_run: true, ..plan.clone() }).await.map_err(failed)?;
    for kept in &told.kept {
        println!("{} stays: {}", clean(kept.thread.as_str()), clean(&kept.why));
    }
    if told.removed.is_empty() {
        println!("there is nothing to remove");
        return Ok(());
    }
    if args.dry_run || !args.yes {
        told.removed.iter().for_each(|removed| println!("{}", line(removed, "would go")));
        println!("{}", sum(&told, "would go"));
    }
    if args.dry_run {
        return Ok(());
    }
    if !args.yes && !confirm("remove all this for good?", "prune")? {
        println!("everything stays");
        return Ok(());
    }
    let done = database.store().prune(&plan).await.map_err(failed)?;
    done.removed.iter().for_each(|removed| println!("{}", line(removed, "removed")));
    println!("{}", sum(&done, "removed"));
    derive_again(&done, database).await?;
    if !args.no_shrink {
        let freed = database.store().shrink().await.map_err(failed)?;
        println!("the database is {freed} bytes smaller");
    }
    Ok(())
}

/// What is derived of the threads follows them.
async fn derive_again(done: &PruneReport, database: &Database) -> Result<(), Failure> {
    if !database.sessions_path().exists() {
        return Ok(());
    }
    let sessions = database.sessions().await?;
    for removed in &done.removed {
        let refreshed = sessions.refresh(database.store(), &removed.thread).await;
        refreshed.map_err(|error| Failure::of_sessions(&error, sessions.path()))?;
    }
    Ok(())
}

fn plan(args: &PruneArgs, thread: Option<ThreadId>) -> Result<Prune, Failure> {
    let at = SystemClock.now();
    let keep = match (args.older_than, args.keep) {
        (Some(age), _) => {
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            Keep::Since(Timestamp(at.0.saturating_sub(age)))
        }
        (None, Some(newest)) => Keep::Newest(newest),
        (None, None) => return Err(Failure::usage("say what is to stay").advise("--older-than AGE or --keep N")),
    };
    Ok(Prune { whole_threads: args.threads, keep, thread, at, dry_run: false })
}

fn line(removed: &PrunedThread, what: &str) -> String {
    let thread = clean(removed.thread.as_str());
    match removed.through {
        Some(step) => format!("{thread}: {} turns up to step {step} {what}", removed.turns),
        None => format!("{thread}: the thread with its {} turns {what}", removed.turns),
    }
}

fn sum(report: &PruneReport, what: &str) -> String {
    let turns: u64 = report.removed.iter().map(|removed| removed.turns).sum();
    let bytes: u64 = report.removed.iter().map(|removed| removed.bytes).sum();
    format!("{turns} turns of {} threads, {bytes} bytes of messages {what}", report.removed.len())
}
