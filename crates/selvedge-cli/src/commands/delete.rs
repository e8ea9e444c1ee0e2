//! `selvedge delete`: a thread with all that is kept of it.

use std::io::{IsTerminal, Write};

use selvedge::prelude::{ConversationStore, ThreadId};

use crate::database::Database;
use crate::failure::Failure;

/// Deletes a thread, having asked.
pub(crate) async fn run(thread: &ThreadId, yes: bool, database: &Database) -> Result<(), Failure> {
    let record = database.load(thread).await?;
    if !yes && !asks(thread, record.head.step)? {
        println!("{thread} stays");
        return Ok(());
    }
    database.store().delete(thread).await.map_err(|error| database.failure(&error, thread))?;
    if database.sessions_path().exists() {
        let sessions = database.sessions().await?;
        sessions.forget(thread).await.map_err(|error| Failure::of_sessions(&error, sessions.path()))?;
    }
    println!("{thread} is deleted");
    Ok(())
}

fn asks(thread: &ThreadId, steps: u64) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("nobody is there to confirm").advise("say --yes to delete without being asked"));
    }
    print!("delete {thread}, which has {steps} steps, for good? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
