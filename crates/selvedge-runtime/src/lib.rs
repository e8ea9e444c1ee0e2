//! The engine: steps, step mode, drivers, router, shards, interrupts, and tools in the embedder's process.
//!
//! Most embedders use it through the facade crate `selvedge`. Its two ways to run a thread share one pipeline:
//! - **Local mode**, [`RunningSystem`]: threads stay resident while they have something to do, each with a driver;
//!   anyone attaches to a running one.
//! - **Step mode**, [`StepRunner`]: one call runs one step and returns.
//!
//! Per step: events, then sync, then commit, then dispatch. A step takes inputs from the inbox, folds them into messages,
//! asks the model if that calls for an answer, and hands the turn to the barrier (`selvedge-barrier`), which alone can let
//! a call out to its [`Tool`].
//!
//! What it is not: it keeps nothing (a `ConversationStore` does), shows nothing (a `ThreadObserver` does), and speaks to no
//! network.

mod clock;
mod config;
mod error;
mod limits;
mod local;
mod sink;
mod step_mode;
mod thread;
mod tool;

pub use clock::{Clock, SystemClock};
pub use config::{Configure, ThreadConfig};
pub use error::{AnswerError, ForkError, SendError, StepError};
pub use limits::Limits;
pub use local::{Lifecycle, LifecycleKind, RunningSystem, StartError, SystemParts, Wake};
pub use step_mode::{StepParts, StepReport, StepRunner};
pub use tool::{
    Annotations, Chosen, FnTool, KeyOutcome, SubscriptionHandle, Tool, ToolContext, ToolOutput, ToolSet, ToolSetError,
    ToolSpec, tool,
};

use selvedge_event::Input;

/// The most bytes of text that one input may have.
const INPUT_BYTES: usize = 16 * 1024 * 1024;

/// Refuses what no thread can take: blank user text, and text without bound.
fn check_input(input: &Input) -> Result<(), SendError> {
    let text = match input {
        Input::UserText { text, .. } if text.trim().is_empty() => {
            return Err(SendError::Refused("user text is blank".into()));
        }
        Input::UserText { text, .. } | Input::SubscriptionEvent { text, .. } => text,
        Input::ViewUpdate(view) => &view.content,
        _ => return Ok(()),
    };
    if text.len() > INPUT_BYTES {
        return Err(SendError::Refused(format!("the text has {} bytes, the bound is {INPUT_BYTES}", text.len())));
    }
    Ok(())
}
