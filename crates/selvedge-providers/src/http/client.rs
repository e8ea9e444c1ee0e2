//! The HTTP client: TLS, proxy, timeouts.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::BuildError;

/// What a client of our own is built from.
#[derive(Debug)]
pub(crate) struct ClientSettings {
    /// How long connecting may take, TLS included.
    pub(crate) connect_timeout: Duration,
    /// How long a read may wait for the next byte. There is no bound on a whole answer.
    pub(crate) read_timeout: Duration,
    pub(crate) proxy: Proxy,
}

/// How the server is reached.
#[derive(Debug)]
pub(crate) enum Proxy {
    /// As the environment says (`HTTPS_PROXY` and its like).
    Environment,
    /// Directly.
    None,
    /// Through the proxy at this URL.
    Url(String),
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            // Some servers say nothing while a model thinks or a long prompt is read.
            read_timeout: Duration::from_secs(300),
            proxy: Proxy::Environment,
        }
    }
}

impl ClientSettings {
    /// Builds the client. It follows no redirect: a key goes to the server that it is for, or nowhere.
    pub(crate) fn build(&self, encrypted: bool) -> Result<reqwest::Client, BuildError> {
        let mut client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(encrypted)?)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true)
            .connect_timeout(self.connect_timeout)
            .read_timeout(self.read_timeout);
        client = match &self.proxy {
            Proxy::Environment => client,
            Proxy::None => client.no_proxy(),
            Proxy::Url(url) => {
                client.proxy(reqwest::Proxy::all(url).map_err(|error| BuildError::Proxy(error.without_url()))?)
            }
        };
        client.build().map_err(|error| BuildError::Client(error.without_url()))
    }
}

/// The process's cryptography, ring if it has chosen none, and the system's root certificates. A system without any may
/// still reach a server that needs none.
fn tls(encrypted: bool) -> Result<ClientConfig, BuildError> {
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let config = ClientConfig::builder_with_provider(provider.clone());
    let config = config.with_safe_default_protocol_versions().map_err(BuildError::Tls)?;
    let mut config = match Verifier::new(provider) {
        Ok(verifier) => config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth(),
        Err(error) if encrypted => return Err(BuildError::Tls(error)),
        Err(_) => config.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
