//! Calls that run in this process: how they start, are cancelled, answered, and report back.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use selvedge_barrier::DispatchPermit;
use selvedge_event::{CallId, ChoiceId, ChoiceResolution, Content, Input, Text, ThreadId, ToolReply, ToolStatus};
use selvedge_store::{ConversationStore, NewInput};
use tokio::sync::watch;

use super::{Tool, ToolContext, ToolOutput};
use crate::error::with_sources;
use crate::limits::backoff;
use crate::sink::InputSink;
use crate::{Clock, Limits, SendError};

/// The calls of one thread that run in this process. Whoever holds it knows which open calls are alive.
#[derive(Debug, Default)]
pub(crate) struct RunningCalls(RefCell<HashMap<CallId, RunningCall>>);

/// What a call wants of the user.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// The choices that it has put, answered or not.
    pub(super) choices: HashSet<ChoiceId>,
    /// How often it has asked the user to sign in.
    pub(super) sign_ins: u32,
}

#[derive(Debug)]
struct RunningCall {
    cancel: watch::Sender<bool>,
    answers: watch::Sender<HashMap<ChoiceId, ChoiceResolution>>,
    /// What the call has asked the user so far.
    asked: watch::Receiver<Asked>,
    /// The sign-ins that somebody has already stopped waiting for, to show them.
    sign_ins: Cell<u32>,
    /// Closed when the call's task has ended, its result delivered.
    done: watch::Receiver<()>,
}

impl RunningCalls {
    /// Whether a call was dispatched here and is not settled.
    pub(crate) fn contains(&self, id: &CallId) -> bool {
        self.0.borrow().contains_key(id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Asks a call to stop, and forgets it.
    pub(crate) fn cancel(&self, id: &CallId) {
        if let Some(call) = self.0.borrow_mut().remove(id) {
            call.cancel.send_replace(true);
        }
    }

    /// Asks every call to stop, and forgets them.
    pub(crate) fn cancel_all(&self) {
        for (_, call) in self.0.borrow_mut().drain() {
            call.cancel.send_replace(true);
        }
    }

    /// Forgets a call that is settled.
    pub(crate) fn settled(&self, id: &CallId) {
        self.0.borrow_mut().remove(id);
    }

    /// Tells a call what became of its question.
    pub(crate) fn resolve(&self, resolution: &ChoiceResolution) {
        if let Some(call) = self.0.borrow().get(&resolution.call_id) {
            call.answers.send_modify(|answers| {
                answers.insert(resolution.id.clone(), resolution.clone());
            });
        }
    }

    /// Waits until every call has delivered its result or waits for the user: for an answer, or for a sign-in that has
    /// not been waited for here before, so that it is shown.
    pub(crate) async fn settled_or_asking(&self) {
        let waits: Vec<_> = self.0.borrow().values().map(RunningCall::settled_or_asking).collect();
        for wait in waits {
            wait.await;
        }
        for call in self.0.borrow().values() {
            call.sign_ins.set(call.asked.borrow().sign_ins);
        }
    }
}

impl RunningCall {
    fn settled_or_asking(&self) -> impl Future<Output = ()> + use<> {
        let (mut asked, mut done) = (self.asked.clone(), self.done.clone());
        let (answers, sign_ins) = (self.answers.subscribe(), self.sign_ins.get());
        async move {
            let asking = |asked: &Asked| {
                asked.sign_ins > sign_ins || asked.choices.iter().any(|id| !answers.borrow().contains_key(id))
            };
            tokio::select! {
                // A call that can ask no more has ended, and delivers its result.
                Ok(_) = asked.wait_for(asking) => {}
                _ = done.changed() => {}
            }
        }
    }
}

/// Starts calls on the embedder's runtime.
pub(crate) struct Dispatcher {
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) sink: Arc<dyn InputSink>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    pub(crate) runtime: tokio::runtime::Handle,
}

impl Dispatcher {
    /// Sends a call out. `tool` is `None` if the thread has no tool of that name any more; `answers` are those that
    /// were given to an earlier try of the call.
    pub(crate) fn dispatch(
        &self,
        permit: DispatchPermit,
        tool: Option<Arc<dyn Tool>>,
        running: &RunningCalls,
        answers: HashMap<ChoiceId, ChoiceResolution>,
    ) {
        let (cancel, cancelled) = watch::channel(false);
        let (answer, answered) = watch::channel(answers);
        let (ask, asked) = watch::channel(Asked::default());
        let (end, done) = watch::channel(());
        let (thread, call_id) = (permit.thread().clone(), permit.call().id.clone());
        let name = permit.call().name.clone();
        let call = RunningCall { cancel, answers: answer, asked, sign_ins: Cell::new(0), done };
        running.0.borrow_mut().insert(call_id.clone(), call);

        let context = (self.sink.clone(), self.clock.clone());
        let context = ToolContext::new(permit, cancelled.clone(), answered, ask, context);
        let outbox = Outbox {
            thread,
            store: self.store.clone(),
            sink: self.sink.clone(),
            clock: self.clock.clone(),
            limits: self.limits.clone(),
        };
        let grace = self.limits.cancel_grace;
        let default_timeout = self.limits.tool_timeout;
        self.runtime.spawn(async move {
            let output = match tool {
                Some(tool) => run(&*tool, context, cancelled, default_timeout, grace).await,
                None => ToolOutput::error(format!("Error: there is no tool {name:?} any more.")),
            };
            outbox.deliver(output.into_reply(call_id)).await;
            drop(end);
        });
    }
}

/// Runs a call to its end, or to its timeout, or to the end of its grace after it was cancelled.
async fn run(
    tool: &dyn Tool,
    context: ToolContext,
    mut cancelled: watch::Receiver<bool>,
    default_timeout: Duration,
    grace: Duration,
) -> ToolOutput {
    let spec = tool.spec();
    let timeout = spec.timeout.or((!spec.annotations.long_running).then_some(default_timeout));
    let call = AssertUnwindSafe(tool.call(context)).catch_unwind();
    let out_of_time = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let out_of_grace = async {
        if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
            // Nobody can cancel it any more: the thread is gone or forgot the call, and the timeout bounds it.
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        result = call => match result {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => ToolOutput::error(format!("Error: {}", with_sources(&*error))),
            Err(_) => ToolOutput::error("Error: the tool panicked."),
        },
        () = out_of_time => {
            ToolOutput::error(format!("Error: the tool gave no result within {} s; it may have run.", timeout.unwrap_or_default().as_secs_f64()))
        }
        () = out_of_grace => ToolOutput::error("Error: the call was cancelled; it may have run."),
    }
}

/// Brings the result of a call back to its thread.
struct Outbox {
    thread: ThreadId,
    store: Arc<dyn ConversationStore>,
    sink: Arc<dyn InputSink>,
    clock: Arc<dyn Clock>,
    limits: Limits,
}

impl Outbox {
    /// Delivers a result, for as long as that makes sense: a full inbox and a store that fails are waited for.
    async fn deliver(&self, mut reply: ToolReply) {
        let call_id = reply.call_id.clone();
        let mut failures = 0;
        loop {
            match self.try_deliver(&mut reply).await {
                Ok(()) => return,
                Err(SendError::Full(_) | SendError::Store(_)) => {
                    failures += 1;
                    tokio::time::sleep(backoff(self.limits.retry_backoff, failures)).await;
                }
                Err(error) => {
                    // The thread or the system is gone; after a restart the call is found open and settled.
                    tracing::warn!(thread = %self.thread, call = %call_id, %error, "the result of a call found no thread");
                    return;
                }
            }
        }
    }

    async fn try_deliver(&self, reply: &mut ToolReply) -> Result<(), SendError> {
        self.bound(reply).await?;
        let id = format!("result:{}", reply.call_id).into();
        let input = NewInput { id, input: Input::ToolResult(reply.clone()), at: self.clock.now() };
        self.sink.deliver(&self.thread, input).await.map(drop)
    }

    /// Cuts long text to what the model reads, and keeps the whole of it as a blob.
    async fn bound(&self, reply: &mut ToolReply) -> Result<(), SendError> {
        let bound = self.limits.tool_text;
        let size: usize = reply.content.iter().map(text_len).sum();
        if size <= bound || reply.blob.is_some() {
            return Ok(());
        }
        let whole: Vec<u8> = reply.content.iter().flat_map(|content| text_of(content).bytes()).collect();
        let id: Text = reply.call_id.as_str().into();
        let bytes = whole.len() as u64;
        let cut = cut(&String::from_utf8_lossy(&whole), bound, &id);
        let kept = self.store.put_blob(&self.thread, &id, whole).await;
        kept.map_err(|error| SendError::from_store(&self.thread, error))?;
        let images = reply.content.iter().filter(|content| matches!(content, Content::Image { .. })).cloned();
        reply.content = std::iter::once(Content::Text { text: cut.into() }).chain(images).collect();
        reply.blob = Some(selvedge_event::BlobRef { id, bytes });
        Ok(())
    }
}

fn text_of(content: &Content) -> &str {
    match content {
        Content::Text { text } => text,
        Content::Image { .. } => "",
    }
}

fn text_len(content: &Content) -> usize {
    text_of(content).len()
}

/// The beginning and the end of a long text, with a marker between them; at most `bound` bytes of it.
fn cut(text: &str, bound: usize, blob: &str) -> String {
    let head = text.floor_char_boundary(bound * 3 / 4);
    let tail = text.ceil_char_boundary(text.len() - bound / 4);
    let left_out = tail - head;
    let (head, tail) = (&text[..head], &text[tail..]);
    format!("{head}\n[… {left_out} of {} bytes left out; the whole output is kept as {blob} …]\n{tail}", text.len())
}

/// A result that the runtime gives on behalf of a call that it does not dispatch, or whose end it does not know.
pub(crate) fn verdict(call_id: CallId, status: ToolStatus) -> selvedge_event::ToolResult {
    let text = match status {
        ToolStatus::NotExecuted => "Not executed: the call was interrupted before it was sent out.",
        ToolStatus::Interrupted => "Interrupted while it ran: the call may have executed.",
        ToolStatus::Unknown => "Outcome unknown: the process stopped while the call was open; it may have run.",
        ToolStatus::Ok | ToolStatus::Error => "",
    };
    selvedge_event::ToolResult::text(call_id, status, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_characters_and_says_so() {
        let cut = cut(&"é".repeat(1000), 101, "call_1_0");
        assert!(cut.starts_with("éé") && cut.ends_with("éé"));
        assert!(cut.contains("of 2000 bytes left out; the whole output is kept as call_1_0"), "{cut}");
        assert!(cut.len() < 250);
    }
}
