//! A text that is never shown.

use std::fmt;
use std::sync::Arc;

/// A key or a token. Its `Debug` output hides it, and it has no other.
///
/// ```
/// # use selvedge_providers::Secret;
/// assert_eq!(format!("{:?}", Secret::new("sk-123")), "Secret(…)");
/// ```
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// A secret of this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The secret in an environment variable, without white space around it; `None` if that is not set, blank, or not
    /// text.
    pub fn from_env(variable: &str) -> Option<Self> {
        let text = std::env::var(variable).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| Self::new(text))
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
