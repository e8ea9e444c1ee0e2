//! From a thread's history to what a model is asked.
//!
//! The projection cannot express what providers are known to refuse: each call gets exactly one result, adjacent and
//! in call order; nothing is blank; broken arguments are replaced by `{}` (their error result tells the model what it
//! wrote); reasoning goes only to the model that made it, whole or not at all.
//!
//! It is incremental: pushing a message costs that message, and what was projected before is never touched again, so
//! that encoded bytes can be kept.

use std::sync::Arc;

use selvedge_event::{
    Arguments, AssistantMessage, Block, CallId, Content, Message, ModelRef, SubscriptionMessage, Text, ToolCall,
    ToolResult, ToolStatus,
};

use crate::{AnsweredCall, Context, RequestMessage};

/// Projects a history, message by message, for one model.
#[derive(Debug, Clone)]
pub struct Projector {
    model: ModelRef,
    ready: Context,
    waiting: Option<Waiting>,
    wants_answer: bool,
}

/// A message with calls that do not all have their result; nothing of it is in the context yet.
#[derive(Debug, Clone)]
struct Waiting {
    assistant: RequestMessage,
    calls: Vec<PendingCall>,
    /// What came meanwhile, and stands after the results.
    deferred: Vec<RequestMessage>,
}

#[derive(Debug, Clone)]
struct PendingCall {
    id: CallId,
    name: Text,
    result: Option<Arc<ToolResult>>,
}

impl Projector {
    /// A projection of nothing, for a model.
    pub fn new(model: ModelRef) -> Self {
        Self { model, ready: Context::default(), waiting: None, wants_answer: false }
    }

    /// Takes in the next message of the history.
    pub fn push(&mut self, message: &Message) {
        // A result whose call is in a damaged record reaches no model, so it calls for no answer either.
        let is_stray = |result: &ToolResult| !self.open_calls().any(|call| *call == result.call_id);
        if !matches!(message, Message::ToolResult(result) if is_stray(result)) {
            self.wants_answer = answer_wanted(message).unwrap_or(self.wants_answer);
        }
        match message {
            Message::User(user) => self.add(RequestMessage::User(user.text.clone())),
            Message::Assistant(assistant) => self.push_assistant(assistant),
            Message::ToolResult(result) => self.push_result(result),
            Message::SubscriptionEvent(event) => self.push_event(event),
            Message::Compaction(compaction) => {
                self.ready = Context::default();
                self.ready.push(RequestMessage::User(compaction.summary.clone()));
            }
        }
    }

    /// The conversation as far as all its calls have their results. Not to be sent while
    /// [`is_waiting`](Self::is_waiting).
    pub fn context(&self) -> &Context {
        &self.ready
    }

    /// Whether calls of the newest answer are without a result.
    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Whether something has been said since the model's last answer that calls for another. Results of interrupted
    /// calls alone do not.
    pub fn wants_answer(&self) -> bool {
        self.wants_answer
    }

    /// The calls of the newest answer that are without a result.
    pub fn open_calls(&self) -> impl Iterator<Item = &CallId> {
        let calls = self.waiting.iter().flat_map(|waiting| &waiting.calls);
        calls.filter(|call| call.result.is_none()).map(|call| &call.id)
    }

    fn add(&mut self, message: RequestMessage) {
        match &mut self.waiting {
            Some(waiting) => waiting.deferred.push(message),
            None => self.append(message),
        }
    }

    /// A conversation begins with the user, also where the record of its beginning is damaged.
    fn append(&mut self, message: RequestMessage) {
        if self.ready.is_empty() && !matches!(message, RequestMessage::User(_)) {
            self.ready.push(RequestMessage::User("(The beginning of the conversation is lost.)".into()));
        }
        self.ready.push(message);
    }

    fn push_assistant(&mut self, assistant: &AssistantMessage) {
        // The model is not asked while a call is open: if it answers all the same, the results' records are damaged.
        self.settle_lost_calls();
        let same_model = *assistant.model == self.model;
        let blocks: Vec<Block> =
            assistant.blocks.iter().filter_map(|block| sendable_block(block, same_model)).collect();
        let only_reasoning = blocks.iter().all(|block| matches!(block, Block::Reasoning { .. }));
        if only_reasoning {
            return;
        }
        let message = RequestMessage::Assistant { model: assistant.model.clone(), blocks };
        let calls: Vec<PendingCall> = assistant
            .calls()
            .map(|call| PendingCall { id: call.id.clone(), name: call.name.clone(), result: None })
            .collect();
        if calls.is_empty() {
            self.add(message);
        } else {
            self.waiting = Some(Waiting { assistant: message, calls, deferred: Vec::new() });
        }
    }

    fn push_result(&mut self, result: &Arc<ToolResult>) {
        let Some(waiting) = &mut self.waiting else { return };
        let open = waiting.calls.iter_mut().find(|call| call.id == result.call_id && call.result.is_none());
        let Some(open) = open else { return };
        open.result = Some(sendable_result(result));
        if waiting.calls.iter().all(|call| call.result.is_some()) {
            self.close();
        }
    }

    fn settle_lost_calls(&mut self) {
        let lost: Vec<CallId> = self.open_calls().cloned().collect();
        for call in lost {
            let remark = ToolResult::text(call, ToolStatus::Error, "Error: the record of this result is damaged.");
            self.push_result(&Arc::new(remark));
        }
    }

    /// Moves a message whose calls are all answered, and what waited for them, into the context.
    fn close(&mut self) {
        let Some(waiting) = self.waiting.take() else { return };
        self.append(waiting.assistant);
        let results = waiting.calls.into_iter().filter_map(|call| {
            let name = call.name;
            call.result.map(|result| AnsweredCall { name, result })
        });
        self.append(RequestMessage::ToolResults(results.collect()));
        for message in waiting.deferred {
            self.append(message);
        }
    }

    /// News from a subscription reaches the model as a call of the original tool's event and its result.
    fn push_event(&mut self, event: &SubscriptionMessage) {
        let name: Text = RESERVED_EVENT_TOOL.into();
        let call = ToolCall {
            id: event.event_id.clone(),
            provider_id: None,
            name: name.clone(),
            arguments: Arguments::Object(event_arguments(event)),
            display_as: None,
            native: None,
        };
        let result = ToolResult::text(event.event_id.clone(), ToolStatus::Ok, event.text.clone());
        self.add(RequestMessage::Assistant {
            model: self.model.clone().into(),
            blocks: vec![Block::ToolCall(Arc::new(call))],
        });
        self.add(RequestMessage::ToolResults(vec![AnsweredCall { name, result: sendable_result(&Arc::new(result)) }]));
    }
}

/// Whether a message calls for an answer of the model, or is one; `None` where that is as it was before it.
pub fn answer_wanted(message: &Message) -> Option<bool> {
    match message {
        Message::User(_) | Message::SubscriptionEvent(_) => Some(true),
        Message::Assistant(_) => Some(false),
        Message::ToolResult(result) => {
            (!matches!(result.status, ToolStatus::Interrupted | ToolStatus::NotExecuted)).then_some(true)
        }
        Message::Compaction(_) => None,
    }
}

/// The tool name under which a model reads news of its subscriptions. It may not call it itself.
pub const RESERVED_EVENT_TOOL: &str = "subscription_event";

fn event_arguments(event: &SubscriptionMessage) -> Text {
    let arguments: serde_json::Value = serde_json::from_str(event.arguments.raw()).unwrap_or_default();
    let value = serde_json::json!({
        "original_tool_name": &*event.tool,
        "original_tool_call_id": event.call_id,
        "original_args": arguments,
    });
    value.to_string().into()
}

fn sendable_block(block: &Block, same_model: bool) -> Option<Block> {
    match block {
        Block::Text { text, native } => (!text.trim().is_empty())
            .then(|| Block::Text { text: text.clone(), native: native.clone().filter(|_| same_model) }),
        Block::Reasoning { complete, .. } => (same_model && *complete).then(|| block.clone()),
        Block::ToolCall(call) if matches!(call.arguments, Arguments::Broken(_)) => {
            let arguments = Arguments::Object("{}".into());
            Some(Block::ToolCall(Arc::new(ToolCall { arguments, native: None, ..ToolCall::clone(call) })))
        }
        Block::ToolCall(call) if call.native.is_some() && !same_model => {
            Some(Block::ToolCall(Arc::new(ToolCall { native: None, ..ToolCall::clone(call) })))
        }
        Block::ToolCall(_) => Some(block.clone()),
    }
}

/// A result that says something: an empty one becomes a remark.
fn sendable_result(result: &Arc<ToolResult>) -> Arc<ToolResult> {
    let blank = |content: &Content| matches!(content, Content::Text { text } if text.trim().is_empty());
    if !result.content.is_empty() && !result.content.iter().any(blank) {
        return result.clone();
    }
    let mut content: Vec<Content> = result.content.iter().filter(|content| !blank(content)).cloned().collect();
    if content.is_empty() {
        content.push(Content::Text { text: "(no output)".into() });
    }
    Arc::new(ToolResult { content: content.into(), ..ToolResult::clone(result) })
}
