//! A permit cannot be made of its parts.

use std::sync::Arc;

use selvedge_barrier::DispatchPermit;
use selvedge_event::{ThreadId, ToolCall};
use selvedge_store::ToolDelivery;

fn forge(thread: ThreadId, call: Arc<ToolCall>) -> DispatchPermit {
    DispatchPermit { thread, step: 1, call, delivery: ToolDelivery::AtMostOnce, attempt: 1 }
}

fn main() {}
