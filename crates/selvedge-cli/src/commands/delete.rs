//! `selvedge delete`: a thread with all that is kept of it.

use selvedge::prelude::{ConversationStore, ThreadId};

use super::confirm::confirm;
use crate::database::Database;
use crate::failure::Failure;

/// Deletes a thread, having asked.
pub(crate) async fn run(thread: &ThreadId, yes: bool, database: &Database) -> Result<(), Failure> {
    let record = database.load(thread).await?;
    if !yes && !confirm(&format!("delete {thread}, which has {} steps, for good?", record.head.step), "delete")? {
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
