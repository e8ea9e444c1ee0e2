//! The settings of a provider.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use selvedge_event::{ModelRef, Text};
use serde_json::{Map, Value};

use super::request::Encoder;
use super::{API, AuthHeader, OpenAiChat, Quirks};
use crate::http::{ClientSettings, Proxy};
use crate::{BuildError, Secret};

const OPENAI: &str = "https://api.openai.com/v1";

/// Builds an [`OpenAiChat`]. Nothing is read or opened before [`build`](Self::build).
#[derive(Debug)]
#[must_use]
pub struct OpenAiChatBuilder {
    model: Text,
    base_url: String,
    provider: Option<Text>,
    key: Key,
    headers: Vec<(String, Secret)>,
    extra: Map<String, Value>,
    quirks: Option<Quirks>,
    client: Option<reqwest::Client>,
    settings: ClientSettings,
}

#[derive(Debug)]
enum Key {
    None,
    Given(Secret),
    Environment(String),
}

impl OpenAiChatBuilder {
    pub(super) fn new(model: Text) -> Self {
        Self {
            model,
            base_url: OPENAI.into(),
            provider: None,
            key: Key::None,
            headers: Vec::new(),
            extra: Map::new(),
            quirks: None,
            client: None,
            settings: ClientSettings::default(),
        }
    }

    /// Where the server is: the URL before `/chat/completions`, version included. OpenAI's if not set. A query is kept
    /// (`?api-version=…`); a user name or password is refused.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self
    }

    /// The name under which histories know the server; its host if not set. Reasoning is replayed only under the same
    /// name.
    pub fn provider(mut self, name: impl Into<Text>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// The key. A server without keys needs none.
    pub fn key(mut self, key: impl Into<Secret>) -> Self {
        self.key = Key::Given(key.into());
        self
    }

    /// The key in an environment variable; [`build`](Self::build) fails if there is none.
    pub fn key_from_env(mut self, variable: impl Into<String>) -> Self {
        self.key = Key::Environment(variable.into());
        self
    }

    /// A further header of each request, in place of one of the same name. Its value is treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// A further field of each request's body, in place of one of the same name: `temperature`, `tool_choice`,
    /// `reasoning_effort` and whatever else the server knows. `messages` and `stream` cannot be set.
    pub fn extra(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(field.into(), value.into());
        self
    }

    /// Many further fields, as by [`extra`](Self::extra).
    pub fn extras(mut self, fields: Map<String, Value>) -> Self {
        self.extra.extend(fields);
        self
    }

    /// How the server departs from the protocol. If not set, the host tells: OpenAI's, DeepSeek's, or any other.
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = Some(quirks);
        self
    }

    /// How long connecting may take, TLS included; 10 seconds if not set.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// How long the server may be silent, before its answer and within; 5 minutes if not set. A whole answer may take any
    /// time.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.settings.read_timeout = timeout;
        self
    }

    /// The URL of a proxy. If not set, the environment tells (`HTTPS_PROXY` and its like).
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.settings.proxy = Proxy::Url(url.into());
        self
    }

    /// No proxy, whatever the environment says.
    pub fn no_proxy(mut self) -> Self {
        self.settings.proxy = Proxy::None;
        self
    }

    /// A ready client, which decides TLS, proxy and timeouts: those set here then say nothing. It should follow no
    /// redirects, or the key may go where they lead.
    pub fn client(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Builds the provider. No connection is opened.
    ///
    /// # Errors
    /// When a setting cannot be.
    pub fn build(self) -> Result<OpenAiChat, BuildError> {
        let base = parse_base(&self.base_url)?;
        let host = base.host_str().unwrap_or_default().to_owned();
        let quirks = self.quirks.unwrap_or_else(|| Quirks::of_host(&host));
        let key = match self.key {
            Key::None => None,
            Key::Given(key) => Some(key),
            Key::Environment(variable) => Some(Secret::from_env(&variable).ok_or(BuildError::NoKey { variable })?),
        };
        let headers = headers(key.as_ref(), &quirks.auth, &self.headers)?;
        let client = match self.client {
            Some(client) => client,
            None => self.settings.build(base.scheme() == "https")?,
        };
        let provider = self.provider.unwrap_or_else(|| host.into());
        let model = ModelRef { api: API.into(), provider, model: self.model };
        let encoder = Encoder::new(model, &quirks, self.extra)?;
        Ok(OpenAiChat::new(client, endpoint(base), headers, key, encoder))
    }
}

fn parse_base(url: &str) -> Result<Url, BuildError> {
    let wrong = |why: &str| BuildError::BaseUrl { why: why.into() };
    let url = Url::parse(url.trim()).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(&format!("its scheme is {}", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it has a user name or a password, which belong into a header"));
    }
    Ok(url)
}

fn endpoint(mut base: Url) -> Url {
    if let Ok(mut path) = base.path_segments_mut() {
        path.pop_if_empty().extend(["chat", "completions"]);
    }
    base.set_fragment(None);
    base
}

fn headers(key: Option<&Secret>, auth: &AuthHeader, more: &[(String, Secret)]) -> Result<HeaderMap, BuildError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("selvedge/", env!("CARGO_PKG_VERSION"))));
    if let Some(key) = key {
        let (name, value) = match auth {
            AuthHeader::Bearer => (AUTHORIZATION.as_str(), Secret::new(format!("Bearer {}", key.expose()))),
            AuthHeader::Named(name) => (&**name, key.clone()),
        };
        insert(&mut headers, name, &value)?;
    }
    for (name, value) in more {
        insert(&mut headers, name, value)?;
    }
    Ok(headers)
}

fn insert(headers: &mut HeaderMap, name: &str, value: &Secret) -> Result<(), BuildError> {
    let wrong = || BuildError::Header { name: name.into() };
    let name = HeaderName::try_from(name).map_err(|_| wrong())?;
    let mut value = HeaderValue::from_str(value.expose()).map_err(|_| wrong())?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_follows_from_the_base() {
        let rows = [
            ("http://h/v1", "http://h/v1/chat/completions"),
            ("http://h/v1/", "http://h/v1/chat/completions"),
            (" http://h:8080 ", "http://h:8080/chat/completions"),
            ("https://h/d?api-version=1#x", "https://h/d/chat/completions?api-version=1"),
        ];
        for (base, expected) in rows {
            assert_eq!(endpoint(parse_base(base).unwrap()).as_str(), expected);
        }
        for wrong in ["", "h/v1", "ftp://h", "http://me:sk-very-secret@h/v1", "http://sk-very-secret@h/v1"] {
            let error = parse_base(wrong).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn settings_that_cannot_be_are_refused_without_showing_them() {
        let builder = || OpenAiChat::builder("m").base_url("http://127.0.0.1:1/v1");
        let errors = [
            builder().key("sk-very-secret\n").build().unwrap_err(),
            builder().header("x-a", "very-secret\0").build().unwrap_err(),
            builder().header("no name", "very-secret").build().unwrap_err(),
            builder().extra("messages", 1).build().unwrap_err(),
            builder().extra("stream", false).build().unwrap_err(),
            builder().key_from_env("SELVEDGE_A_VARIABLE_THAT_IS_NOT_SET").build().unwrap_err(),
            builder().proxy("no proxy:secret@").build().unwrap_err(),
        ];
        for error in errors {
            assert!(!format!("{error} {error:?}").contains("very-secret"), "{error:?}");
        }
    }

    #[test]
    fn nothing_shows_the_key() {
        let builder = OpenAiChat::builder("m").base_url("http://127.0.0.1:1/v1").key("sk-very-secret");
        let builder = builder.header("x-other", "also-very-secret");
        assert!(!format!("{builder:?}").contains("very-secret"));
        let model = builder.build().unwrap();
        assert!(!format!("{model:?} {model:#?}").contains("very-secret"));
    }
}
