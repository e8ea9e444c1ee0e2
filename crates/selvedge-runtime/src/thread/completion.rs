//! One completion: attempts at the model until one succeeds, is interrupted, or the last has failed.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};
use std::time::Duration;

use selvedge_event::{
    AgentEvent, Arguments, AssistantMessage, Block, Discard, FailureKind, Outcome, Step, Text, Usage,
};
use selvedge_model::{ModelError, ModelEvent, ModelRequest, ModelStream, StopReason};
use selvedge_observer::ThreadObserver;

use super::Thread;
use super::answer::Answer;
use crate::error::with_sources;
use crate::limits::backoff;
use crate::{StepError, ThreadConfig, ToolSet};

/// The longest wait that a provider may ask for; a longer one is a failure for good.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(120);

/// How an attempt ended.
enum AttemptEnd {
    Finished(StopReason),
    Interrupted,
    Failed(ModelError),
}

impl<O: ThreadObserver> Thread<O> {
    /// Asks the model, as often as it is worth it. What it returns is shown, except for its end.
    ///
    /// # Errors
    /// When the observer panics.
    pub(super) async fn complete(
        &self,
        step: Step,
        config: &ThreadConfig,
        request: ModelRequest,
    ) -> Result<AssistantMessage, StepError> {
        let limits = &self.env.limits;
        let mut usage = Usage::default();
        for attempt in 1.. {
            let end = self.attempt(step, attempt, config, request.clone()).await?;
            let answer = self.take_answer();
            usage += answer.usage();
            let message = |blocks, outcome| AssistantMessage {
                attempt,
                model: config.model.model().clone().into(),
                blocks,
                outcome,
                usage,
            };
            match end {
                AttemptEnd::Finished(reason) => {
                    // What the provider cut off is shown, and its reasoning never replayed.
                    let blocks = self.end_answer(answer, reason == StopReason::Done)?;
                    let outcome = outcome_of(reason, &blocks);
                    return Ok(message(blocks, outcome));
                }
                AttemptEnd::Interrupted => {
                    let blocks = self.end_answer(answer, false)?;
                    return Ok(message(blocks, Outcome::Interrupted));
                }
                AttemptEnd::Failed(error) => {
                    self.emit(&AgentEvent::TurnDiscarded { step, attempt, scope: Discard::Attempt })?;
                    tracing::warn!(thread = %self.id, step, attempt, %error, "a completion failed");
                    let wait = error.retry_after().unwrap_or_else(|| backoff(limits.attempt_backoff, attempt));
                    if !error.is_retryable() || attempt >= limits.attempts || wait > LONGEST_RETRY_AFTER {
                        return Ok(message(Vec::new(), failed(error.kind(), with_sources(&error))));
                    }
                    let error = with_sources(&error);
                    self.info(format!("the model failed ({error}); trying again in {:.1} s", wait.as_secs_f32()));
                    if self.wait_or_interrupt(wait).await {
                        return Ok(message(Vec::new(), Outcome::Interrupted));
                    }
                }
            }
        }
        unreachable!("bug: attempts are bounded")
    }

    async fn attempt(
        &self,
        step: Step,
        attempt: u32,
        config: &ThreadConfig,
        request: ModelRequest,
    ) -> Result<AttemptEnd, StepError> {
        if let Some(partial) = &mut self.state.borrow_mut().partial {
            partial.attempt = Some((attempt, Answer::new(step)));
        }
        self.emit(&AgentEvent::CompletionStarted { step, attempt })?;
        let stream = catch_unwind(AssertUnwindSafe(|| config.model.complete(request)));
        let Ok(mut stream) = stream else { return Ok(AttemptEnd::Failed(provider_panicked())) };
        let mut events = Vec::new();
        loop {
            if let Some(end) = poll_fn(|cx| self.poll_stream(&mut stream, &config.tools, &mut events, cx)).await? {
                return Ok(end);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Takes in what the model streams, until the attempt ends; `None` when subscribers and inputs are due for a turn.
    ///
    /// Whatever is there is taken in together and then shown: a fast model's text costs no more machinery than it must.
    /// Nobody can attach, nor interrupt, in between. `events` is empty between two calls, and keeps its memory.
    fn poll_stream(
        &self,
        stream: &mut ModelStream,
        tools: &ToolSet,
        events: &mut Vec<AgentEvent>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<AttemptEnd>, StepError>> {
        if self.interrupt.is_raised() {
            return Poll::Ready(Ok(Some(AttemptEnd::Interrupted)));
        }
        let taken = {
            let mut state = self.state.borrow_mut();
            let answer = state.partial.as_mut().and_then(|partial| partial.attempt.as_mut());
            let (_, answer) = answer.expect("bug: an attempt streams into its step's partial turn");
            take_in(stream, answer, tools, events, self.env.limits.events_between_yields, cx)
        };
        self.emit_all(events)?;
        match taken {
            Poll::Ready(end) => Poll::Ready(Ok(end)),
            Poll::Pending => self.interrupt.poll_raised(cx).map(|()| Ok(Some(AttemptEnd::Interrupted))),
        }
    }

    fn take_answer(&self) -> Answer {
        let mut state = self.state.borrow_mut();
        let attempt = state.partial.as_mut().and_then(|partial| partial.attempt.take());
        attempt.expect("bug: an attempt streams into its step's partial turn").1
    }

    fn end_answer(&self, answer: Answer, whole: bool) -> Result<Vec<Block>, StepError> {
        let mut events = Vec::new();
        let blocks = answer.end(whole, &mut |event| events.push(event));
        self.emit_all(&mut events)?;
        Ok(blocks)
    }

    /// Waits; whether it was interrupted.
    async fn wait_or_interrupt(&self, wait: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.interrupt.raised() => true,
            () = tokio::time::sleep(wait) => false,
        }
    }
}

/// Takes up to `most` pieces of a stream into an answer, with the events that show them. A stream that ends without the
/// protocol's end, or panics, has failed. Ready with `None` when it has taken `most`.
fn take_in(
    stream: &mut ModelStream,
    answer: &mut Answer,
    tools: &ToolSet,
    events: &mut Vec<AgentEvent>,
    most: u32,
    cx: &mut Context<'_>,
) -> Poll<Option<AttemptEnd>> {
    let taken = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..most {
            let end = match stream.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(ModelEvent::Finished(reason)))) => AttemptEnd::Finished(reason),
                Poll::Ready(Some(Ok(event))) => {
                    answer.push(event, |name, arguments| display(tools, name, arguments), &mut |event| {
                        events.push(event)
                    });
                    continue;
                }
                Poll::Ready(Some(Err(error))) => AttemptEnd::Failed(error),
                Poll::Ready(None) => {
                    let cut = ModelError::new(FailureKind::Truncated, "the stream ended before the answer did");
                    AttemptEnd::Failed(cut)
                }
                Poll::Pending => return Poll::Pending,
            };
            return Poll::Ready(Some(end));
        }
        Poll::Ready(None)
    }));
    taken.unwrap_or_else(|_| Poll::Ready(Some(AttemptEnd::Failed(provider_panicked()))))
}

fn outcome_of(reason: StopReason, blocks: &[Block]) -> Outcome {
    match reason {
        StopReason::Length => Outcome::Length,
        StopReason::ContentFilter => Outcome::ContentFilter,
        StopReason::Done if blocks.iter().any(|block| matches!(block, Block::ToolCall(_))) => Outcome::ToolCalls,
        StopReason::Done => Outcome::Stopped,
    }
}

pub(super) fn failed(failure: FailureKind, message: impl Into<Text>) -> Outcome {
    Outcome::Failed { failure, message: message.into() }
}

fn provider_panicked() -> ModelError {
    ModelError::new(FailureKind::Other, "the model's provider panicked")
}

/// How a tool wants a call shown. A tool that panics is not asked again for this call.
fn display(tools: &ToolSet, name: &str, arguments: &Arguments) -> Option<Text> {
    let tool = tools.get(name)?;
    let Arguments::Object(raw) = arguments else { return None };
    let arguments = serde_json::from_str(raw).ok()?;
    catch_unwind(AssertUnwindSafe(|| tool.display(&arguments))).ok()?.map(Into::into)
}
