//! Resolving host names, with the policy applied to what comes out.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address_policy::{AddressPolicy, AddressRefusal};

/// The addresses of a name, some time later.
pub type ResolveFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of host names.
pub trait HostResolver: fmt::Debug + Send + Sync {
    /// The addresses of `host`, the preferred ones first.
    fn resolve(&self, host: &str) -> ResolveFuture;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl HostResolver for SystemResolver {
    fn resolve(&self, host: &str) -> ResolveFuture {
        let host = host.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Resolves for connections to one port, and returns only addresses that the policy permits. The
/// connector connects to these and asks nobody again, so a name cannot be rebound in between.
#[derive(Clone, Debug)]
pub(crate) struct GuardedResolver {
    pub(crate) policy: Arc<AddressPolicy>,
    pub(crate) resolver: Arc<dyn HostResolver>,
    pub(crate) port: u16,
}

impl GuardedResolver {
    /// The permitted addresses of `host`, at least one.
    pub(crate) async fn lookup(&self, host: &str) -> Result<Vec<SocketAddr>, LookupError> {
        let found = self.resolver.resolve(host).await?;
        let permitted = self.policy.permitted(host, found, self.port)?;
        if permitted.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into());
        }
        Ok(permitted.into_iter().map(|address| SocketAddr::new(address, self.port)).collect())
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = resolver.lookup(name.as_str()).await.map_err(|error| match error {
                LookupError::Refused(refusal) => Box::new(refusal) as _,
                LookupError::Failed(error) => {
                    Box::<dyn std::error::Error + Send + Sync>::from(error)
                }
            })?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Why a name led to no address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    #[error(transparent)]
    Refused(#[from] AddressRefusal),
    #[error(transparent)]
    Failed(#[from] io::Error),
}
