//! From the store into memory, and the recovery of what a crash left open.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use selvedge_barrier::{Resumed, ResumedTurn, resume};
use selvedge_event::{Arguments, CallId, History, Input, Message, Step, ThreadId, ToolCall};
use selvedge_store::{ConversationStore, Owner, PlannedCall, StoreError};

use super::Unfinished;
use super::state::{Open, ThreadState};
use crate::tool::RunningCalls;

/// How much of a history is read at once.
const PAGE_BYTES: u64 = 4 * 1024 * 1024;

/// A thread as it was found.
pub(crate) struct Loaded {
    pub(crate) state: ThreadState,
    pub(super) unfinished: Option<Unfinished>,
    /// Records that could not be read, for people.
    pub(crate) quarantined: Vec<String>,
}

/// Claims a thread and loads it.
///
/// `running` holds the calls that this process runs for the thread: only the other open calls are anybody's loss.
/// `committed` is the newest step that this process has seen committed: the store may not know of it yet.
///
/// # Errors
/// The store's, `NotFound` and `Owned` among them.
pub(crate) async fn load(
    store: &dyn ConversationStore,
    id: &ThreadId,
    owner: &Owner,
    running: &RunningCalls,
    committed: Step,
) -> Result<Loaded, StoreError> {
    let epoch = store.claim(id, owner).await?;
    let mut record = store.load(id).await?;
    record.committed = record.committed.max(committed.min(record.head.step));
    let mut quarantined: Vec<String> = record.quarantined.iter().map(describe).collect();
    let history = read_history(store, id, &mut quarantined).await?;

    let calls = find_calls(&history, &record.open_calls);
    let found = |id: &CallId| calls.get(id).cloned();
    let answered: HashSet<CallId> = record.inbox.iter().filter_map(|entry| answered(&entry.input)).collect();
    let mut lost = record.clone();
    // A call whose answer waits in the inbox is not lost: a step will settle it, and it need not go out again.
    lost.open_calls.retain(|open| !running.contains(&open.call_id) && !answered.contains(&open.call_id));
    let last = history.last().filter(|turn| turn.step == record.head.step).cloned();
    let Resumed { turn, in_doubt } = resume(&lost, epoch, last, |_, id| found(id));

    let open = std::mem::take(&mut record.open_calls);
    let mut state = ThreadState::loaded(record, epoch, history);
    state.open = open
        .into_iter()
        .map(|planned| Open {
            call: found(&planned.call_id).unwrap_or_else(|| damaged(&planned)),
            in_doubt: in_doubt.contains(&planned.call_id)
                || answered.contains(&planned.call_id) && !running.contains(&planned.call_id),
            planned,
        })
        .collect();
    let again = lost.open_calls.len() > in_doubt.len();
    let unfinished = match turn {
        ResumedTurn::Synced(turn) => Some(Unfinished::Synced { turn, answers: Vec::new() }),
        ResumedTurn::Committed(turn) if again => Some(Unfinished::Committed(turn)),
        ResumedTurn::Committed(_) => None,
    };
    tracing::debug!(thread = %id, step = state.step, open = state.open.len(), "loaded");
    Ok(Loaded { state, unfinished, quarantined })
}

async fn read_history(
    store: &dyn ConversationStore,
    id: &ThreadId,
    quarantined: &mut Vec<String>,
) -> Result<History, StoreError> {
    let (mut pages, mut before) = (Vec::new(), None);
    loop {
        let page = store.history(id, before, PAGE_BYTES).await?;
        quarantined.extend(page.quarantined.iter().map(describe));
        before = page.older;
        pages.push(page.turns);
        if before.is_none() {
            return Ok(pages.into_iter().rev().flatten().collect());
        }
    }
}

/// The call that an input answers.
fn answered(input: &Input) -> Option<CallId> {
    match input {
        Input::ToolResult(reply) => Some(reply.call_id.clone()),
        _ => None,
    }
}

fn describe(record: &selvedge_store::Quarantined) -> String {
    format!("{}: {}", record.place, record.reason)
}

/// Open calls in the history; they all stand near its end.
fn find_calls(history: &History, open: &[PlannedCall]) -> HashMap<CallId, Arc<ToolCall>> {
    let mut found = HashMap::new();
    let Some(oldest) = open.iter().map(|call| call.step).min() else { return found };
    for turn in history.iter_newest_first().take_while(|turn| turn.step >= oldest) {
        for message in &turn.messages {
            let Message::Assistant(assistant) = message else { continue };
            let calls = assistant.calls().filter(|call| open.iter().any(|open| open.call_id == call.id));
            found.extend(calls.map(|call| (call.id.clone(), call.clone())));
        }
    }
    found
}

/// Stands for a call whose record cannot be read: it is open in the books, and settled as unknown.
fn damaged(planned: &PlannedCall) -> Arc<ToolCall> {
    Arc::new(ToolCall {
        id: planned.call_id.clone(),
        provider_id: None,
        name: planned.tool.clone(),
        arguments: Arguments::Object("{}".into()),
        display_as: None,
        native: None,
    })
}
