//! Tools that are watched: which calls arrive, and whether they might.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use selvedge_event::{ItemKind, Message, ToolStatus};
use selvedge_model::Gate;
use selvedge_observer::BoxError;
use selvedge_runtime::{Tool, ToolContext, ToolOutput, ToolSpec};
use selvedge_store::ConversationStore;

use super::{Broken, CallSeen, Violation};
use crate::{Moment, Watcher};

/// Sees the calls of all tools that it wraps. Clones are the same.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The store behind every fault.
    store: Arc<dyn ConversationStore>,
    watcher: Watcher,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    calls: Vec<CallSeen>,
    /// Calls since the process started.
    in_process: u32,
    strike: Option<(u32, Moment, Gate)>,
    violations: Vec<Violation>,
}

impl Probe {
    /// A probe that has seen nothing. `store` is what is durable, `watcher` the observer of the same threads.
    pub fn new(store: Arc<dyn ConversationStore>, watcher: Watcher) -> Self {
        Self { store, watcher, inner: Arc::default() }
    }

    /// A tool whose calls are seen.
    pub fn watch(&self, tool: impl Tool + 'static) -> impl Tool + 'static {
        Probed { probe: self.clone(), tool }
    }

    /// Every time that a call reached its tool, in order.
    pub fn calls(&self) -> Vec<CallSeen> {
        self.lock().calls.clone()
    }

    /// What calls did that they may not do.
    pub(super) fn violations(&self) -> Vec<Violation> {
        self.lock().violations.clone()
    }

    /// A process has started; in its nth call, it is to be held.
    pub(super) fn arm(&self, strike: Option<(u32, Moment, Gate)>) {
        let mut inner = self.lock();
        inner.in_process = 0;
        inner.strike = strike;
    }

    /// Calls since the process started.
    pub(super) fn in_process(&self) -> u32 {
        self.lock().in_process
    }

    /// No call without a durable record of it, and none before its commit.
    async fn look(&self, call: &ToolContext) -> Vec<Violation> {
        let id = call.call_id();
        let recorded = is_recorded(&*self.store, call).await;
        let kept = self.watcher.kept(call.thread_id().as_str());
        let committed =
            kept.items().iter().any(|item| matches!(&item.kind, ItemKind::ToolCall { call_id, .. } if call_id == id));
        let mut violations = Vec::new();
        if !recorded {
            violations
                .push(Violation::new(Broken::CallUnrecorded, format!("{} is dispatched and not durable", call.key())));
        }
        if !committed {
            violations.push(Violation::new(
                Broken::CallUncommitted,
                format!("{} is dispatched and not committed", call.key()),
            ));
        }
        violations
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a call stands in the history and is open, or was interrupted while it was on its way.
async fn is_recorded(store: &dyn ConversationStore, call: &ToolContext) -> bool {
    let (thread, id) = (call.thread_id(), call.call_id());
    let (Ok(record), Ok(page)) = (store.load(thread).await, store.history(thread, None, u64::MAX).await) else {
        return false;
    };
    let (mut made, mut open) = (false, record.open_calls.iter().any(|open| open.call_id == *id));
    for message in page.turns.iter().flat_map(|turn| &turn.messages) {
        match message {
            Message::Assistant(answer) => made |= answer.calls().any(|known| known.id == *id),
            Message::ToolResult(result) => open |= result.call_id == *id && result.status == ToolStatus::Interrupted,
            _ => {}
        }
    }
    made && open
}

struct Probed<T> {
    probe: Probe,
    tool: T,
}

#[async_trait]
impl<T: Tool> Tool for Probed<T> {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    async fn call(&self, call: ToolContext) -> Result<ToolOutput, BoxError> {
        let strike = {
            let mut inner = self.probe.lock();
            inner.in_process += 1;
            let n = inner.in_process;
            inner.strike.take_if(|(nth, ..)| *nth == n)
        };
        if let Some((_, Moment::Before, gate)) = &strike {
            gate.pass().await;
        }
        let violations = self.probe.look(&call).await;
        {
            let mut inner = self.probe.lock();
            inner.violations.extend(violations);
            inner.calls.push(CallSeen { key: call.key(), attempt: call.attempt() });
        }
        let answer = self.tool.call(call).await;
        if let Some((_, Moment::After, gate)) = &strike {
            gate.pass().await;
        }
        answer
    }
}
