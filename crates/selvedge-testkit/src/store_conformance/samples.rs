//! One of everything that can be stored, around a given text.

use std::sync::Arc;

use selvedge_event::{
    Arguments, AssistantMessage, BlobRef, Block, CallId, ChoiceEnd, ChoiceId, ChoiceResolution, CompactionSummary,
    Content, Delivery, DisplaySegment, FailureKind, Input, Message, ModelRef, OAuthNotice, Outcome, Step, Subscription,
    SubscriptionMessage, Text, Timestamp, ToolCall, ToolReply, ToolResult, ToolStatus, Usage, UserChoice, UserMessage,
    View,
};
use selvedge_store::{Changes, PlannedCall, ToolDelivery};

/// Every kind of input.
pub(super) fn every_input(text: &str) -> Vec<Input> {
    let text = Text::from(text);
    let call_id = CallId::of(1, 0);
    let reply = |status| ToolReply {
        call_id: call_id.clone(),
        status,
        content: content(&text),
        display: display(&text),
        blob: Some(BlobRef { id: text.clone(), bytes: 1 << 40 }),
        subscription: true,
    };
    let answer = |end| Input::ChoiceAnswer { choice_id: ChoiceId::of(&call_id, 1), selected: 1, end };
    let mut inputs = vec![
        Input::UserText { text: text.clone(), delivery: Delivery::Interrupt },
        Input::UserText { text: text.clone(), delivery: Delivery::Queued },
        Input::Interrupt,
        Input::ToolResult(ToolReply::text(call_id.clone(), ToolStatus::Ok, text.clone())),
        Input::SubscriptionEvent { call_id: call_id.clone(), text: text.clone(), last: false },
        Input::SubscriptionEvent { call_id: call_id.clone(), text: text.clone(), last: true },
        Input::OAuthNotice { call_id: call_id.clone(), auth_url: text.clone() },
        Input::ChoiceRequest { choice: choice(&call_id, 1, &text) },
        answer(ChoiceEnd::Answered),
        answer(ChoiceEnd::Expired),
        Input::ViewUpdate(View { view_type: text.clone(), content: text.clone() }),
    ];
    inputs.extend(EVERY_STATUS.map(|status| Input::ToolResult(reply(status))));
    inputs
}

/// Every kind of message, and every kind of what is in them.
pub(super) fn every_message(text: &str) -> Vec<Message> {
    let text = Text::from(text);
    let mut messages = vec![
        Message::User(Arc::new(UserMessage { input_id: "input".into(), text: text.clone() })),
        Message::SubscriptionEvent(Arc::new(SubscriptionMessage {
            input_id: "input".into(),
            event_id: CallId::of(2, 0),
            call_id: CallId::of(1, 0),
            tool: text.clone(),
            arguments: Arguments::Object(text.clone()),
            text: text.clone(),
            last: true,
        })),
        Message::Compaction(Arc::new(CompactionSummary { summary: text.clone() })),
    ];
    messages.extend(every_outcome(&text).into_iter().map(|outcome| answer(outcome, &text)));
    messages.extend(EVERY_STATUS.map(|status| {
        Message::ToolResult(Arc::new(ToolResult {
            call_id: CallId::of(1, 0),
            status,
            content: content(&text),
            display: display(&text),
            blob: Some(BlobRef { id: text.clone(), bytes: 1 << 40 }),
        }))
    }));
    messages
}

const EVERY_STATUS: [ToolStatus; 5] =
    [ToolStatus::Ok, ToolStatus::Error, ToolStatus::NotExecuted, ToolStatus::Interrupted, ToolStatus::Unknown];

fn every_outcome(text: &Text) -> Vec<Outcome> {
    let failures = [
        FailureKind::Auth,
        FailureKind::InvalidRequest,
        FailureKind::RateLimited,
        FailureKind::Overloaded,
        FailureKind::Server,
        FailureKind::Network,
        FailureKind::Timeout,
        FailureKind::Truncated,
        FailureKind::Protocol,
        FailureKind::LoopLimit,
        FailureKind::Other,
    ];
    let mut outcomes =
        vec![Outcome::Stopped, Outcome::ToolCalls, Outcome::Length, Outcome::ContentFilter, Outcome::Interrupted];
    outcomes.extend(failures.map(|failure| Outcome::Failed { failure, message: text.clone() }));
    outcomes
}

fn answer(outcome: Outcome, text: &Text) -> Message {
    let some = || Some(text.clone());
    let call = |index, arguments, native| {
        Block::ToolCall(Arc::new(ToolCall {
            id: CallId::of(1, index),
            provider_id: native,
            name: text.clone(),
            arguments,
            display_as: some(),
            native: some(),
        }))
    };
    Message::Assistant(Arc::new(AssistantMessage {
        attempt: 3,
        model: ModelRef { api: text.clone(), provider: text.clone(), model: text.clone() }.into(),
        blocks: vec![
            Block::Reasoning { text: text.clone(), native: some(), complete: true },
            Block::Reasoning { text: text.clone(), native: None, complete: false },
            Block::Text { text: text.clone(), native: some() },
            Block::Text { text: text.clone(), native: None },
            call(0, Arguments::Object(text.clone()), some()),
            call(1, Arguments::Broken(text.clone()), None),
        ],
        outcome,
        usage: usage(1),
    }))
}

fn content(text: &Text) -> Arc<[Content]> {
    [Content::Text { text: text.clone() }, Content::Image { data: text.clone(), media_type: text.clone() }].into()
}

fn display(text: &Text) -> Arc<[DisplaySegment]> {
    [
        DisplaySegment::Text(text.clone()),
        DisplaySegment::Diff { path: text.clone(), patch: text.clone() },
        DisplaySegment::Image { data: text.clone(), media_type: text.clone() },
    ]
    .into()
}

/// Something of everything that a sync opens, for the first two calls of a step.
pub(super) fn openings(step: Step, text: &str) -> Changes {
    let (asks, waits) = (CallId::of(step, 0), CallId::of(step, 1));
    Changes {
        planned: vec![
            planned(&asks, step, text, ToolDelivery::AtMostOnce),
            planned(&waits, step, text, ToolDelivery::AtLeastOnce),
        ],
        choices_opened: vec![choice(&asks, 1, text), choice(&asks, 2, text)],
        subscriptions_opened: vec![subscription(&asks, text)],
        oauth: vec![sign_in(&waits, text)],
        views: vec![view(text, text)],
        usage: usage(step),
        ..Changes::default()
    }
}

pub(super) fn planned(call: &CallId, step: Step, tool: &str, delivery: ToolDelivery) -> PlannedCall {
    PlannedCall { call_id: call.clone(), tool: tool.into(), step, delivery }
}

/// A choice; odd ones expire.
pub(super) fn choice(call: &CallId, number: u32, prompt: &str) -> UserChoice {
    UserChoice {
        id: ChoiceId::of(call, number),
        call_id: call.clone(),
        prompt: prompt.into(),
        options: vec!["yes".into(), prompt.into()],
        default: 1,
        expires_at: (number % 2 == 1).then_some(Timestamp(123)),
    }
}

pub(super) fn resolution(choice: &UserChoice, end: ChoiceEnd, selected: usize) -> ChoiceResolution {
    ChoiceResolution { id: choice.id.clone(), call_id: choice.call_id.clone(), end, selected }
}

pub(super) fn subscription(call: &CallId, text: &str) -> Subscription {
    Subscription { call_id: call.clone(), tool: text.into(), arguments: Arguments::Object(text.into()) }
}

pub(super) fn sign_in(call: &CallId, auth_url: &str) -> OAuthNotice {
    OAuthNotice { call_id: call.clone(), auth_url: auth_url.into() }
}

pub(super) fn view(view_type: &str, content: &str) -> View {
    View { view_type: view_type.into(), content: content.into() }
}

/// Counts that differ from each other.
pub(super) fn usage(seed: u64) -> Usage {
    Usage {
        input: seed,
        output: 10 * seed,
        cache_read: 100 * seed,
        cache_write: 1_000 * seed,
        reasoning: 10_000 * seed,
    }
}
