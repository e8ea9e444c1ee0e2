//! One value of every kind that leaves the process.

use std::sync::Arc;

use selvedge_event::{
    AgentEvent, Arguments, AssistantMessage, BlobRef, Block, CallId, ChoiceEnd, ChoiceResolution, CompactionSummary,
    Content, Delivery, Discard, DisplaySegment, FailureKind, Input, Message, ModelRef, Outcome, Subscription,
    SubscriptionMessage, Timestamp, ToolCall, ToolReply, ToolResult, ToolStatus, TurnRecord, Usage, UserChoice,
    UserMessage, View,
};

fn model() -> Arc<ModelRef> {
    ModelRef { api: "openai-chat".into(), provider: "example.com".into(), model: "m-1".into() }.into()
}

pub(crate) fn events() -> Vec<AgentEvent> {
    let finished =
        |outcome| AgentEvent::CompletionFinished { step: 7, attempt: 2, outcome, model: model(), usage: usage() };
    vec![
        AgentEvent::UserInput { step: 7, input_id: "i-1".into(), text: "hello".into() },
        AgentEvent::CompletionStarted { step: 7, attempt: 1 },
        AgentEvent::TextChunk { text: "阴气 👩‍👩‍👧".into() },
        AgentEvent::ThinkingStarted,
        AgentEvent::ThinkingChunk { text: "hm".into() },
        AgentEvent::ThinkingEnded,
        AgentEvent::ToolCall {
            call_id: call_id(),
            name: "search".into(),
            arguments: r#"{"q":1}"#.into(),
            display_as: Some("search for 1".into()),
        },
        AgentEvent::ToolCall { call_id: call_id(), name: "look".into(), arguments: "{".into(), display_as: None },
        AgentEvent::ToolResult { step: 8, result: result().into() },
        AgentEvent::ToolResult { step: 8, result: bare_result(ToolStatus::Unknown).into() },
        AgentEvent::SubscriptionEvent { step: 9, call_id: call_id(), text: "it rains".into(), last: true },
        AgentEvent::OAuthRequired { call_id: call_id(), auth_url: "https://example.com/sign-in".into() },
        AgentEvent::CompactionApplied { step: 10, summary: "so far".into() },
        finished(Outcome::Stopped),
        finished(Outcome::ToolCalls),
        finished(Outcome::Length),
        finished(Outcome::ContentFilter),
        finished(Outcome::Interrupted),
        finished(failed()),
        AgentEvent::Info { text: "half way".into(), call_id: Some(call_id()) },
        AgentEvent::Info { text: "trying again".into(), call_id: None },
        AgentEvent::TurnDiscarded { step: 7, attempt: 1, scope: Discard::Attempt },
        AgentEvent::TurnDiscarded { step: 7, attempt: 0, scope: Discard::Step },
        AgentEvent::ViewUpdated(view()),
    ]
}

pub(crate) fn inputs() -> Vec<Input> {
    let answer = |end| Input::ChoiceAnswer { choice_id: "call_7_0:1".into(), selected: 1, end };
    let reply = ToolReply { subscription: true, ..ToolReply::text(call_id(), ToolStatus::Ok, "watching") };
    let full = result();
    let full = ToolReply {
        call_id: call_id(),
        status: full.status,
        content: full.content,
        display: full.display,
        blob: full.blob,
        subscription: false,
    };
    vec![
        Input::text("hello"),
        Input::UserText { text: "later".into(), delivery: Delivery::Queued },
        Input::Interrupt,
        Input::ToolResult(reply),
        Input::ToolResult(full),
        Input::SubscriptionEvent { call_id: call_id(), text: "it rains".into(), last: false },
        Input::OAuthNotice { call_id: call_id(), auth_url: "https://example.com/sign-in".into() },
        Input::ChoiceRequest { choice: choice() },
        answer(ChoiceEnd::Answered),
        answer(ChoiceEnd::Expired),
        Input::ViewUpdate(view()),
    ]
}

pub(crate) fn messages() -> Vec<Message> {
    let assistant = |outcome, blocks| {
        Message::Assistant(AssistantMessage { attempt: 2, model: model(), blocks, outcome, usage: usage() }.into())
    };
    let news = SubscriptionMessage {
        input_id: "i-2".into(),
        event_id: "event_9_0".into(),
        call_id: call_id(),
        tool: "watch".into(),
        arguments: Arguments::Object("{}".into()),
        text: "it rains".into(),
        last: false,
    };
    vec![
        Message::User(UserMessage { input_id: "i-1".into(), text: "hello".into() }.into()),
        assistant(Outcome::ToolCalls, blocks()),
        assistant(failed(), Vec::new()),
        Message::ToolResult(result().into()),
        Message::ToolResult(bare_result(ToolStatus::NotExecuted).into()),
        Message::SubscriptionEvent(news.into()),
        Message::Compaction(CompactionSummary { summary: "so far".into() }.into()),
    ]
}

pub(crate) fn turn() -> TurnRecord {
    TurnRecord { step: 7, at: Timestamp(1_764_500_000_000), messages: messages() }
}

pub(crate) fn blocks() -> Vec<Block> {
    let native = Some(r#"{"signature":"s"}"#.into());
    let call = |arguments, provider_id: Option<&str>| ToolCall {
        id: call_id(),
        provider_id: provider_id.map(Into::into),
        name: "search".into(),
        arguments,
        display_as: provider_id.map(|_| "search for 1".into()),
        native: None,
    };
    vec![
        Block::Reasoning { text: "hm".into(), native, complete: true },
        Block::Text { text: "I look.".into(), native: None },
        Block::ToolCall(call(Arguments::Object(r#"{"q":1}"#.into()), Some("bash:0")).into()),
        Block::ToolCall(call(Arguments::Broken(r#"{"q":"#.into()), None).into()),
        Block::Reasoning { text: "".into(), native: None, complete: false },
    ]
}

/// A result with everything that one can have.
pub(crate) fn result() -> ToolResult {
    let (data, media_type) = ("AAAA".into(), "image/png".into());
    ToolResult {
        call_id: call_id(),
        status: ToolStatus::Ok,
        content: [Content::Text { text: "42".into() }, Content::Image { data, media_type }].into(),
        display: [
            DisplaySegment::Text("42".into()),
            DisplaySegment::Diff { path: "a.txt".into(), patch: "@@ -1 +1 @@\n-a\n+b\n".into() },
            DisplaySegment::Image { data: "AAAA".into(), media_type: "image/png".into() },
        ]
        .into(),
        blob: Some(BlobRef { id: "call_7_0".into(), bytes: 1_000_000 }),
    }
}

pub(crate) fn bare_result(status: ToolStatus) -> ToolResult {
    ToolResult::text(call_id(), status, "who knows")
}

pub(crate) fn choice() -> UserChoice {
    UserChoice {
        id: "call_7_0:1".into(),
        call_id: call_id(),
        prompt: "Which?".into(),
        options: vec!["this".into(), "that".into()],
        default: 0,
        expires_at: Some(Timestamp(1_764_500_060_000)),
    }
}

pub(crate) fn resolution() -> ChoiceResolution {
    ChoiceResolution { id: "call_7_0:1".into(), call_id: call_id(), end: ChoiceEnd::Dismissed, selected: 0 }
}

pub(crate) fn subscription() -> Subscription {
    Subscription { call_id: call_id(), tool: "watch".into(), arguments: Arguments::Object("{}".into()) }
}

pub(crate) fn view() -> View {
    View { view_type: "plan".into(), content: "1. look".into() }
}

pub(crate) fn usage() -> Usage {
    Usage { input: 100, output: 20, cache_read: 50, cache_write: 10, reasoning: 5 }
}

fn failed() -> Outcome {
    Outcome::Failed { failure: FailureKind::RateLimited, message: "slow down".into() }
}

fn call_id() -> CallId {
    CallId::of(7, 0)
}
