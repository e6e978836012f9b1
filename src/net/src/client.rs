//! The HTTP client: a pool of shared connections.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Method, Url, redirect};

use crate::error::{HttpError, innermost};
use crate::reply::HttpReply;
use crate::request::HttpRequest;

/// Settings of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpOptions {
    /// The time limit of a connection attempt, including TLS; 10 seconds.
    pub connect_timeout: Duration,
    /// How long an idle connection is kept; 90 seconds.
    pub idle: Duration,
    /// How many idle connections are kept per host; 32.
    pub idle_per_host: usize,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            idle: Duration::from_secs(90),
            idle_per_host: 32,
        }
    }
}

/// A pool of connections, shared by its clones. It belongs to the tokio runtime that first uses
/// it.
///
/// It follows no redirects, so that a key is never sent to another host. Certificates are
/// verified with the operating system's roots. Proxies come from `HTTPS_PROXY`, `HTTP_PROXY` and
/// `NO_PROXY`, except for plain HTTP to this machine.
#[derive(Clone, Debug, Default)]
pub struct HttpClient {
    pools: Arc<Pools>,
}

#[derive(Debug, Default)]
struct Pools {
    options: HttpOptions,
    /// Created on first use: loading root certificates takes time, and a machine that only
    /// connects to itself may have none.
    remote: OnceLock<Result<Client, String>>,
    loopback: OnceLock<Result<Client, String>>,
}

impl HttpClient {
    /// A client without connections.
    pub fn new(options: HttpOptions) -> Self {
        Self { pools: Arc::new(Pools { options, ..Pools::default() }) }
    }

    /// Sends `request` and waits for the head of the reply. Any status counts as a reply. Only
    /// connecting has a time limit: see [`crate::within`].
    ///
    /// # Errors
    /// [`HttpError::Setup`], [`HttpError::BadUrl`], [`HttpError::BadMethod`],
    /// [`HttpError::Unreachable`], [`HttpError::Cut`].
    pub async fn send(&self, request: &HttpRequest) -> Result<HttpReply, HttpError> {
        let url = &request.url;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(HttpError::BadUrl(without_secrets(url)));
        }
        exchange(self.client(url)?, request).await
    }

    /// The client under these settings for a library that sends its own requests to `url`: it
    /// follows no redirects either, and verifies certificates the same way.
    ///
    /// # Errors
    /// [`HttpError::Setup`].
    pub fn raw(&self, url: &Url) -> Result<Client, HttpError> {
        self.client(url).cloned()
    }

    fn client(&self, url: &Url) -> Result<&Client, HttpError> {
        let Pools { options, remote, loopback } = &*self.pools;
        let client = if url.scheme() == "http" && is_this_machine(url) {
            loopback.get_or_init(|| build(options, |b| plain(b).no_proxy().tls_certs_only([])))
        } else {
            remote.get_or_init(|| build(options, plain))
        };
        client.as_ref().map_err(|cause| HttpError::Setup(cause.clone()))
    }
}

/// Whether the host of `url` is this machine, by loopback address or name.
pub fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// `url` without user, password, query and fragment, which may contain secrets.
pub fn without_secrets(url: &Url) -> String {
    if url.has_host() {
        format!("{}{}", url.origin().ascii_serialization(), url.path())
    } else {
        format!("{}:…", url.scheme())
    }
}

/// Sends `request` and waits for the head of the reply.
pub(crate) async fn exchange(
    client: &Client,
    request: &HttpRequest,
) -> Result<HttpReply, HttpError> {
    let HttpRequest { method, url, headers, body } = request;
    if matches!(*method, Method::CONNECT | Method::TRACE) {
        return Err(HttpError::BadMethod(method.to_string()));
    }
    let mut builder = client.request(method.clone(), url.clone()).headers(headers.clone());
    if let Some(body) = body {
        builder = builder.body(body.clone());
    }
    let host = url.origin().ascii_serialization();
    match builder.send().await {
        Ok(reply) => Ok(HttpReply::new(reply, host)),
        Err(error) => Err(HttpError::from_reqwest(error, &host)),
    }
}

/// Without compression, which would hold back the pieces of a streamed reply.
fn plain(builder: ClientBuilder) -> ClientBuilder {
    builder.no_gzip().no_deflate()
}

/// A pool that follows no redirects.
pub(crate) fn build(
    options: &HttpOptions,
    adapt: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Result<Client, String> {
    // Fails if a provider is installed already; any provider will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .redirect(redirect::Policy::none())
        .referer(false)
        .user_agent(concat!("antiphon/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(options.connect_timeout)
        .pool_idle_timeout(options.idle)
        .pool_max_idle_per_host(options.idle_per_host);
    adapt(builder).build().map_err(|error| innermost(&error))
}
