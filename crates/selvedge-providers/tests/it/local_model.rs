//! Against a real model, where `SELVEDGE_LOCAL_MODEL_URL` is the base URL of a server that has one (llama.cpp's, or any
//! other), its version part included.

use futures_util::StreamExt;
use selvedge_event::FailureKind;
use selvedge_model::{ModelEvent, ModelProvider, ModelRequest, ToolSchema};
use selvedge_providers::OpenAiChatBuilder;
use serde_json::Value;

use crate::{Outcome, builder};

fn local() -> Option<OpenAiChatBuilder> {
    let url = std::env::var("SELVEDGE_LOCAL_MODEL_URL").ok();
    if url.is_none() {
        eprintln!("skipped: SELVEDGE_LOCAL_MODEL_URL names no server with a model");
    }
    url.map(|url| builder(&url).extra("temperature", 0))
}

/// A request for an answer of at most so many tokens.
fn ask(text: &str, most: u32) -> ModelRequest {
    ModelRequest { max_output_tokens: Some(most), ..crate::ask(text) }
}

#[tokio::test]
async fn a_real_model_says_something() {
    let Some(builder) = local() else { return };
    let outcome = Outcome::of(builder.build().unwrap().complete(ask("Once upon a time", 24))).await;
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert!(outcome.end.is_some());
    assert!(outcome.usage.input > 0 && (1..=24).contains(&outcome.usage.output), "{:?}", outcome.usage);
    println!("{outcome:?}");
}

#[tokio::test]
async fn a_real_model_calls_a_tool() {
    let Some(builder) = local() else { return };
    let tool = ToolSchema {
        name: "get_weather".into(),
        description: "Tells the weather of a city.".into(),
        parameters: r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#.into(),
    };
    let request = ModelRequest { tools: [tool].into(), ..ask("What is the weather in Paris?", 200) };
    let model = builder.extra("tool_choice", "required").build().unwrap();
    let outcome = Outcome::of(model.complete(request)).await;
    println!("{outcome:?}");
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let [(name, arguments), ..] = &outcome.calls[..] else { panic!("no call: {:?}", outcome.events) };
    assert_eq!(name, "get_weather");
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    assert!(arguments["city"].is_string(), "{arguments}");
}

#[tokio::test]
async fn a_real_model_is_cancelled_by_a_drop() {
    let Some(builder) = local() else { return };
    let model = builder.build().unwrap();
    let mut answer = model.complete(ask("Count from one to a thousand: one, two, three,", 2_000));
    let first = answer.next().await.unwrap().unwrap();
    assert!(matches!(first, ModelEvent::Text(_)), "{first:?}");
    drop(answer);
    // The server is free for the next request: it did not go on with the one that was dropped.
    let outcome = Outcome::of(model.complete(ask("Once upon a time", 4))).await;
    assert!(outcome.end.is_some(), "{:?}", outcome.error);
}

#[tokio::test]
async fn a_real_server_refuses_what_is_no_request() {
    let Some(builder) = local() else { return };
    let outcome = Outcome::of(builder.extra("tools", 7).build().unwrap().complete(ask("hi", 4))).await;
    // llama.cpp takes the client's mistake for its own (500).
    let error = outcome.error();
    assert!(matches!(error.kind(), FailureKind::InvalidRequest | FailureKind::Server), "{error:?}");
    assert!(error.to_string().contains("tools"), "{error}");
}
