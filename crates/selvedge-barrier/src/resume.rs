//! Where a loaded thread stands in the barrier, and how it goes on from there.

use std::sync::Arc;

use selvedge_event::{CallId, Step, ToolCall, TurnRecord};
use selvedge_store::{Changes, Epoch, ThreadRecord, ToolDelivery};

use crate::{Committed, Synced, Turn, TurnDraft};

/// A thread's place in the barrier, as it was found.
#[derive(Debug)]
pub struct Resumed {
    /// The newest step.
    pub turn: ResumedTurn,
    /// Open calls that may have reached their tool and must not reach it twice, or whose record is damaged: nobody
    /// dispatches them again. They are to be settled as "outcome unknown".
    pub in_doubt: Vec<CallId>,
}

/// The newest step in the phase in which it was found. Its permits are those of all open calls that may go out again.
#[derive(Debug)]
pub enum ResumedTurn {
    /// Not known to be committed: emit its events again, then commit.
    Synced(Turn<Synced>),
    /// Committed; its calls may not all have gone out.
    Committed(Turn<Committed>),
}

/// Finds a thread's place in the barrier after it has been loaded.
///
/// `last` is the turn of the newest step, if that step appended anything, and `call` finds an open call in the history.
pub fn resume(
    thread: &ThreadRecord,
    epoch: Epoch,
    last: Option<Arc<TurnRecord>>,
    call: impl Fn(Step, &CallId) -> Option<Arc<ToolCall>>,
) -> Resumed {
    let step = thread.head.step;
    let (mut calls, mut in_doubt) = (Vec::new(), Vec::new());
    for open in &thread.open_calls {
        match (open.delivery, call(open.step, &open.call_id)) {
            (ToolDelivery::AtLeastOnce, Some(call)) => calls.push((call, ToolDelivery::AtLeastOnce, 2)),
            _ => in_doubt.push(open.call_id.clone()),
        }
    }
    // Choices that still wait are put before the observer again: the hook may not have returned for them.
    let pending = thread.choices.iter().filter(|(_, resolution)| resolution.is_none());
    let choices_opened = pending.map(|(choice, _)| choice.clone()).collect();
    let empty = || Arc::new(TurnRecord { step, at: thread.created_at, messages: Vec::new() });
    let draft = TurnDraft {
        thread: thread.thread.clone(),
        epoch,
        record: last.unwrap_or_else(empty),
        token: thread.head.token,
        committed: thread.committed,
        changes: Changes { choices_opened, ..Changes::default() },
    };
    let turn = Turn::found(draft, calls);
    let turn = if thread.committed < step {
        ResumedTurn::Synced(turn)
    } else {
        ResumedTurn::Committed(Turn::found_committed(turn))
    };
    Resumed { turn, in_doubt }
}
