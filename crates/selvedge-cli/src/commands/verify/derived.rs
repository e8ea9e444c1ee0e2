//! What is derived from the histories, against them: sessions, transcripts, the search index.

use std::collections::HashSet;

use selvedge::durable::{Sessions, SessionsError};
use selvedge::prelude::{ConversationStore, ThreadId};
use selvedge::store::StoreErrorKind;

use super::say;
use crate::database::Database;
use crate::failure::Failure;
use crate::render::clean_line;

/// The most characters of a difference, which may quote a whole message.
const LINE: usize = 300;
/// The most characters of a thread's name.
const NAME: usize = 60;

/// Prints what differs, and derives it anew if `repair`. How many differences are left.
///
/// A thread that is merely behind (imported, forked, or of an older program) is no difference: a search brings it up to
/// date. Threads that are `damaged` are left, and not counted again: what was derived before the damage may be all that
/// there is of it.
pub(super) async fn check(repair: bool, damaged: &HashSet<ThreadId>, database: &Database) -> Result<u64, Failure> {
    if !database.sessions_path().exists() {
        return Ok(0);
    }
    let found = async {
        let sessions = database.sessions().await?;
        let failed = |error: SessionsError| Failure::of_sessions(&error, sessions.path());
        let differences = sessions.verify(database.store()).await.map_err(failed)?;
        let (mut left, mut behind, mut seen) = (0, HashSet::new(), HashSet::new());
        for difference in differences {
            let thread = &difference.thread;
            let is_new = seen.insert(thread.clone());
            if is_new && is_behind(&sessions, thread, database).await? {
                behind.insert(thread.clone());
            }
            if behind.contains(thread) {
                continue;
            }
            if damaged.contains(thread) {
                if is_new {
                    let thread = clean_line(thread.as_str(), NAME);
                    say(&format!(
                        "derived, thread {thread}: kept as it was before the damage; a rebuild would drop that"
                    ));
                }
                continue;
            }
            let line = clean_line(&format!("derived, thread {difference}"), LINE);
            if !repair {
                left += 1;
                say(&line);
                continue;
            }
            if is_new {
                sessions.refresh(database.store(), thread).await.map_err(failed)?;
            }
            say(&format!("repaired: {line}"));
        }
        Ok::<u64, Failure>(left)
    };
    match found.await {
        Ok(left) => Ok(left),
        // What the store has to say of its own damage has been said; a file that is derived is no reason to stop.
        Err(failure) => {
            say(&format!("derived: {failure}"));
            Ok(1)
        }
    }
}

/// Whether what is kept of a thread has only not followed yet.
async fn is_behind(sessions: &Sessions, thread: &ThreadId, database: &Database) -> Result<bool, Failure> {
    let session = sessions.session(thread).await.map_err(|error| Failure::of_sessions(&error, sessions.path()))?;
    let record = match database.store().load(thread).await {
        Ok(record) => record,
        Err(error) if error.kind() == StoreErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(database.failure(&error, thread)),
    };
    Ok(session.is_none_or(|session| session.created_at == record.created_at && session.step < record.committed))
}
