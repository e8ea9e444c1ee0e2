//! The right to send one call out, once.

use std::sync::Arc;

use selvedge_event::{Step, ThreadId, ToolCall};
use selvedge_store::ToolDelivery;

/// The right to dispatch one call of a committed turn. It cannot be made, cloned or used twice; it is consumed by the
/// dispatch.
#[derive(Debug)]
#[must_use = "a permit that is dropped leaves its call open and never dispatched"]
pub struct DispatchPermit {
    thread: ThreadId,
    step: Step,
    call: Arc<ToolCall>,
    delivery: ToolDelivery,
    attempt: u32,
}

impl DispatchPermit {
    pub(crate) fn new(thread: ThreadId, step: Step, call: Arc<ToolCall>, delivery: ToolDelivery, attempt: u32) -> Self {
        Self { thread, step, call, delivery, attempt }
    }

    /// The thread that calls.
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// The step whose commit gave the permit.
    pub fn step(&self) -> Step {
        self.step
    }

    /// The call.
    pub fn call(&self) -> &Arc<ToolCall> {
        &self.call
    }

    /// How often the call may reach its tool.
    pub fn delivery(&self) -> ToolDelivery {
        self.delivery
    }

    /// Which try this is: 1 if the call has certainly not reached its tool before, more if it may have.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The idempotency key: the same for every try of this call, and no other call's, in any thread.
    pub fn key(&self) -> String {
        format!("{}/{}", self.thread, self.call.id)
    }
}
