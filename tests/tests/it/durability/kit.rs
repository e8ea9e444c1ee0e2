//! What the tests of this binary share: a model that calls and then answers, and a tool that counts who reached it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use selvedge::event::{FailureKind, Message, ToolResult};
use selvedge::model::{Gate, ModelError, ModelRequest, RequestMessage};
use selvedge::prelude::*;
use selvedge::store::ToolDelivery;
use selvedge_tests::{Mode, World};

/// Both ways to drive a thread.
pub(crate) const MODES: [Mode; 2] = [Mode::Local, Mode::Step];

/// Both ways to deliver a call.
pub(crate) const DELIVERIES: [ToolDelivery; 2] = [ToolDelivery::AtLeastOnce, ToolDelivery::AtMostOnce];

/// A model that calls these tools once per user text, and says "done" to their results.
pub(crate) fn caller(tools: &'static [&'static str]) -> ScriptedModel {
    ScriptedModel::from_fn(move |request| match request.context.last() {
        Some(RequestMessage::User(_)) => {
            tools.iter().fold(Reply::text("let me see"), |reply, tool| reply.and_call(tool, "{}"))
        }
        _ => Reply::text("done"),
    })
}

/// A model that answers every text with "you said" and the text.
pub(crate) fn echo() -> ScriptedModel {
    ScriptedModel::from_fn(|request| match request.context.last() {
        Some(RequestMessage::User(text)) => Reply::text(format!("you said {text}")),
        _ => Reply::failing(ModelError::new(FailureKind::Other, "this model has no tools")),
    })
}

/// Who reached a tool: the key and the attempt of each call, in order. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Reached(Arc<Mutex<Vec<(String, u32)>>>);

impl Reached {
    pub(crate) fn note(&self, call: &ToolContext) {
        self.0.lock().unwrap().push((call.key(), call.attempt()));
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn all(&self) -> Vec<(String, u32)> {
        self.0.lock().unwrap().clone()
    }

    /// A tool that is counted here, and answers "acted".
    pub(crate) fn tool(&self, name: &str, delivery: ToolDelivery) -> impl Tool + 'static {
        self.held_tool(name, delivery, None)
    }

    /// A tool that is counted here, waits at a gate, and answers "acted".
    pub(crate) fn held_tool(&self, name: &str, delivery: ToolDelivery, gate: Option<&Gate>) -> impl Tool + 'static {
        let (reached, gate) = (self.clone(), gate.cloned());
        tool(ToolSpec::new(name, "Does something.").with_delivery(delivery), move |call: ToolContext| {
            reached.note(&call);
            let gate = gate.clone();
            async move {
                if let Some(gate) = gate {
                    gate.pass().await;
                }
                Ok(ToolOutput::text("acted"))
            }
        })
    }
}

/// The texts of the user's messages in a history, in order.
pub(crate) fn user_texts(messages: &[Message]) -> Vec<String> {
    let users = messages.iter().filter_map(|message| match message {
        Message::User(user) => Some(user.text.to_string()),
        _ => None,
    });
    users.collect()
}

/// The results in a history, in order.
pub(crate) fn results(messages: &[Message]) -> Vec<Arc<ToolResult>> {
    let results = messages.iter().filter_map(|message| match message {
        Message::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    results.collect()
}

/// What the model read as the results of its newest calls.
pub(crate) fn results_read(request: &ModelRequest) -> Vec<String> {
    let newest = request.context.iter().filter_map(|message| match message {
        RequestMessage::ToolResults(answered) => Some(answered),
        _ => None,
    });
    newest.last().map(|answered| answered.iter().map(|one| one.result.joined_text()).collect()).unwrap_or_default()
}

/// Lets everything that can happen within ten seconds happen.
pub(crate) async fn a_while() {
    tokio::time::sleep(Duration::from_secs(10)).await;
}

/// Sends an input again and again until it is accepted.
pub(crate) async fn insist(world: &World, thread: &str, text: &str) {
    for _ in 0..50 {
        if world.send(thread, text, Input::text(text)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{text:?} is not accepted");
}
