//! The wire forms: what others store and send, and therefore must not change by accident.

use std::fmt::Debug;

use selvedge_event::{
    AgentEvent, FailureKind, Message, OAuthNotice, OpenCall, Outcome, PartialTurn, ReplaySnapshot, Timestamp,
    ToolStatus, Transcript, UserMessage,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::samples;

/// A value comes back from its wire form as it was; gives back the form, one line per value.
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(values: &[T]) -> String {
    let lines = values.iter().map(|value| {
        let line = serde_json::to_string(value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&line).unwrap(), *value, "{line}");
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn snapshot() -> ReplaySnapshot {
    let call_id = selvedge_event::CallId::of(7, 0);
    ReplaySnapshot {
        thread_id: "support/42".into(),
        created_at: Timestamp(1_764_500_000_000),
        step: 7,
        committed: 6,
        history: [samples::turn().into()].into_iter().collect(),
        older: Some(7),
        partial: Some(PartialTurn {
            step: 8,
            messages: vec![Message::User(UserMessage { input_id: "i-3".into(), text: "and?".into() }.into())],
            attempt: Some(2),
            blocks: samples::blocks(),
            thinking: true,
        }),
        open_calls: vec![OpenCall { call_id: call_id.clone(), name: "search".into() }],
        choices: vec![samples::choice()],
        oauth: vec![OAuthNotice { call_id, auth_url: "https://example.com/sign-in".into() }],
        views: vec![samples::view()],
        usage: samples::usage(),
    }
}

#[test]
fn events() {
    insta::assert_snapshot!(round_trip(&samples::events()));
}

#[test]
fn inputs() {
    insta::assert_snapshot!(round_trip(&samples::inputs()));
}

#[test]
fn messages() {
    insta::assert_snapshot!(round_trip(&samples::messages()));
}

#[test]
fn turns() {
    insta::assert_snapshot!(round_trip(&[samples::turn()]));
}

#[test]
fn snapshots() {
    insta::assert_snapshot!(round_trip(&[snapshot()]));
}

#[test]
fn what_is_kept_beside_the_history() {
    let beside = [
        round_trip(&[samples::choice()]),
        round_trip(&[samples::resolution()]),
        round_trip(&[samples::subscription()]),
        round_trip(&[samples::view()]),
        round_trip(&[samples::usage()]),
    ];
    insta::assert_snapshot!(beside.join("\n"));
}

#[test]
fn items_of_a_transcript() {
    let mut transcript = Transcript::default();
    let kept = |event: &AgentEvent| !matches!(event, AgentEvent::TurnDiscarded { .. });
    samples::events().iter().filter(|event| kept(event)).for_each(|event| transcript.apply(event));
    insta::assert_snapshot!(round_trip(transcript.items()));
    round_trip(&[transcript, Transcript::from_snapshot(&snapshot())]);
}

#[test]
fn failures_and_statuses() {
    let kinds = [
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
    let failed = kinds.map(|failure| Outcome::Failed { failure, message: "no".into() });
    let statuses =
        [ToolStatus::Ok, ToolStatus::Error, ToolStatus::NotExecuted, ToolStatus::Interrupted, ToolStatus::Unknown];
    insta::assert_snapshot!(format!("{}\n{}", round_trip(&failed), round_trip(&statuses)));
}

/// What older programs wrote is still read: fields that came later have a default.
#[test]
fn fields_may_be_missing() {
    let read = |line: &str| serde_json::from_str::<AgentEvent>(line).unwrap();
    let call = read(r#"{"type":"tool_call","call_id":"call_1_0","name":"look","arguments":"{}"}"#);
    assert!(matches!(call, AgentEvent::ToolCall { display_as: None, .. }));
    let finished = r#"{"type":"completion_finished","step":1,"attempt":1,"outcome":"stopped","model":{"api":"a","provider":"p","model":"m"},"usage":{"input":3}}"#;
    assert!(matches!(read(finished), AgentEvent::CompletionFinished { usage, .. } if usage.input == 3));
    let text: selvedge_event::Input = serde_json::from_str(r#"{"type":"user_text","text":"hello"}"#).unwrap();
    assert_eq!(text, selvedge_event::Input::text("hello"));
}
