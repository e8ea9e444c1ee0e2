//! The rehearsal: a scripted model that needs no key and shows everything that a thread can do.
//!
//! What it says follows from the request alone, so a thread that was killed goes on as if nothing had been. One thing
//! follows from memory: an attempt that is meant to fail fails once in a process, or it could never succeed.

mod script;
mod tools;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream;
use selvedge::event::{FailureKind, ModelRef};
use selvedge::model::{ModelError, ModelEvent, ModelRequest, ModelStream, validate};
use selvedge::prelude::ModelProvider;

use script::Script;
pub(crate) use tools::tools;

/// Answers by script, at the pace of somebody who types fast.
#[derive(Debug)]
pub(crate) struct Rehearsal {
    model: ModelRef,
    /// The pause before each word.
    pace: Duration,
    /// The length of the newest context whose first attempt has failed here.
    failed: Mutex<Option<usize>>,
}

impl Rehearsal {
    /// A rehearsal that pauses before each word.
    pub(crate) fn new(pace: Duration) -> Self {
        let model = ModelRef { api: "rehearsal".into(), provider: "selvedge".into(), model: "rehearsal".into() };
        Self { model, pace, failed: Mutex::new(None) }
    }

    /// The script for a request; cut off in its middle where this attempt is meant to fail.
    fn script(&self, request: &ModelRequest) -> Script {
        let script = script::answer(request);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if !script.fails_once || *failed == Some(request.context.len()) {
            return script;
        }
        *failed = Some(request.context.len());
        script.cut_off()
    }
}

impl ModelProvider for Rehearsal {
    fn model(&self) -> &ModelRef {
        &self.model
    }

    fn complete(&self, request: ModelRequest) -> ModelStream {
        let script = match validate(&request) {
            Ok(()) => self.script(&request),
            Err(violation) => Script::failing(ModelError::new(FailureKind::InvalidRequest, violation.to_string())),
        };
        let pace = self.pace;
        Box::pin(stream::unfold(script.into_events(), move |mut events| async move {
            let event = events.next()?;
            if matches!(event, Ok(ModelEvent::Text(_) | ModelEvent::Reasoning(_))) && !pace.is_zero() {
                tokio::time::sleep(pace).await;
            }
            Some((event, events))
        }))
    }
}
