//! Where a caller may be told about the end of its job: which URLs are taken, and which addresses they may lead to.
//!
//! A URL that somebody else chooses must not become a way into our own network. Two rules stand against that, and both are needed: a
//! [`CallbackUrl`] names a public host over https, and whoever connects to it looks at every address that the name resolves to
//! ([`Reach::allows`]), connects to one of exactly those, and follows no redirect.
//!
//! ```
//! use ikkai::callback::{CallbackUrl, Reach};
//!
//! let url = CallbackUrl::parse("https://shop.example/jobs", Reach::Public)?;
//! // The name is public, and this address behind it is not.
//! assert!(!Reach::Public.allows(url.host(), "169.254.169.254".parse().expect("an address")));
//! assert!(CallbackUrl::parse("http://shop.example/jobs", Reach::Public).is_err(), "not over TLS");
//! # Ok::<(), ikkai::callback::CallbackUrlError>(())
//! ```

mod address;
mod url;

use std::net::IpAddr;

pub use address::is_public;
pub use url::{CallbackUrl, CallbackUrlError, MAX_CALLBACK_URL_BYTES};

/// How far callbacks may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses, over https, port 443.
    Public,
    /// The same, and this machine over http on any port: for builds that run beside a local engine and are never deployed.
    Loopback,
}

impl Reach {
    /// Whether a connection for `host` may be made to `address`. Loopback hosts lead to this machine and no other host does.
    #[must_use]
    pub fn allows(self, host: &str, address: IpAddr) -> bool {
        match self {
            Self::Loopback if url::is_loopback_host(host) => address.is_loopback(),
            Self::Public | Self::Loopback => is_public(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_local_build_reaches_this_machine_and_only_by_its_own_names() {
        let (here, public): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "8.8.8.8".parse().unwrap());
        assert!(Reach::Public.allows("shop.example", public) && Reach::Loopback.allows("shop.example", public));
        assert!(!Reach::Public.allows("shop.example", here) && !Reach::Loopback.allows("shop.example", here));
        assert!(!Reach::Public.allows("localhost", here));
        assert!(Reach::Loopback.allows("localhost", here) && !Reach::Loopback.allows("localhost", public));
    }
}
