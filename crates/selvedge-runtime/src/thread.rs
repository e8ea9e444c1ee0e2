//! One thread: its state, and the steps that it runs. The same in step mode and in local mode.

mod answer;
mod asked;
mod completion;
mod doubt;
mod fold;
mod interrupt;
mod load;
mod page;
mod state;
mod step;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use selvedge_barrier::{Committed, Synced, Turn};
use selvedge_event::{AgentEvent, ChoiceId, OAuthNotice, Step, ThreadId, TurnRecord, View};
use selvedge_observer::{BoxError, ThreadObserver, guard};
use selvedge_store::{ConversationStore, Quarantined, StoreError};

use crate::tool::{Dispatcher, RunningCalls};
use crate::{Clock, Configure, Limits, StepError, ThreadConfig};

pub(crate) use interrupt::Interrupt;
pub(crate) use load::{Loaded, load};
pub(crate) use page::Backwards;
use page::Page;
pub(crate) use state::ThreadState;
pub(crate) use step::StepEnd;

/// How much is read at once of what others have appended.
const MISSED_BYTES: u64 = 1024 * 1024;

/// What the threads of a shard, or of a step runner, share.
pub(crate) struct Env<O> {
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) observer: O,
    pub(crate) configure: Arc<dyn Configure>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    pub(crate) dispatcher: Dispatcher,
}

/// A thread in memory. One task owns it; its state is borrowed between awaits, never across one.
pub(crate) struct Thread<O> {
    pub(crate) id: ThreadId,
    pub(crate) env: Rc<Env<O>>,
    pub(crate) state: RefCell<ThreadState>,
    pub(crate) running: Rc<RunningCalls>,
    pub(crate) interrupt: Interrupt,
    /// What the running step does, for whoever wants to stop it.
    pub(crate) phase: Cell<Phase>,
    /// Answers to choices that a committed step has dealt with, and whether they counted.
    pub(crate) answered: RefCell<Vec<(ChoiceId, bool)>>,
    config: RefCell<Option<Rc<ThreadConfig>>>,
    unfinished: RefCell<Option<Unfinished>>,
    /// Whether the tools have been asked about calls in doubt.
    asked: Cell<bool>,
    /// Records that could not be read, and of which nobody has been told.
    damaged: RefCell<Vec<Quarantined>>,
}

/// A turn that has not come through the barrier.
enum Unfinished {
    /// It is synced; its events are emitted again, then it is committed.
    Synced { turn: Turn<Synced>, answers: Vec<(ChoiceId, bool)> },
    /// It is committed; its calls go out.
    Committed(Turn<Committed>),
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing that could not be abandoned: no step runs, or the model is asked.
    Free,
    /// The barrier, which is never cancelled midway.
    Barrier,
}

impl<O: ThreadObserver> Thread<O> {
    /// A thread that does not exist yet.
    pub(crate) fn new(id: ThreadId, env: Rc<Env<O>>) -> Self {
        let state = ThreadState::new(id, Page::new(env.limits.page));
        Self::with_state(state, env, Rc::default(), None)
    }

    /// A thread as it was loaded.
    pub(crate) fn from_loaded(loaded: Loaded, env: Rc<Env<O>>, running: Rc<RunningCalls>) -> Self {
        let thread = Self::with_state(loaded.state, env, running, loaded.unfinished);
        thread.found_damaged(&loaded.quarantined);
        thread
    }

    fn with_state(
        state: ThreadState,
        env: Rc<Env<O>>,
        running: Rc<RunningCalls>,
        unfinished: Option<Unfinished>,
    ) -> Self {
        Self {
            id: state.id.clone(),
            env,
            state: RefCell::new(state),
            running,
            interrupt: Interrupt::default(),
            phase: Cell::new(Phase::Free),
            answered: RefCell::default(),
            config: RefCell::new(None),
            unfinished: RefCell::new(unfinished),
            asked: Cell::new(false),
            damaged: RefCell::default(),
        }
    }

    /// Whether a step would do anything.
    pub(crate) fn is_runnable(&self) -> bool {
        let state = self.state.borrow();
        self.unfinished.borrow().is_some()
            || !state.inbox.is_empty()
            || state.open.iter().any(|open| open.in_doubt)
            || (state.unanswered && state.open.is_empty())
    }

    /// Whether every call that was sent out here has its result, if only in the inbox.
    pub(crate) fn calls_have_ended(&self) -> bool {
        let state = self.state.borrow();
        let mut running = state.open.iter().map(|open| &open.planned.call_id).filter(|id| self.running.contains(id));
        running.all(|id| state.inbox.iter().any(|entry| entry.input.result_of() == Some(id)))
    }

    /// Whether a synced turn waits for its commit.
    pub(crate) fn is_uncommitted(&self) -> bool {
        matches!(*self.unfinished.borrow(), Some(Unfinished::Synced { .. }))
    }

    /// Emits an event of the feed.
    ///
    /// # Errors
    /// When the observer panics.
    fn emit(&self, event: &AgentEvent) -> Result<(), StepError> {
        guard(|| self.env.observer.on_event(self.id.as_str(), event)).map_err(|panic| StepError::Observer(panic.into()))
    }

    /// Emits events of the feed, in order, and takes them. Of those after a panic nobody hears: their step has failed.
    ///
    /// # Errors
    /// When the observer panics.
    fn emit_all(&self, events: &mut Vec<AgentEvent>) -> Result<(), StepError> {
        if events.is_empty() {
            return Ok(());
        }
        let (observer, id) = (&self.env.observer, self.id.as_str());
        let emitted = guard(|| events.drain(..).for_each(|event| observer.on_event(id, &event)));
        emitted.map_err(|panic| StepError::Observer(panic.into()))
    }

    /// Emits an event that nothing depends on: a panic of the observer is logged.
    pub(crate) fn emit_lossy(&self, event: &AgentEvent) {
        if let Err(error) = self.emit(event) {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::error!(thread = %self.id, cause, "the observer panicked at an event; the thread goes on");
        }
    }

    fn found_damaged(&self, records: &[Quarantined]) {
        self.damaged.borrow_mut().extend(records.iter().cloned());
    }

    /// Reports records that could not be read, to viewers and the log; what they are, for whoever else is to know.
    pub(crate) fn report_damaged(&self) -> Vec<String> {
        let records = self.damaged.take();
        let records = records.iter().map(|record| format!("{}: {}", record.place, record.reason));
        records
            .inspect(|record| {
                tracing::error!(thread = %self.id, record, "a record cannot be read and is left as it is");
                self.info(format!("a record of this thread cannot be read and is left as it is: {record}"));
            })
            .collect()
    }

    /// The turns that were appended after step `seen`, by somebody else, oldest first. A turn that waits for its commit
    /// is left to its resumption.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn turns_since(&self, seen: Step) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        let (page, newest) = {
            let state = self.state.borrow();
            (state.page.clone(), if self.is_uncommitted() { state.step.saturating_sub(1) } else { Step::MAX })
        };
        let backwards = Backwards { store: &*self.env.store, thread: &self.id, page: &page, bytes: MISSED_BYTES };
        let read = backwards.read(newest, |turn| turn.step <= seen.saturating_add(1)).await?;
        self.found_damaged(&read.quarantined);
        Ok(read.turns.into_iter().rev().filter(|turn| turn.step > seen).collect())
    }

    /// Emits turns that somebody else appended.
    pub(crate) fn emit_turns(&self, turns: &[Arc<TurnRecord>]) {
        for turn in turns {
            selvedge_event::replay::turn(turn).iter().for_each(|event| self.emit_lossy(event));
        }
    }

    /// Brings viewers and the loaded state together about sign-ins and views. Where nobody has appended anything since
    /// step `seen`, what viewers were shown holds; otherwise they are shown what somebody else has added.
    pub(crate) fn catch_up_on_shown(&self, seen: Step, oauth: Vec<OAuthNotice>, views: Vec<View>) {
        let (newer_oauth, newer_views) = {
            let mut state = self.state.borrow_mut();
            if state.step == seen {
                (state.oauth, state.views) = (oauth, views);
                return;
            }
            (state.oauth.clone(), state.views.clone())
        };
        for OAuthNotice { call_id, auth_url } in newer_oauth.into_iter().filter(|notice| !oauth.contains(notice)) {
            self.emit_lossy(&AgentEvent::OAuthRequired { call_id, auth_url });
        }
        for view in newer_views.into_iter().filter(|view| !views.contains(view)) {
            self.emit_lossy(&AgentEvent::ViewUpdated(view));
        }
    }

    /// Shows something for a moment.
    pub(crate) fn info(&self, text: impl Into<selvedge_event::Text>) {
        self.emit_lossy(&AgentEvent::Info { text: text.into(), call_id: None });
    }

    /// The thread's configuration, resolved when it is first needed.
    async fn config(&self) -> Result<Rc<ThreadConfig>, StepError> {
        if let Some(config) = &*self.config.borrow() {
            return Ok(config.clone());
        }
        let resolved = self.env.configure.configure(&self.id).await;
        let config = Rc::new(resolved.map_err(|error: BoxError| StepError::Configure(error))?);
        *self.config.borrow_mut() = Some(config.clone());
        Ok(config)
    }
}
