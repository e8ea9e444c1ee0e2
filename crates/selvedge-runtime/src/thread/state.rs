//! What a resident thread knows: plain data, changed synchronously, read by whoever attaches.

use std::collections::VecDeque;
use std::sync::Arc;

use selvedge_event::{
    AgentEvent, CallId, ChoiceResolution, Message, OAuthNotice, OpenCall, PartialTurn, ReplaySnapshot, Step,
    Subscription, ThreadId, Timestamp, ToolCall, TurnRecord, Usage, UserChoice, View,
};
use selvedge_model::{Projector, answer_wanted};
use selvedge_store::{Changes, Epoch, InboxEntry, PlannedCall, ThreadRecord};

use super::answer::Answer;
use super::page::Page;

/// A thread's state in memory. A step costs what its turn costs: nothing here is proportional to the history but what the
/// model is asked, which is shared, and there only once it is asked.
#[derive(Debug)]
pub(crate) struct ThreadState {
    pub(crate) id: ThreadId,
    /// When the thread was created: the arrival of its first input.
    pub(crate) created_at: Timestamp,
    /// The epoch of the claim; `None` as long as the thread does not exist.
    pub(crate) epoch: Option<Epoch>,
    /// The newest synced step.
    pub(crate) step: Step,
    /// The newest step whose commit is known.
    pub(crate) committed: Step,
    /// The latest part of the history.
    pub(crate) page: Page,
    /// The history as a request; `None` until the model is to be asked.
    pub(crate) projector: Option<Projector>,
    pub(crate) open: Vec<Open>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) subscriptions: Vec<Subscription>,
    pub(crate) oauth: Vec<OAuthNotice>,
    pub(crate) views: Vec<View>,
    pub(crate) usage: Usage,
    /// Accepted inputs that no synced step has taken.
    pub(crate) inbox: VecDeque<InboxEntry>,
    /// What the running step has shown.
    pub(crate) partial: Option<Box<Partial>>,
    /// Completions since the last input from outside; known together with `projector`.
    pub(crate) completions: u32,
    /// Whether the history calls for an answer of the model.
    pub(crate) unanswered: bool,
}

/// A call that is not settled.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) planned: PlannedCall,
    pub(crate) call: Arc<ToolCall>,
    /// It was found open after a crash: it may have run, and is not dispatched again.
    pub(crate) in_doubt: bool,
}

/// A choice of an open call.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) choice: UserChoice,
    pub(crate) resolution: Option<ChoiceResolution>,
}

/// What a step has shown and not synced.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) step: Step,
    pub(crate) messages: Vec<Message>,
    /// The attempt that runs, and its answer so far.
    pub(crate) attempt: Option<(u32, Answer)>,
}

impl ThreadState {
    /// A thread that does not exist yet.
    pub(crate) fn new(id: ThreadId, page: Page) -> Self {
        Self {
            id,
            created_at: Timestamp::default(),
            epoch: None,
            step: 0,
            committed: 0,
            page,
            projector: None,
            open: Vec::new(),
            choices: Vec::new(),
            subscriptions: Vec::new(),
            oauth: Vec::new(),
            views: Vec::new(),
            usage: Usage::default(),
            inbox: VecDeque::new(),
            partial: None,
            completions: 0,
            unanswered: false,
        }
    }

    /// A thread as its store has it. Its open calls are added by recovery, and whether it calls for an answer.
    pub(crate) fn loaded(record: ThreadRecord, epoch: Epoch, page: Page) -> Self {
        let choices = record.choices.into_iter().map(|(choice, resolution)| Choice { choice, resolution });
        Self {
            created_at: record.created_at,
            epoch: Some(epoch),
            step: record.head.step,
            committed: record.committed,
            choices: choices.collect(),
            subscriptions: record.subscriptions,
            oauth: record.oauth,
            views: record.views,
            usage: record.usage,
            inbox: record.inbox.into(),
            ..Self::new(record.thread, page)
        }
    }

    /// What a subscriber must know now.
    pub(crate) fn snapshot(&self) -> ReplaySnapshot {
        // A call whose result the running step has shown waits for nothing, though it is not settled before the sync.
        let settled = |id: &CallId| self.partial.as_ref().is_some_and(|partial| partial.has_result_of(id));
        let open = self.open.iter().filter(|open| !settled(&open.planned.call_id));
        let pending = self.choices.iter().filter(|choice| choice.resolution.is_none());
        let pending = pending.filter(|choice| !settled(&choice.choice.call_id));
        ReplaySnapshot {
            thread_id: self.id.clone(),
            created_at: self.created_at,
            step: self.step,
            committed: self.committed,
            history: self.page.turns().clone(),
            older: self.page.older(),
            partial: self.partial.as_ref().map(|partial| partial.snapshot()),
            open_calls: open.map(Open::shown).collect(),
            choices: pending.map(|choice| choice.choice.clone()).collect(),
            oauth: self.oauth.clone(),
            views: self.views.clone(),
            usage: self.usage,
        }
    }

    /// Inputs are accepted.
    pub(crate) fn take_in(&mut self, entries: Vec<InboxEntry>) {
        if self.inbox.is_empty() {
            self.inbox = entries.into();
        } else {
            self.inbox.extend(entries);
        }
    }

    /// The turn is durable: it moves from the partial turn to the history, and what it settles and opens with it.
    pub(crate) fn apply_synced(&mut self, turn: &Arc<TurnRecord>, changes: &Changes, opened: Vec<Open>) {
        self.step = turn.step;
        self.partial = None;
        for message in &turn.messages {
            self.unanswered = answer_wanted(message).unwrap_or(self.unanswered);
        }
        if !turn.messages.is_empty() {
            self.page.push(turn.clone());
        }
        self.open.retain(|open| !changes.settled.contains(&open.planned.call_id));
        self.open.extend(opened);
        self.choices.retain(|choice| !changes.settled.contains(&choice.choice.call_id));
        self.oauth.retain(|notice| !changes.settled.contains(&notice.call_id));
        self.subscriptions.retain(|known| !changes.subscriptions_closed.contains(&known.call_id));
        self.subscriptions.extend(changes.subscriptions_opened.iter().cloned());
        self.usage += changes.usage;
        for closed in &changes.choices_closed {
            let known = self.choices.iter_mut().find(|choice| choice.choice.id == closed.id);
            if let Some(choice) = known {
                choice.resolution = Some(closed.clone());
            }
        }
        // A step takes from the front: what waits behind costs it nothing.
        while self.inbox.front().is_some_and(|entry| changes.consumed.contains(&entry.seq)) {
            self.inbox.pop_front();
        }
        if self.inbox.is_empty() {
            // A thread that waits keeps no room for inputs.
            self.inbox = VecDeque::new();
        }
    }

    /// The turn is committed: its choices may be shown from now on.
    pub(crate) fn apply_committed(&mut self, step: Step, changes: &Changes) {
        self.committed = step;
        for choice in &changes.choices_opened {
            if !self.choices.iter().any(|known| known.choice.id == choice.id) {
                let resolution = changes.choices_closed.iter().find(|closed| closed.id == choice.id).cloned();
                self.choices.push(Choice { choice: choice.clone(), resolution });
            }
        }
    }

    /// What an event says of sign-ins and views holds for every later snapshot, also if its step does not come through:
    /// viewers have seen it, and see it again when the step is run again.
    pub(crate) fn apply_shown(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::ToolResult { result, .. } => self.oauth.retain(|notice| notice.call_id != result.call_id),
            AgentEvent::OAuthRequired { call_id, auth_url } => {
                self.oauth.retain(|notice| notice.call_id != *call_id);
                self.oauth.push(OAuthNotice { call_id: call_id.clone(), auth_url: auth_url.clone() });
            }
            AgentEvent::ViewUpdated(view) => {
                self.views.retain(|known| known.view_type != view.view_type);
                self.views.push(view.clone());
            }
            _ => {}
        }
    }

    /// The newest step at which no call is open: where the thread can be forked.
    pub(crate) fn newest_boundary(&self) -> Step {
        // All open calls were made by one step: the model is not asked while a call is open.
        self.open.iter().map(|open| open.planned.step.saturating_sub(1)).min().unwrap_or(self.step)
    }

    /// Whether a completion runs, or a call is open: whether an interruption has anything to interrupt.
    pub(crate) fn is_busy(&self) -> bool {
        self.partial.is_some() || !self.open.is_empty()
    }

    /// The open call of an id.
    pub(crate) fn open_call(&self, id: &CallId) -> Option<&Open> {
        self.open.iter().find(|open| open.planned.call_id == *id)
    }
}

impl Open {
    fn shown(&self) -> OpenCall {
        OpenCall { call_id: self.planned.call_id.clone(), name: self.planned.tool.clone() }
    }
}

impl Partial {
    pub(crate) fn new(step: Step) -> Self {
        Self { step, messages: Vec::new(), attempt: None }
    }

    fn has_result_of(&self, id: &CallId) -> bool {
        self.messages.iter().any(|message| matches!(message, Message::ToolResult(result) if result.call_id == *id))
    }

    fn snapshot(&self) -> PartialTurn {
        let (blocks, thinking) = self.attempt.as_ref().map(|(_, answer)| answer.so_far()).unwrap_or_default();
        PartialTurn {
            step: self.step,
            messages: self.messages.clone(),
            attempt: self.attempt.as_ref().map(|(attempt, _)| *attempt),
            blocks,
            thinking,
        }
    }
}
