//! What the model is asked: the thread's history as a request, read back from the store when it is first needed.
//!
//! Not before: attaching to a thread, or answering a question of it, costs the page that a viewer is shown. From then on
//! it is kept with the resident thread and grows with it.

use selvedge_event::{CallId, Message, ModelRef, Step, ToolResult, ToolStatus};
use selvedge_model::{Projector, Reach};
use selvedge_observer::ThreadObserver;

use super::Thread;
use super::page::Backwards;
use super::state::ThreadState;
use crate::{SendError, StepError, ThreadConfig};

/// How much of a history is read at once for a request.
const READ_BYTES: u64 = 2 * 1024 * 1024;

impl<O: ThreadObserver> Thread<O> {
    /// The projection of the synced history. Reads it, back to the newest compaction, if it is not there yet.
    ///
    /// # Errors
    /// [`StepError::Load`].
    pub(super) async fn projector(&self, config: &ThreadConfig) -> Result<Projector, StepError> {
        let (page, open) = {
            let state = self.state.borrow();
            if let Some(projector) = &state.projector {
                return Ok(projector.clone());
            }
            let open = state.open.iter().map(|open| open.planned.call_id.clone());
            (state.page.clone(), open.collect::<Vec<_>>())
        };
        let (mut reach, mut row) = (Reach::new(open), Row::default());
        let bound = self.env.limits.completions_in_a_row;
        let backwards = Backwards { store: &*self.env.store, thread: &self.id, page: &page, bytes: READ_BYTES };
        let read = backwards.read(Step::MAX, |turn| {
            for message in turn.messages.iter().rev() {
                reach.look_at(message);
                row.look_at(message);
            }
            reach.is_enough() && (row.ended || row.completions >= bound)
        });
        let read = read.await.map_err(|error| SendError::from_store(&self.id, error))?;
        self.found_damaged(&read.quarantined);
        let oldest_first = read.turns.iter().rev().flat_map(|turn| &turn.messages);
        let mut state = self.state.borrow_mut();
        state.completions = row.completions;
        Ok(state.project(config.model.model(), oldest_first))
    }
}

impl ThreadState {
    /// Projects a history for a model. A result whose record is damaged is replaced by a remark: its call is settled, and
    /// would otherwise wait for ever.
    fn project<'a>(&mut self, model: &ModelRef, history: impl Iterator<Item = &'a Message>) -> Projector {
        let mut projector = Projector::new(model.clone());
        history.for_each(|message| projector.push(message));
        let open: Vec<CallId> = projector.open_calls().cloned().collect();
        for call in open.into_iter().filter(|call| self.open_call(call).is_none()) {
            let text = "Error: the record of this result is damaged.";
            projector.push(&Message::ToolResult(ToolResult::text(call, ToolStatus::Error, text).into()));
        }
        // A projection leaves out what stands alone because its counterpart is damaged: that calls for no answer.
        self.unanswered = projector.wants_answer();
        self.projector = Some(projector.clone());
        projector
    }
}

/// Counts the completions at the end of a history since something came from outside, newest first.
#[derive(Debug, Default)]
struct Row {
    completions: u32,
    ended: bool,
}

impl Row {
    fn look_at(&mut self, message: &Message) {
        match message {
            Message::Assistant(_) if !self.ended => self.completions += 1,
            Message::User(_) | Message::SubscriptionEvent(_) => self.ended = true,
            _ => {}
        }
    }
}
