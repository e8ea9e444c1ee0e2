//! From the store into memory, and the recovery of what a crash left open.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use selvedge_barrier::{Resumed, ResumedTurn, resume};
use selvedge_event::{Arguments, CallId, Message, Step, ThreadId, ToolCall, TurnRecord};
use selvedge_model::answer_wanted;
use selvedge_store::{ConversationStore, Owner, PlannedCall, Quarantined, StoreError};

use super::Unfinished;
use super::page::{Backwards, Page};
use super::state::{Open, ThreadState};
use crate::tool::RunningCalls;

/// How much is read back at once to find a single turn.
const LOOK_BYTES: u64 = 64 * 1024;

/// A thread as it was found.
pub(crate) struct Loaded {
    pub(crate) state: ThreadState,
    pub(super) unfinished: Option<Unfinished>,
    /// Records that could not be read.
    pub(super) quarantined: Vec<Quarantined>,
}

/// Claims a thread and loads it: its state, and the latest page of its history, of about `page` bytes.
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
    page: usize,
) -> Result<Loaded, StoreError> {
    let epoch = store.claim(id, owner).await?;
    let mut record = store.load(id).await?;
    record.committed = record.committed.max(committed.min(record.head.step));
    let newest = store.history(id, None, page as u64).await?;
    let mut quarantined = std::mem::take(&mut record.quarantined);
    quarantined.extend(newest.quarantined.iter().cloned());
    let page = Page::found(newest, page);
    let backwards = Backwards { store, thread: id, page: &page, bytes: LOOK_BYTES };
    let calls = find_calls(&backwards, &record.open_calls).await?;
    let unanswered = is_unanswered(&backwards).await?;

    let found = |id: &CallId| calls.get(id).cloned();
    let answered: HashSet<&CallId> = record.inbox.iter().filter_map(|entry| entry.input.result_of()).collect();
    let mut lost = record.clone();
    // A call whose answer waits in the inbox is not lost: a step will settle it, and it need not go out again.
    lost.open_calls.retain(|open| !running.contains(&open.call_id) && !answered.contains(&open.call_id));
    let last = page.turns().last().filter(|turn| turn.step == record.head.step).cloned();
    let Resumed { turn, in_doubt } = resume(&lost, epoch, last, |_, id| found(id));

    let open = std::mem::take(&mut record.open_calls);
    let mut state = ThreadState::loaded(record, epoch, page);
    state.unanswered = unanswered;
    state.open = open
        .into_iter()
        .map(|planned| Open {
            call: found(&planned.call_id).unwrap_or_else(|| damaged(&planned)),
            in_doubt: in_doubt.contains(&planned.call_id),
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

/// Open calls in the history. They may be older than the page: a tool may take its time while others talk.
async fn find_calls(
    backwards: &Backwards<'_>,
    open: &[PlannedCall],
) -> Result<HashMap<CallId, Arc<ToolCall>>, StoreError> {
    let mut found = HashMap::new();
    let steps: BTreeSet<Step> = open.iter().map(|call| call.step).collect();
    for step in steps {
        let read = backwards.read(step, |_| true).await?;
        for message in read.turns.iter().flat_map(|turn| &turn.messages) {
            let Message::Assistant(assistant) = message else { continue };
            let calls = assistant.calls().filter(|call| open.iter().any(|open| open.call_id == call.id));
            found.extend(calls.map(|call| (call.id.clone(), call.clone())));
        }
    }
    Ok(found)
}

/// Whether a history calls for an answer: its newest message that says so, or says that it does not, tells.
async fn is_unanswered(backwards: &Backwards<'_>) -> Result<bool, StoreError> {
    let mut wanted = None;
    let mut look = |turn: &TurnRecord| {
        wanted = turn.messages.iter().rev().find_map(answer_wanted);
        wanted.is_some()
    };
    backwards.read(Step::MAX, &mut look).await?;
    Ok(wanted.unwrap_or(false))
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
