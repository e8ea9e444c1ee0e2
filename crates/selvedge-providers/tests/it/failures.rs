//! What went wrong, and what to do about it.

use std::time::Duration;

use selvedge_event::FailureKind;
use selvedge_model::{ModelError, ModelProvider};
use selvedge_providers::OpenAiChatBuilder;

use crate::server::{Cut, Piece, Server, hello, reply, stream, unfinished_stream};
use crate::{Outcome, ask, builder};

const JSON: (&str, &str) = ("content-type", "application/json");

async fn failure(pieces: Vec<Piece>) -> ModelError {
    failure_with(pieces, |builder| builder).await
}

async fn failure_with(pieces: Vec<Piece>, settings: impl FnOnce(OpenAiChatBuilder) -> OpenAiChatBuilder) -> ModelError {
    let server = Server::new([pieces]);
    let model = settings(builder(&server.base_url).key("sk-very-secret")).build().unwrap();
    let error = Outcome::of(model.complete(ask("hi"))).await.error();
    let shown = format!("{error} {error:?} {model:?}");
    assert!(!shown.contains("very-secret"), "{shown}");
    error
}

#[tokio::test]
async fn s55_statuses_tell_what_to_do() {
    use FailureKind::{Auth, InvalidRequest, Other, Overloaded, RateLimited, Server, Timeout};
    let rows = [
        ("400 Bad Request", InvalidRequest, false),
        ("401 Unauthorized", Auth, false),
        ("403 Forbidden", Auth, false),
        ("404 Not Found", InvalidRequest, false),
        ("408 Request Timeout", Timeout, true),
        ("409 Conflict", Other, true),
        ("413 Payload Too Large", InvalidRequest, false),
        ("422 Unprocessable Entity", InvalidRequest, false),
        ("429 Too Many Requests", RateLimited, true),
        ("500 Internal Server Error", Server, true),
        ("503 Service Unavailable", Overloaded, true),
    ];
    for (status, kind, retryable) in rows {
        let error = failure(reply(status, &[JSON], r#"{"error":{"message":"it went wrong"}}"#)).await;
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{status}");
        assert_eq!(error.to_string(), format!("the server answered {status}: it went wrong"));
    }
}

#[tokio::test]
async fn messages_are_the_providers_own_but_for_the_key() {
    let quoted = r#"{"error":{"message":"wrong key sk-very-secret","type":"invalid_request_error"}}"#;
    let error = failure(reply("401 Unauthorized", &[JSON, ("x-request-id", "req_1")], quoted)).await;
    assert_eq!(error.to_string(), "the server answered 401 Unauthorized: wrong key (the key) (request req_1)");
    let page = reply("502 Bad Gateway", &[("content-type", "text/html")], "<html>bad gateway</html>");
    assert_eq!(failure(page).await.to_string(), "the server answered 502 Bad Gateway");
    let long = format!(r#"{{"error":"{}"}}"#, "x ".repeat(1 << 20));
    assert!(failure(reply("500 Internal Server Error", &[JSON], &long)).await.to_string().len() < 2_000);
}

#[tokio::test]
async fn the_server_says_when_to_come_back() {
    let check = async |headers: &[(&str, &str)], millis: Option<u64>, retryable: bool| {
        let error = failure(reply("429 Too Many Requests", headers, "")).await;
        assert_eq!(error.retry_after(), millis.map(Duration::from_millis), "{headers:?}");
        assert_eq!(error.is_retryable(), retryable, "{headers:?}");
    };
    check(&[("retry-after", "7")], Some(7_000), true).await;
    check(&[("retry-after-ms", "250")], Some(250), true).await;
    let (at, now) = ("Wed, 21 Oct 2037 07:28:00 GMT", "Wed, 21 Oct 2037 07:27:30 GMT");
    check(&[("retry-after", at), ("date", now)], Some(30_000), true).await;
    check(&[("x-should-retry", "false")], None, false).await;
    let empty = r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#;
    let error = failure(reply("429 Too Many Requests", &[JSON], empty)).await;
    assert_eq!((error.kind(), error.is_retryable()), (FailureKind::RateLimited, false));
}

#[tokio::test]
async fn a_good_status_does_not_make_a_stream() {
    let overloaded = r#"{"error":{"message":"model overloaded","code":"overloaded"}}"#;
    let error = failure(reply("200 OK", &[JSON], overloaded)).await;
    assert_eq!((error.kind(), error.to_string().as_str()), (FailureKind::Overloaded, "model overloaded"));
    let error = failure(reply("200 OK", &[("content-type", "text/html")], "<html>log in</html>")).await;
    assert_eq!(error.kind(), FailureKind::Protocol);
    assert!(error.to_string().contains("text/html"), "{error}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Server::new([stream(&hello(), Cut::Whole)]);
    let location = [("location", elsewhere.base_url.as_str())];
    let error = failure(reply("307 Temporary Redirect", &location, "")).await;
    assert_eq!((error.kind(), error.is_retryable()), (FailureKind::InvalidRequest, false));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_the_networks_fault() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for scheme in ["http", "https"] {
        let Ok(model) = builder(&format!("{scheme}://{nobody}/v1")).build() else { continue };
        let error = Outcome::of(model.complete(ask("hi"))).await.error();
        assert_eq!((error.kind(), error.is_retryable()), (FailureKind::Network, true));
        let chain = format!("{error:?}");
        assert!(!chain.contains("/v1"), "{chain}");
    }
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_servers_url() {
    let proxy = Server::new([stream(&hello(), Cut::Whole)]);
    let address = proxy.base_url.trim_end_matches("/v1");
    let model = builder("http://model.invalid/v1").proxy(address).build().unwrap();
    assert_eq!(Outcome::of(model.complete(ask("hi"))).await.text, "hello");
    assert!(proxy.next_request().line.starts_with("POST http://model.invalid/v1/chat/completions "));
}

#[tokio::test]
async fn a_silent_server_is_waited_for_in_vain_only_so_long() {
    let head = unfinished_stream("", Cut::Whole);
    for before in [vec![], head] {
        let server = Server::new([[before, vec![Piece::Hang]].concat()]);
        let model = builder(&server.base_url).read_timeout(Duration::from_millis(50)).build().unwrap();
        let error = Outcome::of(model.complete(ask("hi"))).await.error();
        assert_eq!((error.kind(), error.is_retryable()), (FailureKind::Timeout, true));
    }
}
