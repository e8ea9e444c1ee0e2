//! What a system is made of, and how that reaches its shards.

use std::num::NonZeroUsize;
use std::sync::Arc;

use selvedge_store::{ConversationStore, StoreError};

use super::wake::Wake;
use crate::sink::InputSink;
use crate::thread::Env;
use crate::tool::Dispatcher;
use crate::{Clock, Configure, Limits};

/// Everything that a system is made of.
#[derive(Clone)]
pub struct SystemParts<F> {
    /// Where threads are durable.
    pub store: Arc<dyn ConversationStore>,
    /// Makes the observer of each shard.
    pub observer: F,
    /// What threads run with.
    pub configure: Arc<dyn Configure>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Bounds and patience.
    pub limits: Limits,
    /// The runtime on which tools run.
    pub tools: tokio::runtime::Handle,
    /// How many shards; ignored by [`RunningSystem::start_local`](crate::RunningSystem::start_local).
    pub shards: NonZeroUsize,
    /// Which unfinished threads go on at once.
    pub wake: Wake,
    /// Who this is, for whoever asks for a thread that is driven here.
    pub label: String,
}

impl<F> std::fmt::Debug for SystemParts<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SystemParts").field("label", &self.label).field("shards", &self.shards).finish_non_exhaustive()
    }
}

/// Why a system did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store failed.
    #[error("the store failed")]
    Store(#[source] StoreError),
    /// A shard's OS thread could not be started.
    #[error("a shard could not be started")]
    Shard(#[source] std::io::Error),
}

/// What a shard's environment is made of, on its way to the shard.
pub(super) struct EnvParts {
    store: Arc<dyn ConversationStore>,
    configure: Arc<dyn Configure>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    dispatcher: Dispatcher,
}

impl EnvParts {
    pub(super) fn new<F>(parts: &SystemParts<F>, sink: Arc<dyn InputSink>) -> Self {
        let dispatcher = Dispatcher {
            store: parts.store.clone(),
            sink,
            clock: parts.clock.clone(),
            limits: parts.limits.clone(),
            runtime: parts.tools.clone(),
        };
        Self {
            store: parts.store.clone(),
            configure: parts.configure.clone(),
            clock: parts.clock.clone(),
            limits: parts.limits.clone(),
            dispatcher,
        }
    }

    pub(super) fn with_observer<O>(self, observer: O) -> Env<O> {
        let Self { store, configure, clock, limits, dispatcher } = self;
        Env { store, observer, configure, clock, limits, dispatcher }
    }
}
