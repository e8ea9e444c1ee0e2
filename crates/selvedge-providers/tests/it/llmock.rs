//! Against `llmock`, a mock of model vendors by other hands, which breaks answers on demand and judges its client.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use selvedge_event::FailureKind;
use selvedge_model::{ModelProvider, ModelRequest, StopReason, ToolSchema};
use selvedge_providers::OpenAiChat;
use selvedge_providers::reqwest::Client;
use serde_json::{Value, json};

use crate::{Outcome, builder};

/// The mock's own bound on the attempts of a sane client.
const MOST_ATTEMPTS: u32 = 10;

struct Llmock {
    process: Child,
    address: String,
    client: Client,
}

impl Llmock {
    /// Starts it; `None`, and a word on how to install it, where it is not there.
    async fn start() -> Option<Self> {
        let program = std::env::var_os("SELVEDGE_LLMOCK").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers/llmock/bin/llmock")),
            PathBuf::from,
        );
        // The port is free now; nothing else on this machine is likely to take it at once.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let arguments = ["serve", "--host", "127.0.0.1", "--log-level", "warning", "--port", &port.to_string()];
        // Chunks come apart in time, so that the mock sees between two of them that its client has hung up.
        let pace = ("LLMOCK_STREAM_CHUNK_DELAY_MS", "20");
        let mut command = Command::new(&program);
        let spawned = command.args(arguments).env(pace.0, pace.1).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = match spawned {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                eprintln!("skipped: {} is not there; `cargo xtask peers` installs it", program.display());
                return None;
            }
            spawned => spawned.unwrap(),
        };
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = Client::builder().no_proxy().build().unwrap();
        let mock = Self { process, address: format!("http://127.0.0.1:{port}"), client };
        let give_up = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < give_up, "llmock does not listen on port {port}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Some(mock)
    }

    fn model(&self) -> OpenAiChat {
        let base_url = format!("{}/v1", self.address);
        builder(&base_url).key("sk-test").read_timeout(Duration::from_millis(500)).build().unwrap()
    }

    async fn script(&self, behaviors: Value) {
        let body = json!({ "behaviors": behaviors }).to_string();
        let url = format!("{}/_llmock/scenario", self.address);
        let request = self.client.post(url).header("content-type", "application/json").body(body);
        request.send().await.unwrap().error_for_status().unwrap();
    }

    /// What it thinks of the requests so far.
    async fn verdict(&self) -> Value {
        let url = format!("{}/_llmock/verdict", self.address);
        let verdict = self.client.get(url).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&verdict).unwrap()
    }

    async fn assert_content(&self) {
        let verdict = self.verdict().await;
        assert_eq!((&verdict["passed"], &verdict["findings"]), (&json!(true), &json!([])), "{verdict:#}");
    }
}

impl Drop for Llmock {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to end.
        self.process.kill().and_then(|()| self.process.wait()).ok();
    }
}

/// A request with a tool. Each test asks for something else: the mock tells attempts apart by their text.
fn ask(text: &str) -> ModelRequest {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tool = ToolSchema {
        name: "get_weather".into(),
        description: "Tells the weather.".into(),
        parameters: parameters.to_string().into(),
    };
    ModelRequest { tools: [tool].into(), ..crate::ask(text) }
}

/// Asks again for as long as the errors say that it is worth it, when they say, as a runtime does.
async fn ask_patiently(model: &OpenAiChat, text: &str) -> (Vec<FailureKind>, Outcome) {
    let mut failures = Vec::new();
    for attempt in 0..MOST_ATTEMPTS {
        let outcome = Outcome::of(model.complete(ask(text))).await;
        match &outcome.error {
            Some(error) if error.is_retryable() => {
                failures.push(error.kind());
                let backoff = Duration::from_millis(60 * (1 << attempt));
                tokio::time::sleep(error.retry_after().unwrap_or(backoff)).await;
            }
            _ => return (failures, outcome),
        }
    }
    panic!("still failing: {failures:?}");
}

#[tokio::test]
async fn llmock_answers_with_text_and_calls() {
    let Some(mock) = Llmock::start().await else { return };
    let model = mock.model();
    let calls = json!([
        {"name": "get_weather", "arguments": {"city": "Zürich 阴气渐重 👩‍👩‍👧"}},
        {"name": "get_weather", "arguments": {"city": "Paris"}},
    ]);
    mock.script(json!([
        {"type": "reply", "text": "阴气渐重 👩‍👩‍👧 é and more"},
        {"type": "reply", "text": "Let me look.", "tool_calls": calls},
        {"type": "reply", "text": "too", "finish_reason": "length"},
        {"type": "reply", "text": "no", "finish_reason": "content_filter"},
    ]))
    .await;

    let outcome = Outcome::of(model.complete(ask("say something that is hard to cut"))).await;
    assert_eq!((&*outcome.text, outcome.end), ("阴气渐重 👩‍👩‍👧 é and more", Some(StopReason::Done)));
    assert!(outcome.usage.input > 0 && outcome.usage.output > 0, "{:?}", outcome.usage);

    let outcome = Outcome::of(model.complete(ask("two"))).await;
    assert_eq!((&*outcome.text, outcome.end), ("Let me look.", Some(StopReason::Done)));
    let cities: Vec<Value> =
        outcome.calls.iter().map(|(_, arguments)| serde_json::from_str(arguments).unwrap()).collect();
    assert_eq!(cities, [json!({"city": "Zürich 阴气渐重 👩‍👩‍👧"}), json!({"city": "Paris"})]);

    assert_eq!(Outcome::of(model.complete(ask("three"))).await.end, Some(StopReason::Length));
    assert_eq!(Outcome::of(model.complete(ask("four"))).await.end, Some(StopReason::ContentFilter));
    mock.assert_content().await;
}

#[tokio::test]
async fn llmock_breaks_streams_and_finds_nothing_wrong_with_its_client() {
    let Some(mock) = Llmock::start().await else { return };
    let model = mock.model();
    let rows = [
        (json!({"kind": "truncate", "after_chunks": 3}), FailureKind::Truncated),
        (json!({"kind": "disconnect", "after_chunks": 2}), FailureKind::Network),
        (json!({"kind": "malformed", "after_chunks": 2}), FailureKind::Protocol),
        (json!({"kind": "stall", "after_chunks": 2, "stall_seconds": 3}), FailureKind::Timeout),
    ];
    for (mut fault, kind) in rows {
        fault["type"] = "stream_fault".into();
        mock.script(json!([fault, {"type": "reply", "text": "the whole of the answer", "times": 2}])).await;
        let (failures, outcome) = ask_patiently(&model, &fault.to_string()).await;
        assert_eq!(failures, [kind], "{fault}");
        assert_eq!((&*outcome.text, outcome.end), ("the whole of the answer", Some(StopReason::Done)), "{fault}");
    }
    mock.assert_content().await;
}

#[tokio::test]
async fn llmock_fails_and_is_asked_again_only_where_that_helps() {
    let Some(mock) = Llmock::start().await else { return };
    let model = mock.model();
    let fail = |status: u16, times: u8, more: Value| {
        let mut fail = json!({"type": "fail", "status": status, "times": times, "message": "as you wished"});
        fail.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fail
    };
    let worth_it = [
        (fail(429, 2, json!({"retry_after": 0.3})), FailureKind::RateLimited),
        (fail(500, 2, json!({})), FailureKind::Server),
        (fail(503, 2, json!({"retry_after": 0.2})), FailureKind::Overloaded),
        (fail(529, 1, json!({})), FailureKind::Overloaded),
        (fail(408, 1, json!({})), FailureKind::Timeout),
        (fail(409, 1, json!({})), FailureKind::Other),
    ];
    for (fault, kind) in worth_it {
        mock.script(json!([fault, {"type": "reply", "text": "at last"}])).await;
        let (failures, outcome) = ask_patiently(&model, &fault.to_string()).await;
        assert_eq!(failures, vec![kind; usize::try_from(fault["times"].as_u64().unwrap()).unwrap()], "{fault}");
        assert_eq!(outcome.text, "at last", "{fault}");
    }
    let in_vain = [(400, FailureKind::InvalidRequest), (401, FailureKind::Auth), (404, FailureKind::InvalidRequest)];
    for (status, kind) in in_vain {
        mock.script(json!([fail(status, 1, json!({}))])).await;
        let (failures, outcome) = ask_patiently(&model, &format!("in vain {status}")).await;
        let error = outcome.error();
        assert_eq!((failures, error.kind()), (vec![], kind));
        assert!(error.to_string().contains("as you wished"), "{error}");
    }
    mock.assert_content().await;
}

#[tokio::test]
async fn s38_llmock_breaks_arguments_and_they_come_as_they_are() {
    let Some(mock) = Llmock::start().await else { return };
    mock.script(json!([{"type": "tool_fault", "kind": "malformed_arguments"}])).await;
    let outcome = Outcome::of(mock.model().complete(ask("the weather in Paris"))).await;
    assert_eq!(outcome.end, Some(StopReason::Done));
    let [(name, arguments)] = &outcome.calls[..] else { panic!("{:?}", outcome.events) };
    assert_eq!(name, "get_weather");
    assert!(serde_json::from_str::<Value>(arguments).is_err(), "{arguments}");
    mock.assert_content().await;
}
