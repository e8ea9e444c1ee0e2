//! The sessions beside the database, brought up to date.

use selvedge::durable::{Sessions, SessionsError};
use selvedge::prelude::ConversationStore;
use selvedge::store::ThreadsAfter;

use crate::database::Database;
use crate::failure::Failure;

/// Threads that are looked at at once.
const PAGE: usize = 500;

/// Derives what is missing or behind: threads that were imported or forked, or ran before there were sessions. A thread
/// that a chat is driving elsewhere keeps itself up to date.
pub(crate) async fn catch_up(sessions: &Sessions, database: &Database) -> Result<(), Failure> {
    let failed = |error: SessionsError| Failure::of_sessions(&error, sessions.path());
    let mut after = None;
    loop {
        let page = database.store().threads(ThreadsAfter { after, limit: PAGE }).await;
        let page = page.map_err(|error| Failure::of_store(&error, None, database.path()))?;
        for thread in &page {
            let kept = sessions.session(&thread.thread).await.map_err(failed)?.map_or(0, |session| session.step);
            if kept < thread.step {
                sessions.refresh(database.store(), &thread.thread).await.map_err(failed)?;
            }
        }
        after = page.last().map(|last| last.thread.clone());
        if page.len() < PAGE {
            return Ok(());
        }
    }
}
