//! What a provider says went wrong, wherever it says it: in the body of an answer or in the middle of a stream.

use selvedge_event::FailureKind;
use selvedge_model::ModelError;
use serde_json::Value;

use super::failure::{kind_of_status, without_key};
use crate::Secret;

/// The longest message that is passed on, in characters.
const MESSAGE_LIMIT: usize = 1_000;

/// An error in a provider's own words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    message: String,
    /// Its words for the kind of error: `code`, `type`, `status`.
    words: Vec<String>,
    /// A status of HTTP, where it gives one.
    status: Option<u16>,
}

impl ProviderError {
    /// Reads `{"error": …}`, a bare error object, or the text that stands in place of one.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let error = match value.get("error") {
            Some(error) if is_something(error) => error,
            _ if value.get("message").is_some() || value.get("detail").is_some() => value,
            _ => return None,
        };
        if let Some(message) = error.as_str() {
            return Some(Self { message: bounded(message), ..Self::default() });
        }
        let fields = ["code", "type", "status"].map(|field| error.get(field));
        let numbers = fields.iter().flatten().filter_map(|field| match field {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64().and_then(|number| u16::try_from(number).ok()),
        });
        let words = fields.iter().flatten().filter_map(|field| field.as_str()).map(str::to_lowercase);
        let said = ["message", "detail", "msg"].iter().find_map(|field| error.get(field));
        let message = match said {
            Some(Value::String(text)) => bounded(text),
            Some(other) => bounded(&other.to_string()),
            None => bounded(&error.to_string()),
        };
        let status = { numbers }.find(|status| (400..600).contains(status));
        Some(Self { message, words: words.collect(), status })
    }

    /// Reads the body of an answer: JSON, or a text that is worth showing.
    pub(super) fn from_body(body: &[u8]) -> Self {
        let json = serde_json::from_slice(body).ok();
        if let Some(error) = json.as_ref().and_then(Self::from_json) {
            return error;
        }
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        // A page for a browser says nothing that the status does not.
        let message = if text.starts_with('<') { String::new() } else { bounded(text) };
        Self { message, ..Self::default() }
    }

    /// The same error without the key in its message.
    pub(crate) fn without(self, key: Option<&Secret>) -> Self {
        Self { message: without_key(&self.message, key), ..self }
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Whether the account is used up, so that the same request fails until somebody pays.
    pub(super) fn is_out_of_quota(&self) -> bool {
        self.says("insufficient_quota") || self.says("billing")
    }

    /// The error as one that came in place of an answer with good status, or in the middle of one.
    pub(crate) fn into_model_error(self) -> ModelError {
        let out_of_quota = self.is_out_of_quota();
        let error = ModelError::new(self.kind(), self.message);
        if out_of_quota { error.with_retryable(false) } else { error }
    }

    fn kind(&self) -> FailureKind {
        // What it is called says more than its number: a gateway's 400 may hold a full server's error.
        let by_word = [
            ("rate_limit", FailureKind::RateLimited),
            ("too_many_requests", FailureKind::RateLimited),
            ("insufficient_quota", FailureKind::RateLimited),
            ("resource_exhausted", FailureKind::RateLimited),
            ("overloaded", FailureKind::Overloaded),
            ("unavailable", FailureKind::Overloaded),
            ("authentication", FailureKind::Auth),
            ("permission", FailureKind::Auth),
            ("api_key", FailureKind::Auth),
            ("timeout", FailureKind::Timeout),
            ("context_length", FailureKind::InvalidRequest),
            ("content_policy", FailureKind::InvalidRequest),
            ("content_filter", FailureKind::InvalidRequest),
        ];
        let named = by_word.iter().find(|(word, _)| self.says(word)).map(|(_, kind)| *kind);
        let by_status = || self.status.map(kind_of_status);
        let invalid = || self.says("invalid_request").then_some(FailureKind::InvalidRequest);
        named.or_else(by_status).or_else(invalid).unwrap_or(FailureKind::Server)
    }

    fn says(&self, word: &str) -> bool {
        self.words.iter().any(|found| found.contains(word))
    }
}

fn is_something(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

/// A text on one line, cut to the limit.
fn bounded(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ").replace(char::is_control, "");
    match line.char_indices().nth(MESSAGE_LIMIT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, kind: FailureKind, message: &str) {
        let error = ProviderError::from_json(&serde_json::from_str(json).unwrap()).unwrap().into_model_error();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, message), "{json}");
    }

    #[test]
    fn errors_are_read_as_all_vendors_write_them() {
        use FailureKind::{Auth, InvalidRequest, Overloaded, RateLimited, Server};
        check(r#"{"error":{"message":"slow down","type":"rate_limit_error","code":null}}"#, RateLimited, "slow down");
        check(r#"{"error":{"message":"bad gateway","type":"server_error","code":502}}"#, Server, "bad gateway");
        check(r#"{"error":{"message":"full","code":"overloaded","type":"server_error"}}"#, Overloaded, "full");
        check(r#"{"error":{"message":"full","code":503}}"#, Overloaded, "full");
        check(r#"{"error":{"message":"no","code":"429"}}"#, RateLimited, "no");
        check(r#"{"error":{"code":"server_error","message":"gone"},"choices":[]}"#, Server, "gone");
        check(r#"{"error":{"message":"no","code":"invalid_api_key","type":"invalid_request_error"}}"#, Auth, "no");
        check(r#"{"error":{"message":"no","type":"invalid_request_error"}}"#, InvalidRequest, "no");
        check(r#"{"error":{"code":429,"message":"q","status":"RESOURCE_EXHAUSTED"}}"#, RateLimited, "q");
        check(r#"{"error":"model not found"}"#, Server, "model not found");
        check(
            r#"{"object":"error","message":"too long","type":"BadRequestError","code":400}"#,
            InvalidRequest,
            "too long",
        );
        check(r#"{"detail":[{"msg":"field required"}]}"#, Server, r#"[{"msg":"field required"}]"#);
        check(r#"{"error":{"foo":1}}"#, Server, r#"{"foo":1}"#);
    }

    #[test]
    fn what_is_no_error_is_none() {
        for json in
            ["{}", "null", "[]", r#"{"error":null}"#, r#"{"error":""}"#, r#"{"error":{}}"#, r#"{"error":false}"#]
        {
            assert_eq!(ProviderError::from_json(&serde_json::from_str(json).unwrap()), None, "{json}");
        }
    }

    #[test]
    fn messages_are_one_bounded_line() {
        assert_eq!(bounded("a\n\n  b\u{1b}[0m\t c"), "a b[0m c");
        assert_eq!(bounded(&"é".repeat(5_000)).chars().count(), MESSAGE_LIMIT + 1);
        assert_eq!(ProviderError::from_body(b"<html>Bad gateway</html>").message(), "");
        assert_eq!(ProviderError::from_body(b" upstream gone\n").message(), "upstream gone");
    }

    #[test]
    fn a_used_up_account_is_not_worth_another_attempt() {
        let json = r#"{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        let error = ProviderError::from_json(&serde_json::from_str(json).unwrap()).unwrap().into_model_error();
        assert!(!error.is_retryable());
    }
}
