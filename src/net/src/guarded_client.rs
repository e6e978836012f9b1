//! The HTTP client for addresses that a model or a page chooses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::{Client, Url};
use tokio::net::TcpStream;

use crate::address_policy::{AddressPolicy, AddressRefusal};
use crate::client::{HttpOptions, build, exchange};
use crate::error::HttpError;
use crate::redirect::{self, RedirectRefusal};
use crate::reply::HttpReply;
use crate::request::HttpRequest;
use crate::resolver::{GuardedResolver, HostResolver, LookupError, SystemResolver};

/// Pools of connections that are kept, each for a scheme and a port.
const POOLS: usize = 32;

/// Settings of a [`GuardedClient`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedOptions {
    /// Connections.
    pub http: HttpOptions,
    /// How many redirects in a row are followed; 5. With 0, a redirect is a reply like any other.
    pub max_redirects: usize,
    /// The `User-Agent` of requests that have none; `antiphon/VERSION`.
    pub user_agent: String,
    /// Whether compressed replies are asked for and decompressed; they are. The limit of
    /// [`HttpReply::body`] counts decompressed bytes.
    pub decompress: bool,
}

impl Default for GuardedOptions {
    fn default() -> Self {
        Self {
            http: HttpOptions::default(),
            max_redirects: 5,
            user_agent: concat!("antiphon/", env!("CARGO_PKG_VERSION")).to_owned(),
            decompress: true,
        }
    }
}

/// An HTTP client that connects only to what an [`AddressPolicy`] permits. Clones share its
/// connections. It belongs to the tokio runtime that first uses it.
///
/// * The policy is applied to the resolved addresses, and the client connects to exactly these.
/// * Each redirect is checked like a first request; none leads from HTTPS to HTTP. At another
///   origin a request has no key, cookie or body.
/// * Proxies of the environment are not used: a proxy resolves names itself, so the policy would
///   not see what is reached.
/// * Certificates are verified with the operating system's roots. There are no cookies.
///
/// ```no_run
/// # async fn example() -> Result<(), antiphon_net::HttpError> {
/// use antiphon_net::{AddressPolicy, GuardedClient, HttpRequest, Url};
/// let client = GuardedClient::new(AddressPolicy::default(), Default::default());
/// let url = Url::parse("https://example.com/").unwrap();
/// let page = client.send(&HttpRequest::get(url)).await?.body(1_000_000).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct GuardedClient {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    policy: Arc<AddressPolicy>,
    options: GuardedOptions,
    resolver: Arc<dyn HostResolver>,
    /// One for each scheme and port, because a resolver is not told the port that it resolves for.
    pools: Mutex<BTreeMap<(bool, u16), Client>>,
}

impl GuardedClient {
    /// A client without connections.
    pub fn new(policy: AddressPolicy, options: GuardedOptions) -> Self {
        Self::with_resolver(policy, options, Arc::new(SystemResolver))
    }

    /// A client that finds addresses through `resolver`. The policy applies to them.
    pub fn with_resolver(
        policy: AddressPolicy,
        options: GuardedOptions,
        resolver: Arc<dyn HostResolver>,
    ) -> Self {
        let policy = Arc::new(policy);
        Self { shared: Arc::new(Shared { policy, options, resolver, pools: Mutex::default() }) }
    }

    /// Its policy.
    pub fn policy(&self) -> &AddressPolicy {
        &self.shared.policy
    }

    /// Sends `request`, follows redirects, and waits for the head of the last reply. Any status
    /// counts as a reply. Only connecting has a time limit: see [`crate::within`].
    ///
    /// # Errors
    /// [`HttpError::AddressRefused`], [`HttpError::RedirectRefused`], and those of
    /// [`crate::HttpClient::send`].
    pub async fn send(&self, request: &HttpRequest) -> Result<HttpReply, HttpError> {
        let limit = self.shared.options.max_redirects;
        let mut next = self.hop(request).await?;
        let mut request = request.clone();
        for _ in 0..limit {
            let Some(location) = location(&next) else { return Ok(next) };
            request = redirect::follow(&request, next.status(), location)?;
            next = self.hop(&request).await?;
        }
        match location(&next) {
            Some(_) if limit > 0 => Err(RedirectRefusal::TooMany { limit }.into()),
            _ => Ok(next),
        }
    }

    /// Opens a connection for another protocol than HTTP, under the same policy.
    ///
    /// # Errors
    /// [`HttpError::BadUrl`], [`HttpError::AddressRefused`], [`HttpError::Unreachable`].
    pub async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, HttpError> {
        let unreachable = |cause: std::io::Error| HttpError::Unreachable {
            host: format!("{host}:{port}"),
            cause: cause.to_string(),
        };
        // The parser of URLs reads each spelling of an address.
        let url = Url::parse(&format!("http://{host}:{port}/")).ok();
        let url = url.filter(|url| {
            let port_only = url.port_or_known_default() == Some(port) && url.path() == "/";
            port_only && url.query().is_none() && url.fragment().is_none()
        });
        let url = url.ok_or_else(|| HttpError::BadUrl(host.to_owned()))?;
        self.shared.policy.check_url(&url)?;
        let host = url.host_str().unwrap_or_default();
        let addresses = match self.resolver(port).lookup(host.trim_matches(['[', ']'])).await {
            Ok(addresses) => addresses,
            Err(LookupError::Refused(refusal)) => return Err(refusal.into()),
            Err(LookupError::Failed(error)) => return Err(unreachable(error)),
        };
        let connecting = TcpStream::connect(&*addresses);
        match tokio::time::timeout(self.shared.options.http.connect_timeout, connecting).await {
            Ok(connected) => connected.map_err(unreachable),
            Err(late) => Err(unreachable(late.into())),
        }
    }

    /// One exchange, with a check of what the URL spells out.
    async fn hop(&self, request: &HttpRequest) -> Result<HttpReply, HttpError> {
        if !request.url.has_host() {
            return Err(HttpError::BadUrl(crate::without_secrets(&request.url)));
        }
        self.shared.policy.check_url(&request.url)?;
        exchange(&self.pool(&request.url)?, request).await
    }

    fn pool(&self, url: &Url) -> Result<Client, HttpError> {
        let Shared { options, pools, .. } = &*self.shared;
        let port = url.port_or_known_default().unwrap_or_default();
        let key = (url.scheme() == "https", port);
        let mut pools = pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = pools.get(&key) {
            return Ok(client.clone());
        }
        if pools.len() >= POOLS {
            pools.pop_first();
        }
        let client = build(&options.http, |builder| {
            let builder = builder
                .no_proxy()
                .user_agent(options.user_agent.clone())
                .gzip(options.decompress)
                .deflate(options.decompress)
                .dns_resolver(Arc::new(self.resolver(port)));
            // A machine may have no root certificates, and plain HTTP needs none.
            if key.0 { builder } else { builder.tls_certs_only([]) }
        });
        let client = client.map_err(HttpError::Setup)?;
        pools.insert(key, client.clone());
        Ok(client)
    }

    fn resolver(&self, port: u16) -> GuardedResolver {
        let Shared { policy, resolver, .. } = &*self.shared;
        GuardedResolver { policy: Arc::clone(policy), resolver: Arc::clone(resolver), port }
    }
}

impl From<AddressRefusal> for HttpError {
    fn from(refusal: AddressRefusal) -> Self {
        Self::AddressRefused(refusal)
    }
}

impl From<RedirectRefusal> for HttpError {
    fn from(refusal: RedirectRefusal) -> Self {
        Self::RedirectRefused(refusal)
    }
}

/// The target of a redirect; `None` if the reply is none.
fn location(reply: &HttpReply) -> Option<&str> {
    redirect::is_redirect(reply.status()).then(|| reply.header("location")).flatten()
}
