//! `selvedge fork`: a new thread that shares a thread's history.

use std::collections::HashSet;

use selvedge::event::{CallId, Message, Step};
use selvedge::prelude::{ConversationStore, ThreadId};
use selvedge::runtime::{Clock, SystemClock};
use selvedge::store::StoreErrorKind;

use super::show::history;
use crate::database::Database;
use crate::failure::Failure;

/// Forks a thread at a step at which no call is open.
pub(crate) async fn run(
    thread: &ThreadId,
    new: &ThreadId,
    at: Option<Step>,
    database: &Database,
) -> Result<(), Failure> {
    let record = database.load(thread).await?;
    let newest = record.head.step;
    let page = history(thread, database).await?;
    let open_at = |step: Step| {
        let turns = page.turns.iter().take_while(move |turn| turn.step <= step);
        open_calls(turns.flat_map(|turn| &turn.messages))
    };
    let step = match at {
        Some(step) if step > newest => {
            return Err(
                Failure::new(format!("{thread} has only {newest} steps")).advise("choose an earlier one with --at")
            );
        }
        Some(step) if open_at(step) => {
            return Err(Failure::new(format!("a call is open at step {step} of {thread}"))
                .advise("choose another step with --at; without it, the newest possible one is taken"));
        }
        Some(step) => step,
        // All open calls were made by one step: the model is not asked while a call is open.
        None => record.open_calls.iter().map(|open| open.step.saturating_sub(1)).min().unwrap_or(newest),
    };
    let forked = database.store().fork(thread, step, new, SystemClock.now()).await;
    forked.map_err(|error| {
        let about = if error.kind() == StoreErrorKind::Exists { new } else { thread };
        database.failure(&error, about)
    })?;
    println!("{new} shares {thread} up to step {step}");
    Ok(())
}

fn open_calls<'a>(messages: impl Iterator<Item = &'a Message>) -> bool {
    let mut open: HashSet<&CallId> = HashSet::new();
    for message in messages {
        match message {
            Message::Assistant(assistant) => open.extend(assistant.calls().map(|call| &call.id)),
            Message::ToolResult(result) => {
                open.remove(&result.call_id);
            }
            _ => {}
        }
    }
    !open.is_empty()
}
