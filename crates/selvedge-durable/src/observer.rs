//! [`DurableObserver`]: each function of the trait, and what it keeps.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use selvedge_event::{AgentEvent, ReplaySnapshot, ThreadId, UserChoice};
use selvedge_live::{Hub, Live, LiveRequest};
use selvedge_observer::{BoxError, ThreadObserver};
use selvedge_store::ConversationStore;

use crate::op::{Answer, Op};
use crate::rebuild::{pending, rebuild_thread};
use crate::step_rows::{StepFold, StepRows};
use crate::{Sessions, SessionsError};

/// Keeps what a product needs of its threads beside their histories: see the [crate's page](crate).
///
/// Made on each shard: `.observer(move || DurableObserver::new(sessions.clone(), store.clone(), &live))`. In memory there
/// is only what running steps have shown, and what is shown live of threads that somebody watches.
pub struct DurableObserver {
    sessions: Sessions,
    store: Arc<dyn ConversationStore>,
    /// What the running step of each thread has shown. A thread between two steps is not in here.
    running: RefCell<HashMap<ThreadId, StepFold>>,
    /// Shows the threads to whoever watches.
    hub: Hub,
}

impl DurableObserver {
    /// An observer for one shard. `store` is where the threads are durable: what is kept of a thread that ran elsewhere,
    /// or that was forked, is derived from its history. Who watches a thread does so through `live`.
    pub fn new(sessions: Sessions, store: Arc<dyn ConversationStore>, live: &Live) -> Self {
        Self { sessions, store, running: RefCell::default(), hub: live.hub() }
    }

    /// Keeps a step. Where it does not follow on what is kept, the thread is derived from its history, which holds the
    /// step too.
    async fn keep(&self, thread: &ThreadId, rows: StepRows) -> Result<(), SessionsError> {
        let created_at = match rows.step {
            1 => Some(self.store.load(thread).await?.created_at),
            _ => None,
        };
        match self.sessions.write(Op::Commit { thread: thread.clone(), rows, created_at }).await? {
            Answer::Kept { choices: false } => Ok(()),
            // An answered choice is not dismissed: where choices wait, the store tells which of them still do.
            Answer::Kept { choices: true } => self.keep_choices(thread).await,
            _gap => rebuild_thread(&self.sessions, &*self.store, thread).await,
        }
    }

    async fn keep_choices(&self, thread: &ThreadId) -> Result<(), SessionsError> {
        let waiting = pending(&self.store.load(thread).await?);
        if self.sessions.choices(thread).await? != waiting {
            self.sessions.write(Op::Choices { thread: thread.clone(), choices: waiting }).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl ThreadObserver for DurableObserver {
    type SubscribeRequest = LiveRequest;

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        let mut running = self.running.borrow_mut();
        match running.get_mut(thread_id) {
            _ if StepFold::is_voided_by(event) => drop(running.remove(thread_id)),
            _ if !StepFold::concerns(event) => {}
            Some(fold) => fold.apply(event),
            None => running.entry(thread_id.into()).or_default().apply(event),
        }
        self.hub.event(thread_id, event);
    }

    async fn on_user_choice_required(&self, thread_id: &str, choice: &UserChoice) -> Result<(), BoxError> {
        let thread = ThreadId::from(thread_id);
        let require = || Op::Require { thread: thread.clone(), choice: choice.clone() };
        if self.sessions.write(require()).await? == Answer::Gap {
            rebuild_thread(&self.sessions, &*self.store, &thread).await?;
            self.sessions.write(require()).await?;
        }
        // Kept first, for whoever is shown it may answer it.
        self.hub.choice_required(thread_id, choice);
        Ok(())
    }

    async fn on_user_choice_dismissed(&self, thread_id: &str, choice_id: &str) -> Result<(), BoxError> {
        self.sessions.write(Op::Dismiss { thread: thread_id.into(), choice: choice_id.into() }).await?;
        self.hub.choice_dismissed(thread_id, choice_id);
        Ok(())
    }

    async fn on_commit(&self, thread_id: &str) -> Result<(), BoxError> {
        let thread = ThreadId::from(thread_id);
        // Taken out, not read: whatever becomes of this commit, the step's events come again before the next try.
        let shown = self.running.borrow_mut().remove(thread_id).and_then(StepFold::finish);
        let rows = match shown {
            Some(rows) => rows,
            // Nothing that it showed says which step it is: its inputs were questions, answers, sign-ins or views, or it
            // is committed again and had appended nothing. The store knows.
            None => StepRows::empty(self.store.head(&thread).await?.step),
        };
        self.keep(&thread, rows).await?;
        // ORDER: last, with no await after it: whoever attaches finds the step committed, in its snapshot or in a frame.
        self.hub.committed(thread_id);
        Ok(())
    }

    fn on_subscribe(&self, thread_id: &str, request: LiveRequest, snapshot: ReplaySnapshot) {
        self.hub.subscribe(thread_id, request, snapshot);
    }
}

impl std::fmt::Debug for DurableObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DurableObserver").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}
