//! Why a provider cannot be built.

/// A setting of a provider that cannot be. No message holds a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The base URL is none.
    #[error("the base URL is not an http or https URL: {why}")]
    BaseUrl {
        /// What is wrong with it.
        why: String,
    },
    /// The environment variable that should hold the key does not.
    #[error("the environment variable {variable} holds no key")]
    NoKey {
        /// The variable.
        variable: String,
    },
    /// A header's name or value has characters that no header may have.
    #[error("the header {name:?} has characters that no header may have")]
    Header {
        /// The header's name.
        name: String,
    },
    /// A field that the provider fills in by itself was given as an extra one.
    #[error("the field {field:?} of the body cannot be set")]
    ReservedField {
        /// The field.
        field: String,
    },
    /// The proxy's URL is none, or names an unknown kind of proxy.
    #[error("the proxy cannot be used")]
    Proxy(#[source] reqwest::Error),
    /// TLS cannot be set up, for instance because the system has no root certificates.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built")]
    Client(#[source] reqwest::Error),
}
