//! What a driver does for those who ask.

use std::time::Duration;

use selvedge_event::{ChoiceEnd, ChoiceId, Input, InputId, Step, ThreadId};
use selvedge_observer::{ThreadObserver, guard};
use selvedge_store::{AcceptReply, NewInput, StoreError, StoreErrorKind};
use tokio::time::Instant;

use super::Driver;
use crate::limits::backoff;
use crate::local::command::{Command, Reply, tell};
use crate::local::intake::Then;
use crate::local::lifecycle::LifecycleKind;
use crate::thread::Backwards;
use crate::tool::fresh_id;
use crate::{AnswerError, ForkError, SendError};

/// How much of a history is read at once to see whether a call is open at a step.
const FORK_BYTES: u64 = 64 * 1024;

impl<O: ThreadObserver + 'static> Driver<O> {
    pub(super) fn command(&mut self, command: Command<O::SubscribeRequest>) {
        self.idle_at = Instant::now() + self.shard.env.limits.idle;
        if self.is_absent() && !matches!(command, Command::Accept { create: true, .. } | Command::Stop) {
            return command.refuse(SendError::NoSuchThread(self.thread.id.clone()));
        }
        match command {
            Command::Accept { inputs, reply, .. } => self.accept(inputs, reply),
            Command::Subscribe { request, reply } => self.subscribe(request, reply),
            Command::Interrupt { reply } => self.interrupt(reply),
            Command::Answer { choice, selected, reply } => self.answer(choice, selected, reply),
            Command::Show(event) => self.thread.emit_lossy(&event),
            Command::Fork { at, to, reply } => self.fork(at, to, reply),
            // The thread is loaded by now.
            Command::Wake { reply } => tell(reply, Ok(())),
            Command::Close { reply } => {
                self.closing.push(reply);
                self.stop_at = Some(Instant::now());
            }
            Command::Stop => self.stop_at = Some(Instant::now() + self.shard.env.limits.shutdown_grace),
        }
    }

    fn accept(&mut self, inputs: Vec<NewInput>, reply: Reply<Vec<selvedge_store::Acceptance>>) {
        let waiting = self.thread.state.borrow().inbox.len() + self.intake.len();
        if waiting + inputs.len() > self.shard.env.limits.inbox {
            return tell(reply, Err(SendError::Full(self.thread.id.clone())));
        }
        self.intake.push(inputs, Then::Reply(reply));
    }

    /// Inputs are durable: the thread may act on them.
    pub(super) async fn accepted(&mut self, result: Result<AcceptReply, StoreError>) {
        let created = self.is_absent() && result.is_ok();
        let taken = self.intake.settle(&self.thread.id, result);
        self.answers.extend(taken.answers);
        if let Some(error) = taken.failed {
            tracing::warn!(thread = %self.thread.id, %error, "inputs could not be accepted");
            // They may be durable all the same: then a load finds them.
            self.stale |= error.is_transient() && !self.is_absent();
            self.failures += 1;
            self.retry_at = Some(Instant::now() + backoff(self.shard.env.limits.retry_backoff, self.failures));
            return;
        }
        if created && taken.claimed.is_none() {
            // Somebody else created the thread meanwhile: the inputs are in, and a load finds them.
            if let Err(error) = self.board().await {
                tracing::warn!(thread = %self.thread.id, %error, "a thread was created by somebody else at the same time");
                self.stop_at = Some(Instant::now());
            }
            return;
        }
        // What interrupts and was accepted before may be an input whose acceptance was lost on its way back: it waits in
        // the inbox, unknown here, behind a completion that may never end by itself.
        let interrupts =
            taken.interrupts_again && self.stale || taken.entries.iter().any(|entry| entry.input.interrupts());
        {
            let mut state = self.thread.state.borrow_mut();
            state.epoch = taken.claimed.or(state.epoch);
            if let Some(first) = taken.entries.first().filter(|_| created) {
                state.created_at = first.at;
            }
            state.take_in(taken.entries);
        }
        if created {
            self.shard.notify(&self.thread.id, LifecycleKind::Resident);
        }
        if interrupts {
            self.thread.interrupt.raise();
        }
        self.parked = false;
    }

    fn subscribe(&self, request: O::SubscribeRequest, reply: Reply<bool>) {
        // ORDER: the snapshot is made and installed in one go, with no event between.
        let snapshot = self.thread.state.borrow().snapshot();
        let id = self.thread.id.as_str();
        let installed = guard(|| self.shard.env.observer.on_subscribe(id, request, snapshot));
        if let Err(panic) = &installed {
            tracing::error!(thread = %id, %panic, "a subscriber could not be installed");
        }
        tell(reply, Ok(installed.is_ok()));
    }

    fn interrupt(&mut self, reply: Reply<()>) {
        let state = self.thread.state.borrow();
        let is_interrupt = |input: &Input| matches!(input, Input::Interrupt);
        let accepted = state.inbox.iter().any(|entry| is_interrupt(&entry.input));
        if accepted {
            // After a restart, the step that runs may have taken it together with what it was to interrupt.
            self.thread.interrupt.raise();
        }
        if accepted || self.intake.inputs().any(is_interrupt) || !state.is_busy() {
            return tell(reply, Ok(()));
        }
        drop(state);
        let input = self.input(fresh_id(), Input::Interrupt);
        self.intake.push(vec![input], Then::Interrupted(reply));
    }

    fn answer(&mut self, id: ChoiceId, selected: usize, reply: Reply<(), AnswerError>) {
        let refused = {
            let state = self.thread.state.borrow();
            let known = state.choices.iter().find(|known| known.choice.id == id);
            let answered = self.is_answered(&id);
            match known.map(|known| (known.choice.options.len(), known.resolution.as_ref())) {
                _ if answered => Some(AnswerError::AlreadyAnswered(id.clone())),
                Some((_, Some(resolution))) if resolution.end == ChoiceEnd::Answered => {
                    Some(AnswerError::AlreadyAnswered(id.clone()))
                }
                Some((options, None)) if selected >= options => Some(AnswerError::NoSuchOption { options, selected }),
                Some((_, None)) => None,
                Some((_, Some(_))) | None => Some(AnswerError::NotOpen(id.clone())),
            }
        };
        match refused {
            Some(error) => tell(reply, Err(error)),
            None => {
                let input = self.answer_input(&id, selected, ChoiceEnd::Answered);
                self.intake.push(vec![input], Then::Answered(id, reply));
            }
        }
    }

    /// Whether an answer to a choice, or its expiry, is on its way.
    fn is_answered(&self, id: &ChoiceId) -> bool {
        let answers = |input: &Input| matches!(input, Input::ChoiceAnswer { choice_id, .. } if choice_id == id);
        self.intake.inputs().any(answers) || self.thread.state.borrow().inbox.iter().any(|entry| answers(&entry.input))
    }

    fn answer_input(&self, id: &ChoiceId, selected: usize, end: ChoiceEnd) -> NewInput {
        // One id for all answers and the expiry: the store lets the first one in.
        let input = Input::ChoiceAnswer { choice_id: id.clone(), selected, end };
        self.input(format!("answer:{id}").into(), input)
    }

    fn input(&self, id: InputId, input: Input) -> NewInput {
        NewInput { id, input, at: self.shard.env.clock.now() }
    }

    /// When the next choice expires.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let state = self.thread.state.borrow();
        let pending = state.choices.iter().filter(|known| known.resolution.is_none());
        let open = pending.filter(|known| !self.is_answered(&known.choice.id));
        let earliest = open.filter_map(|known| known.choice.expires_at).min()?;
        let now = self.shard.env.clock.now();
        let wait = u64::try_from(earliest.0.saturating_sub(now.0)).unwrap_or(0);
        let at = Instant::now() + Duration::from_millis(wait);
        Some(self.retry_at.map_or(at, |retry_at| at.max(retry_at)))
    }

    /// Ends the choices whose time has run out.
    pub(super) fn expire_choices(&mut self) {
        let now = self.shard.env.clock.now();
        let expired: Vec<(ChoiceId, usize)> = {
            let state = self.thread.state.borrow();
            let pending = state.choices.iter().filter(|known| known.resolution.is_none());
            let late = pending.filter(|known| known.choice.expires_at.is_some_and(|at| at <= now));
            late.map(|known| (known.choice.id.clone(), known.choice.default)).collect()
        };
        for (id, default) in expired {
            if !self.is_answered(&id) {
                let input = self.answer_input(&id, default, ChoiceEnd::Expired);
                self.intake.push(vec![input], Then::Nobody);
            }
        }
    }

    fn fork(&self, at: Option<Step>, to: ThreadId, reply: Reply<Step, ForkError>) {
        let (page, newest, boundary) = {
            let state = self.thread.state.borrow();
            (state.page.clone(), state.step, state.newest_boundary())
        };
        let (store, parent, now) = (self.shard.env.store.clone(), self.thread.id.clone(), self.shard.env.clock.now());
        tokio::task::spawn_local(async move {
            let forked = async {
                let step = at.unwrap_or(boundary);
                let backwards = Backwards { store: &*store, thread: &parent, page: &page, bytes: FORK_BYTES };
                if step > newest || at.is_some() && !backwards.is_boundary(step).await? {
                    return Ok(None);
                }
                store.fork(&parent, step, &to, now).await.map(|()| Some(step))
            };
            let result = match forked.await {
                Ok(forked) => forked.ok_or(ForkError::Unsafe(at.unwrap_or_default())),
                Err(error) if error.kind() == StoreErrorKind::Exists => Err(ForkError::Exists(to)),
                Err(error) => Err(ForkError::Send(SendError::from_store(&parent, error))),
            };
            tell(reply, result);
        });
    }
}
