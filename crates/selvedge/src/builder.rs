//! How a system is put together.

use std::num::NonZeroUsize;
use std::sync::Arc;

use selvedge_event::Text;
use selvedge_model::ModelProvider;
use selvedge_observer::{NullObserver, ObserverFactory, ThreadObserver};
use selvedge_runtime::{
    Clock, Configure, Limits, RunningSystem, StartError, StepParts, StepRunner, SystemClock, SystemParts, ThreadConfig,
    Tool, ToolSet, ToolSetError, Wake,
};
use selvedge_store::{ConversationStore, StoreError};

/// The beginning of every system; see [`System::builder`].
#[derive(Debug, Clone, Copy)]
pub struct System;

impl System {
    /// A builder without a store and without a model, whose observer discards everything.
    pub fn builder() -> Builder<fn() -> NullObserver> {
        Builder {
            store: None,
            observer: || NullObserver,
            model: None,
            tools: Vec::new(),
            instructions: None,
            max_output_tokens: None,
            configure: None,
            clock: Arc::new(SystemClock),
            limits: Limits::default(),
            shards: NonZeroUsize::MIN,
            wake: Wake::default(),
            label: format!("{} (process {})", env!("CARGO_PKG_NAME"), std::process::id()),
        }
    }
}

/// Puts a system together: a store and a model are needed, everything else has a default.
pub struct Builder<F> {
    store: Option<Arc<dyn ConversationStore>>,
    observer: F,
    model: Option<Arc<dyn ModelProvider>>,
    tools: Vec<Arc<dyn Tool>>,
    instructions: Option<Text>,
    max_output_tokens: Option<u32>,
    configure: Option<Arc<dyn Configure>>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    shards: NonZeroUsize,
    wake: Wake,
    label: String,
}

/// Why a system could not be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No store was given.
    #[error("the system has no store: call store()")]
    NoStore,
    /// Neither a model nor a configuration was given.
    #[error("the system has no model: call model() or configure()")]
    NoModel,
    /// The tools do not make a set.
    #[error(transparent)]
    Tools(#[from] ToolSetError),
    /// The system did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
}

impl<F> Builder<F> {
    /// Where threads are durable.
    #[must_use]
    pub fn store(self, store: impl ConversationStore + 'static) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Where threads are durable, shared with somebody else.
    #[must_use]
    pub fn shared_store(mut self, store: Arc<dyn ConversationStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// The model that answers in every thread.
    #[must_use]
    pub fn model(self, model: impl ModelProvider + 'static) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// The model that answers in every thread, shared with somebody else.
    #[must_use]
    pub fn shared_model(mut self, model: Arc<dyn ModelProvider>) -> Self {
        self.model = Some(model);
        self
    }

    /// A tool that the model may call, in addition to those before it.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Instructions that stand before every conversation.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<Text>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// The most tokens of an answer.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u32) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// Decides per thread what it runs with; takes the place of the model, the tools and the instructions.
    #[must_use]
    pub fn configure(mut self, configure: impl Configure + 'static) -> Self {
        self.configure = Some(Arc::new(configure));
        self
    }

    /// Makes the observer of each shard, on that shard.
    #[must_use]
    pub fn observer<G: ObserverFactory>(self, observer: G) -> Builder<G> {
        Builder {
            observer,
            store: self.store,
            model: self.model,
            tools: self.tools,
            instructions: self.instructions,
            max_output_tokens: self.max_output_tokens,
            configure: self.configure,
            clock: self.clock,
            limits: self.limits,
            shards: self.shards,
            wake: self.wake,
            label: self.label,
        }
    }

    /// Another clock than the system's.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Other bounds than the defaults.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many shards: OS threads that share the threads among them. One by default.
    #[must_use]
    pub fn shards(mut self, shards: NonZeroUsize) -> Self {
        self.shards = shards;
        self
    }

    /// Which threads that an earlier process left unfinished go on when the system starts: all of the store's by default.
    /// Step mode wakes none.
    #[must_use]
    pub fn wake(mut self, wake: Wake) -> Self {
        self.wake = wake;
        self
    }

    /// Who this is, for whoever asks for a thread that is driven here.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
}

impl<F: ObserverFactory> Builder<F> {
    /// Starts the system on shards of its own. Tools run on the tokio runtime that this is called on, which must have
    /// its time driver enabled.
    ///
    /// # Errors
    /// See [`BuildError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    ///
    /// # Cancel safety
    /// Dropping the future starts nothing, or a system that stops at once.
    pub async fn start(self) -> Result<RunningSystem<Request<F>>, BuildError> {
        Ok(RunningSystem::start(self.system_parts()?).await?)
    }

    /// Starts the system on the caller's own `LocalSet`, as one shard.
    ///
    /// # Errors
    /// See [`BuildError`].
    ///
    /// # Panics
    /// Outside a `LocalSet`.
    ///
    /// # Cancel safety
    /// As [`start`](Self::start).
    pub async fn start_local(self) -> Result<RunningSystem<Request<F>>, BuildError> {
        Ok(RunningSystem::start_local(self.system_parts()?).await?)
    }

    /// Makes a runner of single steps, for step mode.
    ///
    /// # Errors
    /// See [`BuildError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    ///
    /// # Cancel safety
    /// Dropping the future makes no runner.
    pub async fn step_runner(self) -> Result<StepRunner<F::Observer>, BuildError> {
        let SystemParts { store, observer, configure, clock, limits, tools, label, .. } = self.system_parts()?;
        let observer = observer.observer();
        Ok(StepRunner::new(StepParts { store, observer, configure, clock, limits, tools, label }).await?)
    }

    fn system_parts(self) -> Result<SystemParts<F>, BuildError> {
        let configure: Arc<dyn Configure> = match (self.configure, self.model) {
            (Some(configure), _) => configure,
            (None, Some(model)) => Arc::new(ThreadConfig {
                model,
                tools: ToolSet::new(self.tools)?,
                system: self.instructions,
                max_output_tokens: self.max_output_tokens,
            }),
            (None, None) => return Err(BuildError::NoModel),
        };
        Ok(SystemParts {
            store: self.store.ok_or(BuildError::NoStore)?,
            observer: self.observer,
            configure,
            clock: self.clock,
            limits: self.limits,
            tools: tokio::runtime::Handle::current(),
            shards: self.shards,
            wake: self.wake,
            label: self.label,
        })
    }
}

/// What a subscriber hands to the observers of a factory.
type Request<F> = <<F as ObserverFactory>::Observer as ThreadObserver>::SubscribeRequest;

impl<F> std::fmt::Debug for Builder<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("label", &self.label).field("shards", &self.shards).finish_non_exhaustive()
    }
}
