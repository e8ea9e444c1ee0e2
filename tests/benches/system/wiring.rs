//! Models and runs that the measurements share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use selvedge::event::{ModelRef, Text};
use selvedge::model::{ModelEvent, ModelRequest, ModelStream, StopReason};
use selvedge::prelude::*;
use selvedge::runtime::{Lifecycle, LifecycleKind, Limits};
use tokio::sync::broadcast::Receiver;

/// An answer, made as it is streamed.
pub(crate) type Answer = Box<dyn Iterator<Item = ModelEvent> + Send>;

/// A model whose every answer is made by a function, without locks or memory.
pub(crate) struct Made<F> {
    model: ModelRef,
    answer: F,
}

pub(crate) fn made<F>(answer: F) -> Made<F>
where
    F: Fn(&ModelRequest) -> Answer + Send + Sync + 'static,
{
    let model = ModelRef { api: "bench".into(), provider: "bench".into(), model: "bench".into() };
    Made { model, answer }
}

impl<F> std::fmt::Debug for Made<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Made")
    }
}

impl<F: Fn(&ModelRequest) -> Answer + Send + Sync> ModelProvider for Made<F> {
    fn model(&self) -> &ModelRef {
        &self.model
    }

    fn complete(&self, request: ModelRequest) -> ModelStream {
        Box::pin(futures_util::stream::iter((self.answer)(&request).map(Ok)))
    }
}

/// An answer of chunks.
pub(crate) fn chunks(count: usize) -> Answer {
    let chunk: Text = "a chunk of text ".into();
    let chunks = std::iter::repeat_n(ModelEvent::Text(chunk), count);
    Box::new(chunks.chain(std::iter::once(ModelEvent::Finished(StopReason::Done))))
}

/// An answer of one call.
pub(crate) fn call() -> Answer {
    let (name, arguments) = ("work".into(), r#"{"path":"src/main.rs","lines":[10,40]}"#.into());
    let call = ModelEvent::ToolCall { provider_id: Some("call_x".into()), name, arguments, native: None };
    Box::new([call, ModelEvent::Finished(StopReason::Done)].into_iter())
}

/// A tool that answers at once, and counts.
pub(crate) fn work(count: Arc<AtomicU64>) -> impl Tool {
    let schema = serde_json::json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "lines": { "type": "array", "items": { "type": "integer" } } },
        "required": ["path"]
    });
    tool(ToolSpec::new("work", "Works.").with_parameters(schema), move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok(ToolOutput::text("a result of some sixty bytes, as a small tool may well give it")) }
    })
}

pub(crate) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.completions_in_a_row = u32::MAX;
    limits.idle = Duration::from_millis(50);
    limits
}

/// Waits until `count` drivers have ended: until their threads are at rest.
pub(crate) async fn rest(lifecycle: &mut Receiver<Lifecycle>, count: usize) {
    let mut ended = 0;
    while ended < count {
        match lifecycle.recv().await {
            Ok(Lifecycle { kind: LifecycleKind::Gone, .. }) => ended += 1,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A runtime as an embedder has it.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}
