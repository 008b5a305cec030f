//! Names to addresses, and only to those that a callback may reach.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use hyper_util::client::legacy::connect::dns::Name;
use ikkai::callback::Reach;
use tower_service::Service;

/// Finds the addresses of a host.
#[async_trait]
pub trait Lookup: Send + Sync + 'static {
    /// All addresses of `host`.
    ///
    /// # Errors
    /// When the name has none, or nobody answers.
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Why a host may not, or cannot, be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error("the host's name has no address")]
    NoAddress,
    #[error("one of the host's addresses is not public")]
    Refused,
}

/// Gives the connector exactly the addresses that were checked: it makes the connection from this answer and asks nobody again, so a name that
/// changes its mind between check and connection gains nothing. One address that is not allowed spoils all: a name that has both is trying.
#[derive(Clone)]
pub(crate) struct CheckedResolver {
    lookup: Arc<dyn Lookup>,
    reach: Reach,
}

impl CheckedResolver {
    pub(crate) fn new(lookup: Arc<dyn Lookup>, reach: Reach) -> Self {
        Self { lookup, reach }
    }

    async fn resolve(&self, host: &str) -> Result<Vec<SocketAddr>, ResolveError> {
        let found = self.lookup.addresses(host).await.map_err(|_| ResolveError::NoAddress)?;
        if found.is_empty() {
            return Err(ResolveError::NoAddress);
        }
        if !found.iter().all(|address| self.reach.allows(host, *address)) {
            return Err(ResolveError::Refused);
        }
        // The connector puts the URL's port in.
        Ok(found.into_iter().map(|address| SocketAddr::new(address, 0)).collect())
    }
}

impl Service<Name> for CheckedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ResolveError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = self.clone();
        Box::pin(async move { Ok(resolver.resolve(name.as_str()).await?.into_iter()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known(&'static [&'static str]);

    #[async_trait]
    impl Lookup for Known {
        async fn addresses(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
            Ok(self.0.iter().map(|text| text.parse().unwrap()).collect())
        }
    }

    async fn resolve(addresses: &'static [&'static str]) -> Result<Vec<SocketAddr>, ResolveError> {
        CheckedResolver::new(Arc::new(Known(addresses)), Reach::Public).resolve("shop.example").await
    }

    #[tokio::test]
    async fn public_addresses_are_handed_on_all_and_in_order() {
        let found = resolve(&["8.8.8.8", "2606:4700::1111"]).await.unwrap();
        assert_eq!(found, ["8.8.8.8:0".parse().unwrap(), "[2606:4700::1111]:0".parse().unwrap()]);
    }

    #[tokio::test]
    async fn one_address_that_is_not_public_spoils_all() {
        for mixed in [
            &["127.0.0.1"][..],
            &["8.8.8.8", "10.0.0.1"],
            &["169.254.169.254", "8.8.8.8"],
            &["8.8.8.8", "::1"],
            &["8.8.8.8", "::ffff:127.0.0.1"],
        ] {
            assert_eq!(resolve(mixed).await, Err(ResolveError::Refused), "{mixed:?}");
        }
        assert_eq!(resolve(&[]).await, Err(ResolveError::NoAddress));
    }

    #[tokio::test]
    async fn an_address_in_the_place_of_a_name_is_checked_like_any_other() {
        let resolver = CheckedResolver::new(Arc::new(SystemLookup), Reach::Public);
        for host in ["127.0.0.1", "127.1", "2130706433", "169.254.169.254", "localhost"] {
            let found = resolver.resolve(host).await;
            assert!(found.is_err(), "{host}: {found:?}");
        }
    }
}
