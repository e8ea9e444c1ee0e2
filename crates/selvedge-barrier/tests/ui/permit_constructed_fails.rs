//! A permit's constructor is the barrier's own.

use std::sync::Arc;

use selvedge_barrier::DispatchPermit;
use selvedge_event::{ThreadId, ToolCall};
use selvedge_store::ToolDelivery;

fn construct(thread: ThreadId, call: Arc<ToolCall>) -> DispatchPermit {
    DispatchPermit::new(thread, 1, call, ToolDelivery::AtMostOnce, 1)
}

fn main() {}
