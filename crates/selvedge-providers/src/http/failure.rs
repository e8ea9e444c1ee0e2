//! From what went wrong with an exchange to what the caller should do.

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode};
use selvedge_event::FailureKind;
use selvedge_model::ModelError;

use super::{ProviderError, retry};
use crate::Secret;

/// The most bytes of an error's body that are read.
const BODY_LIMIT: usize = 64 << 10;

/// A key shorter than this is a placeholder, and taking it out of messages would only garble them.
const SHORTEST_KEY: usize = 8;

/// No answer, or no more of it.
pub(super) fn of_transport(error: reqwest::Error) -> ModelError {
    let error = error.without_url();
    let (kind, message) = if error.is_builder() {
        (FailureKind::InvalidRequest, "the request cannot be sent")
    } else if error.is_connect() {
        (FailureKind::Network, "the model's server cannot be reached")
    } else if error.is_timeout() {
        (FailureKind::Timeout, "the model's server was silent for too long")
    } else {
        (FailureKind::Network, "the connection to the model's server broke")
    };
    ModelError::new(kind, message).with_source(error)
}

/// An answer whose status is an error.
pub(super) async fn of_status(mut response: Response, key: Option<&Secret>) -> ModelError {
    let status = response.status();
    let said = ProviderError::from_body(&body_of(&mut response).await);
    let headers = response.headers();
    let error = ModelError::new(kind_of_status(status.as_u16()), status_message(status, headers, said.message(), key));
    let error = error.with_retryable(is_retryable(status, headers, &said));
    match retry::retry_after(headers) {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    }
}

/// An answer with a good status that is no event stream.
pub(super) async fn of_content(mut response: Response, key: Option<&Secret>) -> ModelError {
    let body = body_of(&mut response).await;
    let error = serde_json::from_slice(&body).ok().and_then(|json| ProviderError::from_json(&json));
    if let Some(error) = error {
        return error.without(key).into_model_error();
    }
    let found = response.headers().get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let found = found.unwrap_or_default();
    ModelError::new(FailureKind::Protocol, format!("the server answered with {found:?}, not with an event stream"))
}

pub(super) fn kind_of_status(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Auth,
        402 | 409 => FailureKind::Other,
        408 => FailureKind::Timeout,
        429 => FailureKind::RateLimited,
        503 | 529 => FailureKind::Overloaded,
        500.. => FailureKind::Server,
        _ => FailureKind::InvalidRequest,
    }
}

/// A request that was refused is refused again, whatever the server says; else the server's word counts.
fn is_retryable(status: StatusCode, headers: &HeaderMap, said: &ProviderError) -> bool {
    let by_status = matches!(status.as_u16(), 408 | 409 | 429 | 500..);
    by_status && retry::should_retry(headers).unwrap_or(!said.is_out_of_quota())
}

fn status_message(status: StatusCode, headers: &HeaderMap, said: &str, key: Option<&Secret>) -> String {
    let mut message = format!("the server answered {status}");
    if status.is_redirection() {
        message.push_str(", and redirects are not followed: the base URL may be wrong");
    }
    if !said.is_empty() {
        message.push_str(": ");
        message.push_str(said);
    }
    let id = ["x-request-id", "request-id"].iter().find_map(|name| headers.get(*name)?.to_str().ok());
    if let Some(id) = id.filter(|id| id.len() <= 100) {
        message.push_str(&format!(" (request {id})"));
    }
    without_key(&message, key)
}

/// Servers quote the key that they do not accept.
pub(super) fn without_key(message: &str, key: Option<&Secret>) -> String {
    match key.map(Secret::expose) {
        Some(key) if key.len() >= SHORTEST_KEY => message.replace(key, "(the key)"),
        _ => message.to_owned(),
    }
}

/// The beginning of a body; what has come of it if the rest does not.
async fn body_of(response: &mut Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = BODY_LIMIT - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == BODY_LIMIT {
            break;
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_kind_of_failure() {
        use FailureKind::{Auth, InvalidRequest, Other, Overloaded, RateLimited, Server, Timeout};
        let rows = [
            (301, InvalidRequest, false),
            (400, InvalidRequest, false),
            (401, Auth, false),
            (402, Other, false),
            (403, Auth, false),
            (404, InvalidRequest, false),
            (408, Timeout, true),
            (409, Other, true),
            (413, InvalidRequest, false),
            (422, InvalidRequest, false),
            (425, InvalidRequest, false),
            (429, RateLimited, true),
            (500, Server, true),
            (502, Server, true),
            (503, Overloaded, true),
            (504, Server, true),
            (529, Overloaded, true),
        ];
        for (status, kind, retryable) in rows {
            assert_eq!(kind_of_status(status), kind, "{status}");
            let status = StatusCode::from_u16(status).unwrap();
            let said = ProviderError::default();
            assert_eq!(is_retryable(status, &HeaderMap::new(), &said), retryable, "{status}");
            let headers = |word| [(reqwest::header::HeaderName::from_static("x-should-retry"), word)];
            let word = |word| headers(reqwest::header::HeaderValue::from_static(word)).into_iter().collect();
            assert!(!is_retryable(status, &word("false"), &said), "{status}");
            assert_eq!(is_retryable(status, &word("true"), &said), retryable, "{status}");
        }
    }

    #[test]
    fn a_key_that_a_server_quotes_is_taken_out() {
        let key = Secret::new("sk-very-secret");
        assert_eq!(without_key("wrong key sk-very-secret", Some(&key)), "wrong key (the key)");
        assert_eq!(without_key("a key", Some(&Secret::new("e"))), "a key");
    }
}
