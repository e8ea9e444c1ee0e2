//! A driver: the task that owns a resident thread.
//!
//! It reads its mailbox between two polls of the step that it runs, so that a subscriber is installed between two
//! events. Nothing else touches the thread's state.

mod boarding;
mod requests;

use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use selvedge_event::{ChoiceId, ThreadId};
use selvedge_observer::ThreadObserver;
use selvedge_store::Create;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::command::{Command, Reply, tell};
use super::intake::Intake;
use super::lifecycle::LifecycleKind;
use super::shard::Shard;
use crate::limits::backoff;
use crate::thread::{Phase, StepEnd, Thread};
use crate::{AnswerError, SendError, StepError};

/// When a driver looks up that waits for nothing that has a time.
const FAR: Duration = Duration::from_secs(3600);

pub(super) struct Driver<O: ThreadObserver> {
    shard: Rc<Shard<O>>,
    thread: Rc<Thread<O>>,
    mailbox: mpsc::Receiver<Box<Command<O::SubscribeRequest>>>,
    intake: Intake,
    step: Option<Running>,
    /// Answers to choices that wait for the step that deals with them.
    answers: HashMap<ChoiceId, Reply<(), AnswerError>>,
    /// Failures of the step that is being tried.
    failures: u32,
    /// When the step that failed is tried again.
    retry_at: Option<Instant>,
    /// The step failed too often; the thread waits for its next input.
    parked: bool,
    /// What is in memory may not be what is durable.
    stale: bool,
    /// When the driver leaves if nothing comes.
    idle_at: Instant,
    /// Set when the driver is to end: when it ends at the latest.
    stop_at: Option<Instant>,
    closing: Vec<Reply<()>>,
}

type Running = Pin<Box<dyn Future<Output = Result<StepEnd, StepError>>>>;

impl<O: ThreadObserver + 'static> Driver<O> {
    pub(super) fn new(
        shard: Rc<Shard<O>>,
        id: ThreadId,
        mailbox: mpsc::Receiver<Box<Command<O::SubscribeRequest>>>,
    ) -> Self {
        let thread = Rc::new(Thread::new(id, shard.env.clone()));
        let idle_at = Instant::now() + shard.env.limits.idle;
        Self {
            shard,
            thread,
            mailbox,
            intake: Intake::default(),
            step: None,
            answers: HashMap::new(),
            failures: 0,
            retry_at: None,
            parked: false,
            stale: false,
            idle_at,
            stop_at: None,
            closing: Vec::new(),
        }
    }

    /// Drives the thread until it is idle or told to end.
    ///
    /// The future lives as long as the thread is resident, so what it holds for a moment only, to load and to leave, is on
    /// the heap.
    pub(super) async fn run(&mut self) {
        if let Err(error) = self.board().await {
            return Box::pin(self.turn_away(&error)).await;
        }
        let mut alarm = pin!(tokio::time::sleep_until(self.deadline()));
        loop {
            self.start_step().await;
            self.start_intake();
            if self.may_leave() {
                break;
            }
            // It may ring early, not late: most deadlines move on before they are reached, and setting a timer costs.
            let deadline = self.deadline();
            if deadline < alarm.deadline() || alarm.is_elapsed() {
                alarm.as_mut().reset(deadline);
            }
            tokio::select! {
                biased;
                command = self.mailbox.recv() => match command {
                    Some(command) => self.command(*command),
                    None => break,
                },
                accepted = self.intake.accepted() => self.accepted(accepted).await,
                ended = ended(&mut self.step) => self.step_ended(ended),
                () = &mut alarm => self.expire_choices(),
            }
        }
        Box::pin(self.leave()).await;
    }

    /// Lets inputs that wait enter the store: a thread that does not exist yet is created with its first.
    fn start_intake(&mut self) {
        let create = || match self.thread.state.borrow().epoch {
            Some(_) => Create::No,
            None => Create::ClaimedBy(self.shard.owner.id().clone()),
        };
        self.intake.start(&self.shard.env.store, &self.thread.id, create);
    }

    /// Starts a step if there is something to do and no reason to wait.
    async fn start_step(&mut self) {
        let waits = self.retry_at.is_some_and(|at| at > Instant::now());
        if self.step.is_some() || self.stop_at.is_some() || waits || self.must_not_load() || self.parked {
            return;
        }
        self.retry_at = None;
        if self.stale && !self.reload().await {
            return;
        }
        if self.thread.is_runnable() {
            let thread = self.thread.clone();
            self.step = Some(Box::pin(async move { thread.step().await }));
        }
    }

    /// ORDER: no load while inputs are on their way into the store: it might find them there, and what is told of them
    /// later would put them into the inbox again.
    fn must_not_load(&self) -> bool {
        self.stale && self.intake.is_accepting()
    }

    fn step_ended(&mut self, ended: Result<StepEnd, StepError>) {
        self.step = None;
        self.report_damaged();
        self.idle_at = Instant::now() + self.shard.env.limits.idle;
        let answered: Vec<_> = self.thread.answered.borrow_mut().drain(..).collect();
        for (choice, counts) in answered {
            if let Some(reply) = self.answers.remove(&choice) {
                tell(reply, if counts { Ok(()) } else { Err(AnswerError::NotOpen(choice)) });
            }
        }
        match ended {
            Ok(_) => {
                self.failures = 0;
                self.retry_at = None;
            }
            Err(error) => self.step_failed(&error),
        }
    }

    fn step_failed(&mut self, error: &StepError) {
        let limits = &self.shard.env.limits;
        self.failures += 1;
        let wait = backoff(limits.retry_backoff, self.failures);
        let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
        let text = format!("a step failed: {error}{cause}");
        tracing::warn!(thread = %self.thread.id, failures = self.failures, "{text}");
        self.thread.info(format!("{text}; trying again in {:.1} s", wait.as_secs_f32()));
        self.shard.notify(&self.thread.id, LifecycleKind::StepFailed(text.into()));
        self.stale |= matches!(error, StepError::Conflict | StepError::Sync(_) | StepError::Load(_));
        // Trying again what pays for a completion and then fails in the observer must not go on for ever.
        self.parked = matches!(error, StepError::Observer(_)) && self.failures >= limits.step_failures;
        self.retry_at = Some(Instant::now() + wait);
    }

    /// When the driver must look up even if nothing comes.
    fn deadline(&self) -> Instant {
        let mut deadline = self.idle_at + FAR;
        if self.step.is_none() && self.stop_at.is_none() && !self.must_not_load() && !self.parked {
            deadline = deadline.min(self.retry_at.unwrap_or(deadline));
        }
        if self.is_idle() {
            deadline = deadline.min(self.idle_at);
        }
        if self.thread.phase.get() == Phase::Free {
            deadline = deadline.min(self.stop_at.unwrap_or(deadline));
        }
        deadline.min(self.next_expiry().unwrap_or(deadline))
    }

    fn is_idle(&self) -> bool {
        let works = self.thread.is_runnable() && !self.parked;
        self.step.is_none() && self.intake.is_idle() && !works && self.thread.state.borrow().open.is_empty()
    }

    /// Whether the driver may end now. Its mailbox is looked at in the same poll, so that no command is lost.
    fn may_leave(&self) -> bool {
        if let Some(stop_at) = self.stop_at {
            let done = self.step.is_none() && self.intake.is_idle() && self.thread.calls_have_ended();
            let late = Instant::now() >= stop_at && self.thread.phase.get() == Phase::Free;
            return (done || late) && self.mailbox.is_empty();
        }
        self.is_idle() && (self.is_absent() || Instant::now() >= self.idle_at) && self.mailbox.is_empty()
    }

    /// Whether the thread does not exist, and nobody is about to create it.
    fn is_absent(&self) -> bool {
        self.thread.state.borrow().epoch.is_none()
    }

    /// Ends: the next command finds another driver.
    async fn leave(&mut self) {
        // ORDER: nobody may put a command into a mailbox that is not read any more.
        self.shard.forget(&self.thread.id);
        self.mailbox.close();
        self.step = None;
        self.thread.discard_partial();
        self.intake.refuse(|| SendError::ShutDown);
        while let Some(command) = self.mailbox.recv().await {
            command.refuse(SendError::ShutDown);
        }
        self.thread.running.cancel_all();
        let (epoch, committed, step) = {
            let state = self.thread.state.borrow();
            (state.epoch, state.committed, state.step)
        };
        if let Some(epoch) = epoch {
            let (store, id) = (&self.shard.env.store, &self.thread.id);
            if committed == step
                && let Err(error) = store.mark_committed(id, epoch, step).await
            {
                tracing::debug!(thread = %id, %error, "a mark is lost: the last step is committed again when next loaded");
            }
            if let Err(error) = store.release(id, epoch).await {
                tracing::debug!(thread = %id, %error, "a claim stays until its owner is gone");
            }
        }
        self.closing.drain(..).for_each(|reply| tell(reply, Ok(())));
    }
}

/// Waits for the running step; for ever, if there is none.
async fn ended(step: &mut Option<Running>) -> Result<StepEnd, StepError> {
    match step {
        Some(step) => step.await,
        None => std::future::pending().await,
    }
}
