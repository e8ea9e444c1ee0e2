//! One step: inbox → fold → completion → sync → commit → dispatch.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;

use selvedge_barrier::{CommitFailed, Committed, Staged, SyncFailed, Synced, Turn, TurnDraft};
use selvedge_event::{
    AgentEvent, Arguments, AssistantMessage, ChoiceEnd, ChoiceId, Discard, FailureKind, Message, OAuthNotice, Outcome,
    Step, ToolCall, ToolResult, ToolStatus, TurnRecord, Usage, replay,
};
use selvedge_model::{ModelRequest, Projector};
use selvedge_observer::{ThreadObserver, guard_hook};
use selvedge_store::{Changes, InboxEntry, PlannedCall, StoreErrorKind, SyncToken};

use super::completion::failed;
use super::fold::{Folded, Shown, fold};
use super::state::{Open, Partial};
use super::{Phase, Thread, Unfinished};
use crate::limits::backoff;
use crate::tool::verdict;
use crate::{StepError, ThreadConfig};

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepEnd {
    /// There was nothing to do.
    Nothing,
    /// It went through the barrier.
    Ran,
}

/// What a completion adds to its turn.
struct Answered {
    message: AssistantMessage,
    planned: Vec<(PlannedCall, Arc<ToolCall>)>,
    /// Results of calls that are not dispatched.
    rejected: Vec<ToolResult>,
}

impl<O: ThreadObserver> Thread<O> {
    /// Runs one step, or what is left of the last one.
    ///
    /// # Errors
    /// See [`StepError`]. Whatever the error, another call goes on from what is durable.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the step; what it has synced stays, and the thread must be loaded again.
    pub(crate) async fn step(&self) -> Result<StepEnd, StepError> {
        let unfinished = self.unfinished.borrow_mut().take();
        match unfinished {
            Some(Unfinished::Synced { turn, answers }) => self.resume(turn, answers).await,
            Some(Unfinished::Committed(turn)) => self.dispatch_resumed(turn).await,
            None => {
                let ended = self.fresh_step().await;
                if ended.is_err() {
                    self.discard_partial();
                }
                self.phase.set(Phase::Free);
                ended
            }
        }
    }

    async fn fresh_step(&self) -> Result<StepEnd, StepError> {
        let config = self.config().await?;
        self.ask_about_doubtful_calls(&config).await;
        let (inputs, all) = self.take_inputs();
        if inputs.is_empty() && !self.is_runnable() {
            return Ok(StepEnd::Nothing);
        }
        let folded = fold(&self.state.borrow(), &inputs, |call| self.running.contains(call));
        self.dismiss_choices(&folded.changes).await?;

        let Folded { shown, mut changes, interrupted, answers, from_outside, wants_answer } = folded;
        let step = self.state.borrow().step + 1;
        self.state.borrow_mut().partial = Some(Box::new(Partial::new(step)));
        // Before anything is shown: a store that cannot be read costs viewers nothing.
        let mut projector = if all && wants_answer {
            Some(self.projector(&config).await?)
        } else {
            self.state.borrow().projector.clone()
        };
        if inputs.is_empty() && !self.is_runnable() {
            // What seemed to call for an answer stands alone, because of a damaged record.
            self.state.borrow_mut().partial = None;
            return Ok(StepEnd::Nothing);
        }
        for shown in shown {
            match shown {
                Shown::Message(message) => self.show_message(message, projector.as_mut())?,
                Shown::Event(event) => self.show(&event)?,
            }
        }

        let mut completions = if from_outside { 0 } else { self.state.borrow().completions };
        let mut opened = Vec::new();
        if let Some(projector) = projector.as_mut().filter(|projector| all && self.may_ask(projector)) {
            completions += 1;
            let answered = self.answer(step, completions, &config, projector).await?;
            changes.usage = answered.message.usage;
            self.show_answer(step, answered, projector, &mut changes, &mut opened)?;
        }
        self.phase.set(Phase::Barrier);
        let turn = self.sync(self.stage(step, changes)).await?;
        // ORDER: from here on the turn is durable; memory follows at once, before anyone can attach.
        {
            let mut state = self.state.borrow_mut();
            state.apply_synced(turn.record(), turn.changes(), opened);
            state.projector = projector;
            state.completions = completions;
        }
        // ORDER: a call whose question is dismissed hears of the default before it is cancelled and forgotten.
        let dismissed = turn.changes().choices_closed.iter().filter(|closed| closed.end == ChoiceEnd::Dismissed);
        dismissed.for_each(|closed| self.running.resolve(closed));
        interrupted.iter().for_each(|call| self.running.cancel(call));
        turn.changes().settled.iter().for_each(|call| self.running.settled(call));
        self.commit(turn, answers).await
    }

    /// The inputs at the head of the inbox, and whether they are all of it.
    fn take_inputs(&self) -> (Vec<InboxEntry>, bool) {
        let state = self.state.borrow();
        let bound = self.env.limits.inputs_per_step;
        let inputs: Vec<InboxEntry> = state.inbox.iter().take(bound).cloned().collect();
        let all = inputs.len() == state.inbox.len();
        if all {
            self.interrupt.lower();
        }
        (inputs, all)
    }

    /// Whether the model is asked now: no call waits, something calls for an answer, and nobody has interrupted.
    fn may_ask(&self, projector: &Projector) -> bool {
        !self.interrupt.is_raised() && !projector.is_waiting() && projector.wants_answer()
    }

    /// Choices that end without an answer are dismissed before the thread acts on what ended them.
    async fn dismiss_choices(&self, changes: &Changes) -> Result<(), StepError> {
        let shown: Vec<ChoiceId> = self.state.borrow().choices.iter().map(|known| known.choice.id.clone()).collect();
        let moot = changes.choices_closed.iter().filter(|closed| closed.end != ChoiceEnd::Answered);
        for closed in moot.filter(|closed| shown.contains(&closed.id)) {
            let hook = || self.env.observer.on_user_choice_dismissed(self.id.as_str(), closed.id.as_str());
            guard_hook(hook).await.map_err(StepError::Observer)?;
        }
        Ok(())
    }

    /// Adds a message to the turn, and shows it.
    fn show_message(&self, message: Message, projector: Option<&mut Projector>) -> Result<(), StepError> {
        if let Some(projector) = projector {
            projector.push(&message);
        }
        let step = self.state.borrow().step + 1;
        let mut events = Vec::with_capacity(1);
        replay::message(step, &message, &mut events);
        self.keep_in_partial(message);
        events.iter().try_for_each(|event| self.show(event))
    }

    fn show(&self, event: &AgentEvent) -> Result<(), StepError> {
        self.state.borrow_mut().apply_shown(event);
        self.emit(event)
    }

    fn keep_in_partial(&self, message: Message) {
        if let Some(partial) = &mut self.state.borrow_mut().partial {
            partial.messages.push(message);
        }
    }

    /// Asks the model, and decides what becomes of its calls.
    async fn answer(
        &self,
        step: Step,
        completions: u32,
        config: &ThreadConfig,
        projector: &Projector,
    ) -> Result<Answered, StepError> {
        let bound = self.env.limits.completions_in_a_row;
        if completions > bound {
            self.emit(&AgentEvent::CompletionStarted { step, attempt: 1 })?;
            let message = AssistantMessage {
                attempt: 1,
                model: config.model.model().clone().into(),
                blocks: Vec::new(),
                outcome: failed(FailureKind::LoopLimit, format!("{bound} completions followed one input")),
                usage: Usage::default(),
            };
            return Ok(Answered { message, planned: Vec::new(), rejected: Vec::new() });
        }
        let request = ModelRequest {
            model: config.model.model().clone(),
            system: config.system.clone(),
            tools: config.tools.schemas().clone(),
            context: projector.context().clone(),
            max_output_tokens: config.max_output_tokens,
        };
        let message = self.complete(step, config, request).await?;
        let (mut planned, mut rejected) = (Vec::new(), Vec::new());
        for call in message.calls() {
            match plan(step, call, &message.outcome, config) {
                Ok(plan) => planned.push((plan, call.clone())),
                Err(result) => rejected.push(result),
            }
        }
        Ok(Answered { message, planned, rejected })
    }

    fn show_answer(
        &self,
        step: Step,
        answered: Answered,
        projector: &mut Projector,
        changes: &mut Changes,
        opened: &mut Vec<Open>,
    ) -> Result<(), StepError> {
        let Answered { message, planned, rejected } = answered;
        let finished = AgentEvent::CompletionFinished {
            step,
            attempt: message.attempt,
            outcome: message.outcome.clone(),
            model: message.model.clone(),
            usage: message.usage,
        };
        let message = Message::Assistant(message.into());
        projector.push(&message);
        self.keep_in_partial(message);
        self.emit(&finished)?;
        for result in rejected {
            self.show_message(Message::ToolResult(result.into()), Some(&mut *projector))?;
        }
        for (planned, call) in planned {
            changes.planned.push(planned.clone());
            opened.push(Open { planned, call, in_doubt: false });
        }
        Ok(())
    }

    fn stage(&self, step: Step, changes: Changes) -> Turn<Staged> {
        let state = self.state.borrow();
        let messages = state.partial.as_ref().map(|partial| partial.messages.clone()).unwrap_or_default();
        Turn::stage(TurnDraft {
            thread: self.id.clone(),
            epoch: state.epoch.expect("bug: a thread with inputs is claimed"),
            record: Arc::new(TurnRecord { step, at: self.env.clock.now(), messages }),
            token: draw_token(),
            committed: state.committed,
            changes,
        })
    }

    /// Syncs a turn; a store that fails for a while is waited for.
    async fn sync(&self, mut turn: Turn<Staged>) -> Result<Turn<Synced>, StepError> {
        for failures in 1.. {
            match turn.sync(&*self.env.store).await {
                Ok(turn) => return Ok(turn),
                Err(SyncFailed { error, .. }) if error.kind() == StoreErrorKind::Conflict => {
                    return Err(StepError::Conflict);
                }
                Err(failure) if !failure.error.is_transient() || failures >= self.env.limits.sync_tries => {
                    return Err(StepError::Sync(failure.error));
                }
                Err(failure) => {
                    tracing::warn!(thread = %self.id, error = %failure.error, "the store failed; the turn is synced again");
                    turn = failure.turn;
                    tokio::time::sleep(backoff(self.env.limits.retry_backoff, failures)).await;
                }
            }
        }
        unreachable!("bug: tries are bounded")
    }

    async fn commit(&self, turn: Turn<Synced>, answers: Vec<(ChoiceId, bool)>) -> Result<StepEnd, StepError> {
        let changes = turn.changes().clone();
        let step = turn.record().step;
        match turn.commit(&self.env.observer).await {
            Ok(turn) => {
                self.state.borrow_mut().apply_committed(step, &changes);
                changes.choices_closed.iter().for_each(|closed| self.running.resolve(closed));
                self.answered.borrow_mut().extend(answers);
                // ORDER: only now may a call go out.
                let config = self.config().await?;
                self.dispatch(turn, &config);
                Ok(StepEnd::Ran)
            }
            Err(CommitFailed { turn, error }) => {
                tracing::error!(thread = %self.id, step, %error, "the observer did not commit the turn");
                *self.unfinished.borrow_mut() = Some(Unfinished::Synced { turn, answers });
                Err(StepError::Commit(error))
            }
        }
    }

    /// A step that is synced and not known to be committed: its events again, in coalesced form, then the commit.
    async fn resume(&self, turn: Turn<Synced>, answers: Vec<(ChoiceId, bool)>) -> Result<StepEnd, StepError> {
        if let Err(error) = self.config().await.and_then(|_| self.emit_again(&turn)) {
            *self.unfinished.borrow_mut() = Some(Unfinished::Synced { turn, answers });
            return Err(error);
        }
        self.phase.set(Phase::Barrier);
        let ended = self.commit(turn, answers).await;
        self.phase.set(Phase::Free);
        ended
    }

    fn emit_again(&self, turn: &Turn<Synced>) -> Result<(), StepError> {
        let step = turn.record().step;
        let discarded = self.emit(&AgentEvent::TurnDiscarded { step, attempt: 0, scope: Discard::Step });
        // All of them, also past a panic: whoever attaches before the next try is given the whole turn.
        let shown = self.shown_beside();
        replay::turn(turn.record()).iter().chain(&shown).fold(discarded, |so_far, event| so_far.and(self.emit(event)))
    }

    /// The events of what is kept beside the history: nothing tells which step a sign-in or a view came with.
    fn shown_beside(&self) -> Vec<AgentEvent> {
        let state = self.state.borrow();
        let oauth = state.oauth.iter().cloned();
        let oauth = oauth.map(|OAuthNotice { call_id, auth_url }| AgentEvent::OAuthRequired { call_id, auth_url });
        oauth.chain(state.views.iter().cloned().map(AgentEvent::ViewUpdated)).collect()
    }

    async fn dispatch_resumed(&self, turn: Turn<Committed>) -> Result<StepEnd, StepError> {
        match self.config().await {
            Ok(config) => {
                self.dispatch(turn, &config);
                Ok(StepEnd::Ran)
            }
            Err(error) => {
                *self.unfinished.borrow_mut() = Some(Unfinished::Committed(turn));
                Err(error)
            }
        }
    }

    fn dispatch(&self, turn: Turn<Committed>, config: &Rc<ThreadConfig>) {
        for permit in turn.into_permits() {
            let call = permit.call().clone();
            let state = self.state.borrow();
            if state.open_call(&call.id).is_none() {
                continue;
            }
            let choices = state.choices.iter().filter(|choice| choice.choice.call_id == call.id);
            let answers = choices.filter_map(|choice| choice.resolution.clone());
            let answers: HashMap<_, _> = answers.map(|resolution| (resolution.id.clone(), resolution)).collect();
            drop(state);
            let tool = config.tools.get(&call.name).cloned();
            self.env.dispatcher.dispatch(permit, tool, &self.running, answers);
        }
    }

    /// What the running step has shown is void: it failed, or was abandoned.
    pub(crate) fn discard_partial(&self) {
        let partial = self.state.borrow_mut().partial.take();
        if let Some(partial) = partial {
            let attempt = partial.attempt.map_or(0, |(attempt, _)| attempt);
            self.emit_lossy(&AgentEvent::TurnDiscarded { step: partial.step, attempt, scope: Discard::Step });
        }
    }
}

/// Whether a call goes out, and how often at most.
fn plan(step: Step, call: &ToolCall, outcome: &Outcome, config: &ThreadConfig) -> Result<PlannedCall, ToolResult> {
    let id = call.id.clone();
    let error = |text: String| ToolResult::text(id.clone(), ToolStatus::Error, text);
    match outcome {
        Outcome::Interrupted => return Err(verdict(id, ToolStatus::NotExecuted)),
        Outcome::ContentFilter => {
            let text = "Not executed: the provider withheld the rest of the answer.";
            return Err(ToolResult::text(id, ToolStatus::NotExecuted, text));
        }
        _ => {}
    }
    let arguments = match &call.arguments {
        Arguments::Object(raw) => serde_json::from_str(raw).unwrap_or_default(),
        Arguments::Broken(raw) => {
            let shown: String = raw.chars().take(2000).collect();
            return Err(error(format!("Error: the arguments are not a JSON object. They were: {shown}")));
        }
    };
    let tool = config.tools.check(&call.name, &arguments).map_err(error)?;
    Ok(PlannedCall { call_id: call.id.clone(), tool: call.name.clone(), step, delivery: tool.spec().delivery() })
}

/// A number by which a sync is recognised; drawn, so that no two writers share it.
fn draw_token() -> SyncToken {
    SyncToken(RandomState::new().build_hasher().finish() | 1)
}
