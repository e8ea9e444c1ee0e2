//! Generated histories, as threads make them: calls in parallel, results in any order, news and texts in between,
//! interruptions, broken arguments, failures, compactions.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use selvedge_event::{
    Arguments, AssistantMessage, Block, CallId, CompactionSummary, FailureKind, Message, ModelRef, Outcome, Step,
    SubscriptionMessage, ToolCall, ToolResult, ToolStatus, Usage, UserMessage,
};

/// What happens next in a history.
#[derive(Debug, Clone)]
pub(crate) enum Next {
    User,
    /// The model, if no call is open: which one, its blocks.
    Model(&'static str, Vec<Said>),
    Failure,
    /// The result of one of the open calls, by its place among them.
    Result(usize, ToolStatus, &'static str),
    /// A result that nobody waits for.
    StrayResult,
    News,
    Compaction,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Said {
    Text(&'static str),
    Reasoning { complete: bool },
    Call { broken: bool },
}

pub(crate) fn model(name: &str) -> ModelRef {
    ModelRef { api: "test".into(), provider: "here".into(), model: name.into() }
}

pub(crate) fn history() -> impl Strategy<Value = Vec<Message>> {
    proptest::collection::vec(next(), 0..40).prop_map(|plan| messages(&plan))
}

fn next() -> impl Strategy<Value = Next> {
    let said = prop_oneof![
        2 => select(vec!["a", " b ", " \n", ""]).prop_map(Said::Text),
        1 => any::<bool>().prop_map(|complete| Said::Reasoning { complete }),
        3 => proptest::bool::weighted(0.3).prop_map(|broken| Said::Call { broken }),
    ];
    let statuses = vec![ToolStatus::Ok, ToolStatus::Error, ToolStatus::Interrupted, ToolStatus::NotExecuted];
    prop_oneof![
        2 => Just(Next::User),
        4 => (select(vec!["one", "two"]), proptest::collection::vec(said, 0..5)).prop_map(|(name, said)| Next::Model(name, said)),
        1 => Just(Next::Failure),
        6 => (0usize..4, select(statuses), select(vec!["42", "", "  "])).prop_map(|(at, status, text)| Next::Result(at, status, text)),
        1 => Just(Next::StrayResult),
        1 => Just(Next::News),
        1 => Just(Next::Compaction),
    ]
}

/// A history always begins with the user, and the model is asked only when no call is open.
fn messages(plan: &[Next]) -> Vec<Message> {
    let mut messages = vec![user(0)];
    let mut open: Vec<CallId> = Vec::new();
    for (step, next) in (1..).zip(plan) {
        match next {
            Next::User => messages.push(user(step)),
            Next::Model(name, said) if open.is_empty() => {
                let message = assistant(step, name, said);
                open.extend(message.calls().map(|call| call.id.clone()));
                messages.push(Message::Assistant(message.into()));
            }
            Next::Failure if open.is_empty() => {
                let failed = Outcome::Failed { failure: FailureKind::Server, message: "down".into() };
                let message = AssistantMessage { outcome: failed, ..assistant(step, "one", &[]) };
                messages.push(Message::Assistant(message.into()));
            }
            Next::Result(at, status, text) if !open.is_empty() => {
                let call = open.remove(at % open.len());
                messages.push(result(call, *status, text));
            }
            Next::StrayResult => messages.push(result("call_999_0".into(), ToolStatus::Ok, "late")),
            Next::News => messages.push(news(step)),
            Next::Compaction => {
                messages
                    .push(Message::Compaction(CompactionSummary { summary: format!("until {step}").into() }.into()));
            }
            Next::Model(..) | Next::Failure | Next::Result(..) => {}
        }
    }
    messages
}

pub(crate) fn user(step: Step) -> Message {
    Message::User(UserMessage { input_id: format!("i-{step}").into(), text: format!("text {step}").into() }.into())
}

pub(crate) fn result(call: CallId, status: ToolStatus, text: &str) -> Message {
    Message::ToolResult(ToolResult::text(call, status, text).into())
}

pub(crate) fn assistant(step: Step, name: &str, said: &[Said]) -> AssistantMessage {
    let mut calls = 0;
    let blocks = said.iter().map(|said| match said {
        Said::Text(text) => Block::Text { text: (*text).into(), native: Some("{}".into()) },
        Said::Reasoning { complete } => Block::Reasoning { text: "hm".into(), native: None, complete: *complete },
        Said::Call { broken } => {
            calls += 1;
            Block::ToolCall(call(step, calls - 1, *broken))
        }
    });
    AssistantMessage {
        attempt: 1,
        model: model(name).into(),
        blocks: blocks.collect(),
        outcome: Outcome::Stopped,
        usage: Usage::default(),
    }
}

fn call(step: Step, index: usize, broken: bool) -> Arc<ToolCall> {
    Arc::new(ToolCall {
        id: CallId::of(step, index),
        provider_id: Some("bash:0".into()),
        name: "look".into(),
        arguments: if broken { Arguments::Broken("{\"a".into()) } else { Arguments::Object("{\"a\":1}".into()) },
        display_as: None,
        native: None,
    })
}

fn news(step: Step) -> Message {
    let news = SubscriptionMessage {
        input_id: format!("i-{step}").into(),
        event_id: format!("event_{step}_0").into(),
        call_id: "call_1_0".into(),
        tool: "watch".into(),
        arguments: Arguments::Object("{}".into()),
        text: if step.is_multiple_of(2) { "" } else { "it rains" }.into(),
        last: false,
    };
    Message::SubscriptionEvent(news.into())
}
