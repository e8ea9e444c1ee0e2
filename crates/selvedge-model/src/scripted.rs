//! A model that answers by script and checks every request that it gets.

mod gate;
mod reply;

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll};

use futures_core::Stream;
use selvedge_event::{Block, FailureKind, ModelRef, Text};

pub use gate::Gate;
use reply::Piece;
pub use reply::Reply;

use crate::{ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, RequestMessage, StopReason, validate};

/// Answers by script: a list of replies in order, or a function of the request. Clones share the script.
///
/// Every request is checked by [`validate`], and its reasoning compared byte for byte with what this model has streamed.
/// A request that breaks a rule is answered by an error, kept in [`violations`](Self::violations), and makes the drop of
/// a handle panic: a test whose requests are not sendable fails, whatever else it asserts.
#[derive(Clone)]
pub struct ScriptedModel {
    model: ModelRef,
    inner: Arc<Mutex<Inner>>,
}

type Script = Box<dyn FnMut(&ModelRequest) -> Reply + Send>;

struct Inner {
    script: Script,
    requests: Vec<ModelRequest>,
    keep_requests: bool,
    check: bool,
    violations: Vec<String>,
    /// The native JSON of all reasoning that was streamed.
    reasoning: Vec<Text>,
}

impl ScriptedModel {
    /// A model that gives these replies, one per request; each further request fails for good.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        Self::from_fn(move |_| {
            let over = || Reply::failing(ModelError::new(FailureKind::Other, "the script is over"));
            replies.pop_front().unwrap_or_else(over)
        })
    }

    /// A model whose replies follow from the requests.
    pub fn from_fn(script: impl FnMut(&ModelRequest) -> Reply + Send + 'static) -> Self {
        let inner = Inner {
            script: Box::new(script),
            requests: Vec::new(),
            keep_requests: true,
            check: true,
            violations: Vec::new(),
            reasoning: Vec::new(),
        };
        Self { model: Self::model_ref("scripted"), inner: Arc::new(Mutex::new(inner)) }
    }

    /// The same script under another model name: another model, where reasoning is concerned.
    #[must_use]
    pub fn named(mut self, model: &str) -> Self {
        self.model = Self::model_ref(model);
        self
    }

    /// The same script without check and without memory of its requests: for benchmarks.
    #[must_use]
    pub fn unchecked(self) -> Self {
        let mut inner = self.lock();
        inner.check = false;
        inner.keep_requests = false;
        drop(inner);
        self
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.lock().requests.clone()
    }

    /// The rules that requests broke so far, and clears them.
    pub fn violations(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().violations)
    }

    fn model_ref(model: &str) -> ModelRef {
        ModelRef { api: "scripted".into(), provider: "selvedge".into(), model: model.into() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &ModelRequest) -> Reply {
        let mut inner = self.lock();
        if inner.keep_requests {
            inner.requests.push(request.clone());
        }
        if inner.check
            && let Err(violation) = check(request, &inner.reasoning)
        {
            inner.violations.push(violation.clone());
            return Reply::failing(ModelError::new(FailureKind::InvalidRequest, violation));
        }
        let reply = (inner.script)(request);
        let natives = reply.pieces.iter().filter_map(|piece| match piece {
            Piece::Event(ModelEvent::ReasoningEnded { native }) => native.clone(),
            _ => None,
        });
        let natives: Vec<Text> = natives.collect();
        inner.reasoning.extend(natives);
        reply
    }
}

/// Oracle V: the public rules, and reasoning as it was streamed.
fn check(request: &ModelRequest, streamed: &[Text]) -> Result<(), String> {
    validate(request).map_err(|violation| violation.to_string())?;
    for message in request.context.iter() {
        let RequestMessage::Assistant { blocks, .. } = message else { continue };
        for block in blocks {
            if let Block::Reasoning { native: Some(native), .. } = block
                && !streamed.is_empty()
                && !streamed.contains(native)
            {
                return Err(format!("reasoning is not as it was streamed: {native}"));
            }
        }
    }
    Ok(())
}

impl ModelProvider for ScriptedModel {
    fn model(&self) -> &ModelRef {
        &self.model
    }

    fn complete(&self, request: ModelRequest) -> ModelStream {
        Box::pin(Answer { pieces: self.answer(&request).pieces.into(), over: false })
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let violations = self.violations();
            assert!(violations.is_empty(), "requests that no provider would take: {violations:#?}");
        }
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("model", &self.model).finish_non_exhaustive()
    }
}

/// A reply as a stream.
struct Answer {
    pieces: VecDeque<Piece>,
    over: bool,
}

impl Stream for Answer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.over {
                return Poll::Ready(None);
            }
            match self.pieces.pop_front() {
                None => {
                    self.over = true;
                    return Poll::Ready(Some(Ok(ModelEvent::Finished(StopReason::Done))));
                }
                Some(Piece::Event(event)) => {
                    self.over = matches!(event, ModelEvent::Finished(_));
                    return Poll::Ready(Some(Ok(event)));
                }
                Some(Piece::Fail(error)) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(error)));
                }
                Some(Piece::Cut) => self.over = true,
                Some(Piece::Yield) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Piece::Wait(gate)) => {
                    if !gate.poll_open(cx) {
                        self.pieces.push_front(Piece::Wait(gate));
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}
