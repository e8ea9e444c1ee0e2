//! The handle to a running system.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use selvedge_event::{AgentEvent, ChoiceId, Input, InputId, Step, ThreadId};
use selvedge_observer::{ObserverFactory, ThreadObserver};
use selvedge_store::{Acceptance, ConversationStore, NewInput};
use tokio::sync::{broadcast, mpsc, oneshot};

use super::command::{Command, Reply};
use super::lifecycle::Lifecycle;
use super::parts::{EnvParts, StartError, SystemParts};
use super::shard::{Shard, ShardMessage};
use super::wake::Wake;
use crate::sink::InputSink;
use crate::tool::fresh_id;
use crate::{AnswerError, Clock, ForkError, SendError, check_input};

/// Lifecycle notices that a slow listener may be behind before it misses some.
const LIFECYCLE_BACKLOG: usize = 1024;

/// A system that runs: its shards, its drivers, its observers. Clones are the same system.
///
/// When the last clone is dropped without [`shutdown`](Self::shutdown), everything stops where it is; nothing that was
/// accepted is lost.
pub struct RunningSystem<R: Send + 'static> {
    inner: Arc<Inner<R>>,
}

struct Inner<R> {
    shards: Vec<mpsc::Sender<ShardMessage<R>>>,
    shut_down: AtomicBool,
    lifecycle: broadcast::Sender<Lifecycle>,
    store: Arc<dyn ConversationStore>,
    clock: Arc<dyn Clock>,
    os_threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl<R: Send + 'static> RunningSystem<R> {
    /// Starts a system on shards of its own, each an OS thread. Threads that were left unfinished go on at once, as far as
    /// [`SystemParts::wake`] chooses them.
    ///
    /// # Errors
    /// See [`StartError`].
    ///
    /// # Cancel safety
    /// Dropping the future starts nothing, or a system that stops at once.
    pub async fn start<F>(parts: SystemParts<F>) -> Result<Self, StartError>
    where
        F: ObserverFactory,
        F::Observer: ThreadObserver<SubscribeRequest = R>,
    {
        let owner = Arc::new(parts.store.register(&parts.label).await.map_err(StartError::Store)?);
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..parts.shards.get()).map(|_| mpsc::channel(parts.limits.mailbox)).unzip();
        let inner = Inner::new(senders, &parts);
        let envs: Vec<_> =
            receivers.iter().map(|_| EnvParts::new(&parts, Arc::new(SystemSink(Arc::downgrade(&inner))))).collect();
        let factory = Arc::new(parts.observer);
        for (index, (receiver, env)) in receivers.into_iter().zip(envs).enumerate() {
            let (factory, owner, lifecycle) = (factory.clone(), owner.clone(), inner.lifecycle.clone());
            let os_thread = std::thread::Builder::new().name(format!("selvedge-shard-{index}"));
            // With I/O, where the build has it: models over the network are polled on their shard.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(StartError::Shard)?;
            let handle = os_thread.spawn(move || {
                let shard = Shard::new(Rc::new(env.with_observer(factory.observer())), owner, lifecycle);
                tokio::task::LocalSet::new().block_on(&runtime, shard.run(receiver));
            });
            inner.os_threads().push(handle.map_err(StartError::Shard)?);
        }
        let system = Self { inner };
        system.wake_unfinished(&parts.wake, &parts.tools).await?;
        Ok(system)
    }

    /// Starts a system of one shard on the caller's own `LocalSet`.
    ///
    /// # Errors
    /// See [`StartError`].
    ///
    /// # Panics
    /// Outside a `LocalSet`.
    ///
    /// # Cancel safety
    /// As [`start`](Self::start).
    pub async fn start_local<F>(parts: SystemParts<F>) -> Result<Self, StartError>
    where
        F: ObserverFactory,
        F::Observer: ThreadObserver<SubscribeRequest = R>,
    {
        let owner = Arc::new(parts.store.register(&parts.label).await.map_err(StartError::Store)?);
        let (sender, receiver) = mpsc::channel(parts.limits.mailbox);
        let inner = Inner::new(vec![sender], &parts);
        let env = EnvParts::new(&parts, Arc::new(SystemSink(Arc::downgrade(&inner))));
        let env = Rc::new(env.with_observer(parts.observer.observer()));
        tokio::task::spawn_local(Shard::new(env, owner, inner.lifecycle.clone()).run(receiver));
        let system = Self { inner };
        system.wake_unfinished(&parts.wake, &parts.tools).await?;
        Ok(system)
    }

    /// Sends an input to a thread, which is created with its first. Resolves when the input is durable.
    ///
    /// The id is the sender's: sending the same id to the same thread again changes nothing, for as long as the thread
    /// lives.
    ///
    /// # Errors
    /// See [`SendError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the input accepted or not; send it again under the same id.
    pub async fn send(&self, thread: &ThreadId, id: InputId, input: Input) -> Result<Acceptance, SendError> {
        let input = NewInput { id, input, at: self.inner.clock.now() };
        let acceptances = self.send_all(thread, vec![input]).await?;
        acceptances.first().copied().ok_or(SendError::ShutDown)
    }

    /// Sends user text under a fresh id; it interrupts what runs.
    ///
    /// # Errors
    /// See [`SendError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the text accepted or not; use [`send`](Self::send) to repeat it harmlessly.
    pub async fn send_text(
        &self,
        thread: &ThreadId,
        text: impl Into<selvedge_event::Text>,
    ) -> Result<Acceptance, SendError> {
        self.send(thread, fresh_id(), Input::text(text)).await
    }

    /// Sends several inputs to one thread, to be accepted together and in order.
    ///
    /// # Errors
    /// See [`SendError`]; none of them is accepted then.
    ///
    /// # Cancel safety
    /// As [`send`](Self::send).
    pub async fn send_all(&self, thread: &ThreadId, inputs: Vec<NewInput>) -> Result<Vec<Acceptance>, SendError> {
        inputs.iter().try_for_each(|input| check_input(&input.input))?;
        self.ask(thread, |reply| Command::Accept { inputs, create: true, reply }).await
    }

    /// Attaches a subscriber. Resolves true once the observer has it: whatever is sent after that, it sees. False says
    /// that the observer panicked at it.
    ///
    /// # Errors
    /// See [`SendError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the subscriber installed or not.
    pub async fn subscribe(&self, thread: &ThreadId, request: R) -> Result<bool, SendError> {
        self.ask(thread, |reply| Command::Subscribe { request, reply }).await
    }

    /// Stops what runs in a thread: what was streamed is kept, open calls are settled. Returns at once if nothing runs.
    ///
    /// # Errors
    /// See [`SendError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the interruption accepted or not.
    pub async fn interrupt(&self, thread: &ThreadId) -> Result<(), SendError> {
        self.ask(thread, |reply| Command::Interrupt { reply }).await
    }

    /// Answers a choice with the option at a place, from 0. Resolves when the answer counts: the first one does.
    ///
    /// # Errors
    /// See [`AnswerError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the answer given or not.
    pub async fn answer(&self, thread: &ThreadId, choice: ChoiceId, selected: usize) -> Result<(), AnswerError> {
        let (reply, answer) = oneshot::channel();
        self.command(thread, Command::Answer { choice, selected, reply }).await?;
        answer.await.unwrap_or(Err(SendError::ShutDown.into()))
    }

    /// Makes a new thread of a thread's history, up to a step at which no call is open: the newest for `None`. Returns
    /// the step. The history is shared, not copied.
    ///
    /// # Errors
    /// See [`ForkError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the fork made or not.
    pub async fn fork(&self, thread: &ThreadId, at: Option<Step>, to: ThreadId) -> Result<Step, ForkError> {
        let (reply, forked) = oneshot::channel();
        self.command(thread, Command::Fork { at, to, reply }).await?;
        forked.await.unwrap_or(Err(SendError::ShutDown.into()))
    }

    /// Deletes a thread with all that is kept of it. What runs is abandoned.
    ///
    /// # Errors
    /// See [`SendError`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the thread deleted or not.
    pub async fn delete(&self, thread: &ThreadId) -> Result<(), SendError> {
        self.ask(thread, |reply| Command::Close { reply }).await?;
        self.inner.store.delete(thread).await.map_err(|error| SendError::from_store(thread, error))
    }

    /// Notices about drivers from now on.
    pub fn lifecycle(&self) -> broadcast::Receiver<Lifecycle> {
        self.inner.lifecycle.subscribe()
    }

    /// The store of the system, for reading.
    pub fn store(&self) -> &Arc<dyn ConversationStore> {
        &self.inner.store
    }

    /// Ends in order: no more inputs from outside, completions and calls that run may end within the grace of
    /// [`Limits::shutdown_grace`](crate::Limits::shutdown_grace), steps that are in the barrier go through it, claims are given up. What is in the
    /// inboxes waits for the next start. Calling it again waits for the same end.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the shutdown.
    pub async fn shutdown(&self) {
        self.inner.shut_down.store(true, Ordering::Release);
        let mut ends = Vec::new();
        for shard in &self.inner.shards {
            let (reply, end) = oneshot::channel();
            if shard.send(ShardMessage::ShutDown(reply)).await.is_ok() {
                ends.push(end);
            }
        }
        for end in ends {
            // An error says that the shard has ended already.
            drop(end.await);
        }
        let os_threads: Vec<_> = self.inner.os_threads().drain(..).collect();
        for os_thread in os_threads {
            if os_thread.join().is_err() {
                tracing::error!("a shard panicked");
            }
        }
    }

    async fn ask<T>(&self, thread: &ThreadId, command: impl FnOnce(Reply<T>) -> Command<R>) -> Result<T, SendError> {
        let (reply, answer) = oneshot::channel();
        self.command(thread, command(reply)).await?;
        answer.await.unwrap_or(Err(SendError::ShutDown))
    }

    async fn command(&self, thread: &ThreadId, command: Command<R>) -> Result<(), SendError> {
        if self.inner.shut_down.load(Ordering::Acquire) {
            return Err(SendError::ShutDown);
        }
        self.inner.command(thread, command).await
    }

    /// Works off what an earlier process left.
    async fn wake_unfinished(&self, wake: &Wake, runtime: &tokio::runtime::Handle) -> Result<(), StartError> {
        if wake.is_none() {
            return Ok(());
        }
        let mut unfinished = self.inner.store.unfinished().await.map_err(StartError::Store)?;
        unfinished.retain(|thread| wake.chooses(thread));
        let inner = Arc::downgrade(&self.inner);
        runtime.spawn(async move {
            for thread in unfinished {
                let Some(inner) = inner.upgrade() else { return };
                let (reply, awake) = oneshot::channel();
                // One after the other: a store full of unfinished threads is not loaded all at once.
                if inner.command(&thread, Command::Wake { reply }).await.is_ok()
                    && let Ok(Err(error)) = awake.await
                {
                    tracing::debug!(%thread, %error, "an unfinished thread is left to somebody else");
                }
            }
        });
        Ok(())
    }
}

impl<R: Send + 'static> Clone for RunningSystem<R> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<R: Send + 'static> std::fmt::Debug for RunningSystem<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningSystem").field("shards", &self.inner.shards.len()).finish_non_exhaustive()
    }
}

impl<R: Send + 'static> Inner<R> {
    fn new<F>(shards: Vec<mpsc::Sender<ShardMessage<R>>>, parts: &SystemParts<F>) -> Arc<Self> {
        Arc::new(Self {
            shards,
            shut_down: AtomicBool::new(false),
            lifecycle: broadcast::channel(LIFECYCLE_BACKLOG).0,
            store: parts.store.clone(),
            clock: parts.clock.clone(),
            os_threads: Mutex::default(),
        })
    }

    /// Sends a command to the shard of a thread's tree.
    async fn command(&self, thread: &ThreadId, command: Command<R>) -> Result<(), SendError> {
        let shard = &self.shards[shard_of(thread, self.shards.len())];
        let message = ShardMessage::ForThread(thread.clone(), command);
        shard.send(message).await.map_err(|_| SendError::ShutDown)
    }

    fn os_threads(&self) -> std::sync::MutexGuard<'_, Vec<std::thread::JoinHandle<()>>> {
        self.os_threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All threads of a tree live on the shard of its root.
fn shard_of(thread: &ThreadId, shards: usize) -> usize {
    // FNV-1a: the same on every run and every platform.
    let hash = thread
        .root()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    usize::try_from(hash % shards as u64).unwrap_or(0)
}

/// The way back for running calls. It does not keep the system alive.
struct SystemSink<R>(Weak<Inner<R>>);

#[async_trait]
impl<R: Send + 'static> InputSink for SystemSink<R> {
    async fn deliver(&self, thread: &ThreadId, input: NewInput) -> Result<Acceptance, SendError> {
        check_input(&input.input)?;
        let inner = self.0.upgrade().ok_or(SendError::ShutDown)?;
        let (reply, accepted) = oneshot::channel();
        inner.command(thread, Command::Accept { inputs: vec![input], create: false, reply }).await?;
        drop(inner);
        let acceptances = accepted.await.unwrap_or(Err(SendError::ShutDown))?;
        acceptances.first().copied().ok_or(SendError::ShutDown)
    }

    fn show(&self, thread: &ThreadId, event: AgentEvent) {
        let Some(inner) = self.0.upgrade() else { return };
        let shard = &inner.shards[shard_of(thread, inner.shards.len())];
        // Lost when the shard is busy, as its doc says.
        drop(shard.try_send(ShardMessage::ForThread(thread.clone(), Command::Show(event))));
    }
}
