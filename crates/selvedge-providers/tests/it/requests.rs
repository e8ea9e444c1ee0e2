//! What the server gets.

use std::sync::Arc;

use selvedge_event::{
    Arguments, AssistantMessage, Block, Content, Message, ModelRef, Outcome as Ending, ToolCall, ToolResult,
    ToolStatus, Usage, UserMessage,
};
use selvedge_model::{ModelEvent, ModelProvider, ModelRequest, Projector, ToolSchema, validate};
use selvedge_providers::reqwest::Client;
use selvedge_providers::reqwest::header::{HeaderName, HeaderValue};
use selvedge_providers::{AuthHeader, OpenAiChatBuilder, Quirks, Secret};
use serde_json::{Value, json};

use crate::server::{Cut, Request, Server, events, finish, hello, say, stream};
use crate::{Outcome, ask, builder};

async fn sent(request: ModelRequest, settings: impl FnOnce(OpenAiChatBuilder) -> OpenAiChatBuilder) -> Request {
    let server = Server::new([stream(&hello(), Cut::Whole)]);
    let model = settings(builder(&server.base_url)).build().unwrap();
    assert_eq!(Outcome::of(model.complete(request)).await.text, "hello");
    server.next_request()
}

#[tokio::test]
async fn a_request_is_what_the_protocol_wants() {
    let request = sent(ask("hi"), |builder| builder.key("sk-1").header("X-Team", "blue")).await;
    assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(request.headers["authorization"], "Bearer sk-1");
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(request.headers["accept"], "text/event-stream");
    assert_eq!(request.headers["x-team"], "blue");
    assert!(request.headers["user-agent"].starts_with("selvedge/"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let expected = json!({
        "model": "test-model", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "hi"}],
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn headers_follow_the_settings() {
    let request = sent(ask("hi"), |builder| builder).await;
    assert!(!request.headers.contains_key("authorization"));
    let mut quirks = Quirks::compatible();
    quirks.auth = AuthHeader::Named("Api-Key".into());
    let settings =
        |builder: OpenAiChatBuilder| builder.quirks(quirks).key(Secret::new("sk-1")).header("user-agent", "me");
    let request = sent(ask("hi"), settings).await;
    assert_eq!((&*request.headers["api-key"], &*request.headers["user-agent"]), ("sk-1", "me"));
    assert!(!request.headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_ready_client_is_used_as_it_is() {
    // Such a client takes the cryptography of its process, which must have one.
    rustls::crypto::ring::default_provider().install_default().ok();
    let headers = [(HeaderName::from_static("x-mine"), HeaderValue::from_static("1"))].into_iter().collect();
    let client = Client::builder().no_proxy().default_headers(headers).build().unwrap();
    assert_eq!(sent(ask("hi"), |builder| builder.client(client)).await.headers["x-mine"], "1");
}

/// A conversation with a model, kept as a runtime keeps it.
struct Conversation {
    model: ModelRef,
    projector: Projector,
}

impl Conversation {
    fn new(model: &ModelRef) -> Self {
        let mut projector = Projector::new(model.clone());
        projector.push(&Message::User(Arc::new(UserMessage { input_id: "i".into(), text: "hi".into() })));
        Self { model: model.clone(), projector }
    }

    fn request(&self) -> ModelRequest {
        let tools = [ToolSchema { name: "f".into(), description: "does f".into(), parameters: "{}".into() }];
        let request = ModelRequest {
            tools: tools.into(),
            ..ModelRequest::new(self.model.clone(), self.projector.context().clone())
        };
        validate(&request).unwrap();
        request
    }

    /// Takes in an answer, as a runtime does: reasoning runs from its start to its end, calls get ids of their own.
    fn answered(&mut self, step: u64, events: &[ModelEvent]) -> Vec<Arc<ToolCall>> {
        let mut blocks = Vec::new();
        let mut thought = String::new();
        let mut calls = Vec::new();
        for event in events {
            match event {
                ModelEvent::Text(text) => blocks.push(Block::Text { text: text.clone(), native: None }),
                ModelEvent::Reasoning(text) => thought.push_str(text),
                ModelEvent::ReasoningEnded { native } => {
                    let text = std::mem::take(&mut thought).into();
                    blocks.push(Block::Reasoning { text, native: native.clone(), complete: true });
                }
                ModelEvent::ToolCall { provider_id, name, arguments, native } => {
                    let call = Arc::new(ToolCall {
                        id: format!("call_{step}_{}", calls.len()).into(),
                        provider_id: provider_id.clone(),
                        name: name.clone(),
                        arguments: Arguments::Object(arguments.clone()),
                        display_as: None,
                        native: native.clone(),
                    });
                    calls.push(call.clone());
                    blocks.push(Block::ToolCall(call));
                }
                _ => {}
            }
        }
        let model = self.model.clone();
        let message = AssistantMessage {
            attempt: 1,
            model: model.into(),
            blocks,
            outcome: Ending::ToolCalls,
            usage: Usage::default(),
        };
        self.projector.push(&Message::Assistant(Arc::new(message)));
        calls
    }

    fn result(&mut self, call: &ToolCall, content: Vec<Content>) {
        let result = ToolResult::text(call.id.clone(), ToolStatus::Ok, "");
        self.projector.push(&Message::ToolResult(Arc::new(ToolResult { content: content.into(), ..result })));
    }
}

/// Two calls under one id, with reasoning and text around them.
fn two_calls() -> String {
    let call = |index: u8, arguments: &str| {
        json!({"choices": [{"delta": {"tool_calls": [
            {"index": index, "id": "bash:0", "function": {"name": "f", "arguments": arguments}}]}}]})
    };
    let think = json!({"choices": [{"delta": {"reasoning": "hm", "reasoning_details": [
        {"type": "reasoning.text", "index": 0, "text": "hm"}]}}]});
    let sign = json!({"choices": [{"delta": {"reasoning_details": [
        {"type": "reasoning.text", "index": 0, "signature": "S=="}]}}]});
    events(&[think, call(0, r#"{"a": 1.0}"#), say("a"), sign, call(1, "{}"), say("b"), finish("tool_calls")])
}

#[tokio::test]
async fn s34_s35_s36_s37_a_conversation_of_tools_goes_back_as_it_came() {
    let server =
        Server::new([stream(&two_calls(), Cut::Whole), stream(&two_calls(), Cut::Bytes), stream(&hello(), Cut::Whole)]);
    let model = builder(&server.base_url).build().unwrap();
    assert_eq!(*model.model(), ask("").model);
    let mut conversation = Conversation::new(model.model());
    let text = |text: &str| vec![Content::Text { text: text.into() }];
    for step in 1..=2 {
        let outcome = Outcome::of(model.complete(conversation.request())).await;
        let calls = conversation.answered(step, &outcome.events);
        assert_eq!(calls.len(), 2);
        // The results come in the other order.
        conversation.result(&calls[1], vec![Content::Image { data: "AAAA".into(), media_type: "image/png".into() }]);
        conversation.result(&calls[0], text(&format!("result {step}")));
    }
    assert_eq!(Outcome::of(model.complete(conversation.request())).await.text, "hello");

    let bodies: Vec<String> = (0..3).map(|_| String::from_utf8(server.next_request().body).unwrap()).collect();
    let messages = |body: &str| serde_json::from_str::<Value>(body).unwrap()["messages"].as_array().unwrap().clone();
    let step = |step: u8| {
        let call = |index: u8, arguments: &str| {
            json!({"id": format!("call_{step}_{index}"), "type": "function",
                "function": {"name": "f", "arguments": arguments}})
        };
        let details = json!([{"type": "reasoning.text", "index": 0, "text": "hm", "signature": "S=="}]);
        vec![
            json!({"role": "assistant", "content": "ab", "reasoning_details": details,
                "tool_calls": [call(0, r#"{"a": 1.0}"#), call(1, "{}")]}),
            json!({"role": "tool", "tool_call_id": format!("call_{step}_0"), "content": format!("result {step}")}),
            json!({"role": "tool", "tool_call_id": format!("call_{step}_1"), "content": "(the images follow)"}),
            json!({"role": "user", "content": [
                {"type": "text", "text": format!("Images from the result of f (call_{step}_1):")},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}),
        ]
    };
    let user = vec![json!({"role": "user", "content": "hi"})];
    assert_eq!(messages(&bodies[1]), [user.clone(), step(1)].concat());
    assert_eq!(messages(&bodies[2]), [user, step(1), step(2)].concat());
    // What was sent once is sent again to the byte, so that a provider's cache knows it.
    for pair in bodies.windows(2) {
        let earlier = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(earlier));
    }
}

#[tokio::test]
async fn s43_a_nul_goes_there_and_back() {
    let text = "a\0b";
    let server = Server::new([stream(&(events(&[say(text), finish("stop")])), Cut::Bytes)]);
    let model = builder(&server.base_url).build().unwrap();
    let outcome = Outcome::of(model.complete(ask(text))).await;
    assert_eq!(outcome.text, text);
    let body: Value = serde_json::from_slice(&server.next_request().body).unwrap();
    assert_eq!(body["messages"][0]["content"], text);
}
