//! A permit's parts can be read.

use std::sync::Arc;

use selvedge_barrier::DispatchPermit;
use selvedge_event::{ThreadId, ToolCall};
use selvedge_store::ToolDelivery;

fn read(permit: &DispatchPermit) -> (ThreadId, u64, Arc<ToolCall>, ToolDelivery, u32) {
    (permit.thread().clone(), permit.step(), permit.call().clone(), permit.delivery(), permit.attempt())
}

fn main() {
    let _ = read;
}
