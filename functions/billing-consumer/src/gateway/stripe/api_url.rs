//! Where the provider's API is.

use url::{Host, Url};

/// The base URL of a provider's API: `https` anywhere, `http` on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiUrl(Url);

/// Why a text is no [`ApiUrl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiUrlError {
    /// Not a URL, or one of another scheme.
    #[error("is no URL such as https://api.stripe.com")]
    NotAUrl,
    /// The key would travel for everybody to read.
    #[error("must be an https URL: http is for this machine only")]
    NotEncrypted,
    /// A user, a query or a fragment, none of which an API has.
    #[error("must be a scheme, a host and perhaps a path: no user, query or fragment")]
    TooMuch,
}

impl ApiUrl {
    /// Stripe's own.
    pub const STRIPE: &str = "https://api.stripe.com";

    /// Reads a URL.
    ///
    /// # Errors
    /// When the text breaks the rules of [`ApiUrl`].
    pub fn parse(text: &str) -> Result<Self, ApiUrlError> {
        let url = Url::parse(text).map_err(|_| ApiUrlError::NotAUrl)?;
        let url = match url.scheme() {
            "https" => Self(url),
            "http" => Self(url).on_this_machine()?,
            _ => return Err(ApiUrlError::NotAUrl),
        };
        let Self(parts) = &url;
        let has_user = !parts.username().is_empty() || parts.password().is_some();
        if has_user || parts.query().is_some() || parts.fragment().is_some() {
            return Err(ApiUrlError::TooMuch);
        }
        Ok(url)
    }

    /// Stripe's own.
    ///
    /// # Panics
    /// Never: the constant is a URL.
    #[must_use]
    pub fn stripe() -> Self {
        Self::parse(Self::STRIPE).expect("a URL")
    }

    fn on_this_machine(self) -> Result<Self, ApiUrlError> {
        if self.is_loopback() { Ok(self) } else { Err(ApiUrlError::NotEncrypted) }
    }

    /// Whether it is on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Whether calls are encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The URL of something under it. Each step is one segment, whatever characters it has.
    pub(super) fn at(&self, steps: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(steps);
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_is_accepted_anywhere_and_http_on_this_machine() {
        for good in
            [ApiUrl::STRIPE, "https://pay.example.com/stripe/", "http://127.0.0.1:8420", "http://localhost:1", "http://[::1]:80"]
        {
            assert!(ApiUrl::parse(good).is_ok(), "{good}");
        }
        for (bad, rule) in [
            ("", ApiUrlError::NotAUrl),
            ("api.stripe.com", ApiUrlError::NotAUrl),
            ("ftp://api.stripe.com", ApiUrlError::NotAUrl),
            ("http://api.stripe.com", ApiUrlError::NotEncrypted),
            ("http://10.0.0.1", ApiUrlError::NotEncrypted),
            ("http://localhost.example.com", ApiUrlError::NotEncrypted),
            ("http://localhost@example.com", ApiUrlError::NotEncrypted),
            ("http://user@localhost", ApiUrlError::TooMuch),
            ("https://sk_live@api.stripe.com", ApiUrlError::TooMuch),
            ("https://api.stripe.com?a=b", ApiUrlError::TooMuch),
            ("https://api.stripe.com#a", ApiUrlError::TooMuch),
        ] {
            assert_eq!(ApiUrl::parse(bad), Err(rule), "{bad}");
        }
    }

    #[test]
    fn an_id_stays_one_segment_of_the_path() {
        let url = ApiUrl::parse("https://pay.example.com/stripe/").unwrap();
        assert_eq!(url.at(&["v1", "customers", "cus_1"]).as_str(), "https://pay.example.com/stripe/v1/customers/cus_1");
        assert_eq!(url.at(&["v1", "customers", "a/../../b"]).path(), "/stripe/v1/customers/a%2F..%2F..%2Fb");
        assert_eq!(ApiUrl::stripe().at(&["v1", "a?b#c"]).as_str(), "https://api.stripe.com/v1/a%3Fb%23c");
    }
}
