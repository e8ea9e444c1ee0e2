//! Step mode: one call runs one step of one thread, with no resident task.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use selvedge_event::{AgentEvent, CallId, ChoiceEnd, ChoiceId, Input, InputId, Step, ThreadId, UserChoice};
use selvedge_observer::ThreadObserver;
use selvedge_store::{AcceptRequest, Acceptance, ConversationStore, Create, NewInput, Owner, StoreError, ThreadRecord};

use crate::sink::InputSink;
use crate::thread::{Env, StepEnd, Thread, load};
use crate::tool::{Dispatcher, RunningCalls, fresh_id};
use crate::{AnswerError, Clock, Configure, Limits, SendError, StepError, check_input};

/// Progress notes that may wait for the next step; more are lost.
const SHOWN: usize = 256;

/// Everything that a step runner is made of.
pub struct StepParts<O> {
    /// Where threads are durable.
    pub store: Arc<dyn ConversationStore>,
    /// Watches the steps.
    pub observer: O,
    /// What threads run with.
    pub configure: Arc<dyn Configure>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Bounds and patience.
    pub limits: Limits,
    /// The runtime on which tools run.
    pub tools: tokio::runtime::Handle,
    /// Who this is, for whoever asks for a thread that a step of this runner has.
    pub label: String,
}

impl<O> std::fmt::Debug for StepParts<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepParts").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Runs single steps of threads: for serverless handlers and queue workers.
///
/// The pipeline and the barrier are those of local mode. A step loads its thread, claims it, runs, and gives it up; calls
/// that it dispatches run on the embedder's runtime, and [`step`](Self::step) waits for them.
pub struct StepRunner<O> {
    env: Rc<Env<O>>,
    owner: Owner,
    sink: Arc<StoreSink>,
    /// Threads that have calls running in this process, or steps.
    present: RefCell<HashMap<ThreadId, Rc<Present>>>,
    /// Threads whose last step is synced and was not committed: their calls have certainly not gone out.
    uncommitted: RefCell<HashMap<ThreadId, Rc<Thread<O>>>>,
}

/// What a runner knows of a thread between two steps.
#[derive(Default)]
struct Present {
    /// Calls that run in this process.
    running: Rc<RunningCalls>,
    /// Steps of one thread take turns. A step that only waits for its calls has had its turn.
    turn: tokio::sync::Mutex<()>,
}

/// What a step did, and what is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReport {
    /// Whether there was anything to do.
    pub ran: bool,
    /// The thread's newest step.
    pub step: Step,
    /// Whether another step would do something now.
    pub more: bool,
    /// Calls that are open.
    pub open_calls: Vec<CallId>,
    /// Choices that wait for the user.
    pub choices: Vec<UserChoice>,
}

impl<O: ThreadObserver> StepRunner<O> {
    /// A runner of steps.
    ///
    /// # Errors
    /// The store's.
    ///
    /// # Cancel safety
    /// Dropping the future makes no runner.
    pub async fn new(parts: StepParts<O>) -> Result<Self, StoreError> {
        let owner = parts.store.register(&parts.label).await?;
        let sink = Arc::new(StoreSink { store: parts.store.clone(), shown: Mutex::default() });
        let dispatcher = Dispatcher {
            store: parts.store.clone(),
            sink: sink.clone(),
            clock: parts.clock.clone(),
            limits: parts.limits.clone(),
            runtime: parts.tools,
        };
        let StepParts { store, observer, configure, clock, limits, .. } = parts;
        let env = Rc::new(Env { store, observer, configure, clock, limits, dispatcher });
        Ok(Self { env, owner, sink, present: RefCell::default(), uncommitted: RefCell::default() })
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.env.observer
    }

    /// Accepts an input for a thread, which is created with its first. Resolves when the input is durable; no step runs.
    ///
    /// # Errors
    /// See [`SendError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the input accepted or not; send it again under the same id.
    pub async fn send(&self, thread: &ThreadId, id: InputId, input: Input) -> Result<Acceptance, SendError> {
        check_input(&input)?;
        let input = NewInput { id, input, at: self.env.clock.now() };
        accept(&*self.env.store, thread, input, Create::Unclaimed).await
    }

    /// Answers a choice with the option at a place, from 0. Whether the answer counts shows when a step has taken it.
    ///
    /// # Errors
    /// See [`AnswerError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the answer given or not.
    pub async fn answer(&self, thread: &ThreadId, choice: ChoiceId, selected: usize) -> Result<(), AnswerError> {
        let record = self.record(thread).await?;
        let interrupted = record.inbox.iter().any(|entry| entry.input.interrupts());
        let known = record.choices.iter().find(|(known, _)| known.id == choice);
        match known {
            None => return Err(AnswerError::NotOpen(choice)),
            Some((_, Some(resolution))) if resolution.end == ChoiceEnd::Answered => {
                return Err(AnswerError::AlreadyAnswered(choice));
            }
            Some((_, Some(_))) => return Err(AnswerError::NotOpen(choice)),
            Some((_, None)) if interrupted => return Err(AnswerError::NotOpen(choice)),
            Some((known, None)) if selected >= known.options.len() => {
                return Err(AnswerError::NoSuchOption { options: known.options.len(), selected });
            }
            Some((_, None)) => {}
        }
        let input = Input::ChoiceAnswer { choice_id: choice.clone(), selected, end: ChoiceEnd::Answered };
        let input = NewInput { id: format!("answer:{choice}").into(), input, at: self.env.clock.now() };
        match accept(&*self.env.store, thread, input, Create::No).await? {
            Acceptance::Accepted(_) => Ok(()),
            Acceptance::Duplicate => Err(AnswerError::AlreadyAnswered(choice)),
        }
    }

    /// Asks to stop the calls that a thread waits for: the next step settles them. Does nothing if there are none.
    ///
    /// # Errors
    /// See [`SendError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the interruption accepted or not.
    pub async fn interrupt(&self, thread: &ThreadId) -> Result<(), SendError> {
        let record = self.record(thread).await?;
        let pending = record.inbox.iter().any(|entry| matches!(entry.input, Input::Interrupt));
        if record.open_calls.is_empty() || pending {
            return Ok(());
        }
        let input = NewInput { id: fresh_id(), input: Input::Interrupt, at: self.env.clock.now() };
        accept(&*self.env.store, thread, input, Create::No).await.map(drop)
    }

    /// Runs one step, if there is anything to do; then waits until the calls that run in this process have delivered
    /// their results into the inbox, or ask the user. A step that an earlier call or process left synced but not
    /// committed is resumed instead. Steps of one thread that are asked for at once take turns.
    ///
    /// # Errors
    /// See [`StepError`].
    ///
    /// # Cancel safety
    /// Dropping the future abandons the step; the thread is as durable as it was, and the next call goes on from there.
    pub async fn step(&self, thread: &ThreadId) -> Result<StepReport, StepError> {
        let present = self.present.borrow_mut().entry(thread.clone()).or_default().clone();
        let report = self.step_of(thread, &present).await;
        // The map's and this one: nobody else runs a step of the thread. One whose step waits for its commit is kept with
        // what it will send out.
        let uncommitted = self.uncommitted.borrow().contains_key(thread);
        if !uncommitted && present.running.is_empty() && Rc::strong_count(&present) <= 2 {
            self.present.borrow_mut().remove(thread);
        }
        report
    }

    async fn step_of(&self, thread: &ThreadId, present: &Present) -> Result<StepReport, StepError> {
        let (resident, ended) = self.take_turn(thread, present).await?;
        present.running.settled_or_asking().await;
        self.show_progress();
        self.release(&resident).await;
        let record = self.record(thread).await?;
        let pending = record.choices.iter().filter(|(_, resolution)| resolution.is_none());
        Ok(StepReport {
            ran: ended == StepEnd::Ran,
            step: record.head.step,
            more: !record.inbox.is_empty() || resident.is_runnable(),
            open_calls: record.open_calls.iter().map(|open| open.call_id.clone()).collect(),
            choices: pending.map(|(choice, _)| choice.clone()).collect(),
        })
    }

    /// Takes the step through the barrier, and remembers that it is committed.
    async fn take_turn(&self, thread: &ThreadId, present: &Present) -> Result<(Rc<Thread<O>>, StepEnd), StepError> {
        let _turn = present.turn.lock().await;
        self.expire_choices(thread).await?;
        let uncommitted = self.uncommitted.borrow_mut().remove(thread);
        let resident = match uncommitted {
            Some(resident) => resident,
            None => self.load(thread, &present.running).await?,
        };
        let ended = {
            let _shown = TakenBack(&resident);
            resident.step().await
        };
        resident.report_damaged();
        if ended.is_err() {
            if resident.is_uncommitted() {
                self.uncommitted.borrow_mut().insert(thread.clone(), resident.clone());
            } else {
                self.mark(&resident).await;
                self.release(&resident).await;
            }
        }
        let ended = ended?;
        self.mark(&resident).await;
        Ok((resident, ended))
    }

    /// Runs steps until the thread is idle or waits for somebody else.
    ///
    /// # Errors
    /// See [`StepError`].
    ///
    /// # Cancel safety
    /// As [`step`](Self::step).
    pub async fn run(&self, thread: &ThreadId) -> Result<StepReport, StepError> {
        loop {
            let report = self.step(thread).await?;
            if !report.more {
                return Ok(report);
            }
        }
    }

    async fn record(&self, thread: &ThreadId) -> Result<ThreadRecord, SendError> {
        self.env.store.load(thread).await.map_err(|error| SendError::from_store(thread, error))
    }

    async fn load(&self, thread: &ThreadId, running: &Rc<RunningCalls>) -> Result<Rc<Thread<O>>, StepError> {
        let loaded = load(&*self.env.store, thread, &self.owner, running, 0, self.env.limits.page).await;
        let loaded = loaded.map_err(|error| SendError::from_store(thread, error))?;
        let resident = Rc::new(Thread::from_loaded(loaded, self.env.clone(), running.clone()));
        resident.report_damaged();
        Ok(resident)
    }

    /// Choices whose time has run out get their default, as if somebody had answered.
    async fn expire_choices(&self, thread: &ThreadId) -> Result<(), StepError> {
        let (record, now) = (self.record(thread).await?, self.env.clock.now());
        let pending = record.choices.iter().filter(|(_, resolution)| resolution.is_none());
        for (choice, _) in pending.filter(|(choice, _)| choice.expires_at.is_some_and(|at| at <= now)) {
            let (choice_id, selected) = (choice.id.clone(), choice.default);
            let input = Input::ChoiceAnswer { choice_id, selected, end: ChoiceEnd::Expired };
            let input = NewInput { id: format!("answer:{}", choice.id).into(), input, at: now };
            accept(&*self.env.store, thread, input, Create::No).await?;
        }
        Ok(())
    }

    fn show_progress(&self) {
        let shown = std::mem::take(&mut *self.sink.shown.lock().unwrap_or_else(PoisonError::into_inner));
        for (thread, event) in shown {
            let panicked = selvedge_observer::guard(|| self.env.observer.on_event(thread.as_str(), &event));
            if let Err(panic) = panicked {
                tracing::error!(%thread, %panic, "a progress note was not shown");
            }
        }
    }

    /// Remembers the commit.
    async fn mark(&self, resident: &Thread<O>) {
        let (epoch, committed) = {
            let state = resident.state.borrow();
            (state.epoch, state.committed)
        };
        let Some(epoch) = epoch else { return };
        if let Err(error) = self.env.store.mark_committed(&resident.id, epoch, committed).await {
            let thread = &resident.id;
            tracing::debug!(%thread, %error, "a mark is lost: the last step is committed again when next loaded");
        }
    }

    /// Gives the claim up when no call of the thread runs here: until then, this runner is whom to ask about them.
    async fn release(&self, resident: &Thread<O>) {
        let epoch = resident.state.borrow().epoch;
        let Some(epoch) = epoch else { return };
        if resident.running.is_empty()
            && let Err(error) = self.env.store.release(&resident.id, epoch).await
        {
            tracing::debug!(thread = %resident.id, %error, "a claim stays until its owner is gone");
        }
    }
}

impl<O> std::fmt::Debug for StepRunner<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepRunner").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// Takes back what a step has shown, if its future is dropped before it ends.
struct TakenBack<'a, O: ThreadObserver>(&'a Thread<O>);

impl<O: ThreadObserver> Drop for TakenBack<'_, O> {
    fn drop(&mut self) {
        self.0.discard_partial();
    }
}

/// The way back for calls of step mode: straight into the store, to be taken by whichever step comes next.
struct StoreSink {
    store: Arc<dyn ConversationStore>,
    shown: Mutex<Vec<(ThreadId, AgentEvent)>>,
}

#[async_trait]
impl InputSink for StoreSink {
    async fn deliver(&self, thread: &ThreadId, input: NewInput) -> Result<Acceptance, SendError> {
        check_input(&input.input)?;
        accept(&*self.store, thread, input, Create::No).await
    }

    fn show(&self, thread: &ThreadId, event: AgentEvent) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() < SHOWN {
            shown.push((thread.clone(), event));
        }
    }
}

async fn accept(
    store: &dyn ConversationStore,
    thread: &ThreadId,
    input: NewInput,
    create: Create,
) -> Result<Acceptance, SendError> {
    let request = AcceptRequest { thread: thread.clone(), inputs: vec![input], create };
    let reply = store.accept(request).await.map_err(|error| SendError::from_store(thread, error))?;
    reply.acceptances.first().copied().ok_or(SendError::ShutDown)
}
