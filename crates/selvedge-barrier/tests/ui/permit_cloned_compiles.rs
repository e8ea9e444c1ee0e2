//! What a permit is for can be cloned.

use std::sync::Arc;

use selvedge_barrier::DispatchPermit;
use selvedge_event::ToolCall;

fn double(permit: DispatchPermit) -> (Arc<ToolCall>, DispatchPermit) {
    (permit.call().clone(), permit)
}

fn main() {
    let _ = double;
}
