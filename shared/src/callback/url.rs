//! URLs that callbacks are sent to.

use std::fmt;
use std::net::IpAddr;

use super::Reach;

/// Longest callback URL, in bytes: it is kept in the job's record, which must stay small.
pub const MAX_CALLBACK_URL_BYTES: usize = 2_048;

/// Longest host name and longest label of one (RFC 1035, 2.3.4).
const MAX_HOST_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// Ends of names that lead nowhere, or into somebody's own network: <https://www.iana.org/assignments/special-use-domain-names/> and
/// <https://www.icann.org/en/board-activities-and-meetings/materials/approved-resolutions-special-meeting-of-the-icann-board-29-07-2024-en#section2.a>
/// (`internal`), and what home and office routers use. The addresses are checked as well; this only says so earlier.
const LOCAL_SUFFIXES: [&str; 11] =
    ["localhost", "local", "localdomain", "internal", "intranet", "private", "corp", "home", "lan", "arpa", "onion"];

/// The URL of somebody who wants to hear of the end of a job, in its normal form: scheme and host in lower case, no port, a path.
///
/// It may hold a token, so `Debug` shows the host alone. The grammar is RFC 3986 without the parts that parsers read differently: no user, no
/// fragment, no IP address, nothing outside ASCII.
#[derive(Clone, PartialEq, Eq)]
pub struct CallbackUrl {
    text: String,
    host: String,
}

/// Why a text is not a [`CallbackUrl`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackUrlError {
    /// More than [`MAX_CALLBACK_URL_BYTES`].
    #[error("must be a URL of at most {MAX_CALLBACK_URL_BYTES} bytes")]
    TooLong,
    /// Another scheme, or none.
    #[error("must begin with https://")]
    NotHttps,
    /// A user or a password in front of the host.
    #[error("must not hold a user or a password; put a token into the path, or check the signature instead")]
    UserInfo,
    /// A `#`.
    #[error("must not have a fragment (#): it is never sent")]
    Fragment,
    /// Another port than 443.
    #[error("must not name another port than 443")]
    Port,
    /// An IP address, in whatever notation.
    #[error("must name its host, not an IP address")]
    IpAddress,
    /// The host breaks the rules of host names.
    #[error(
        "must have a host of ASCII letters, digits, hyphens and dots with a domain, such as hooks.example.com (xn--… for others)"
    )]
    Host,
    /// The host is on nobody's public network.
    #[error("must name a public host; names such as localhost or …internal are not reachable")]
    LocalHost,
    /// The path or the query has a character that has to be percent-encoded.
    #[error("must have a path and a query of the characters of RFC 3986; percent-encode the others")]
    Character,
}

impl CallbackUrlError {
    /// Stable machine name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::NotHttps => "not_https",
            Self::UserInfo => "user_info",
            Self::Fragment => "fragment",
            Self::Port => "port_not_allowed",
            Self::IpAddress => "ip_address",
            Self::Host => "invalid_host",
            Self::LocalHost => "host_not_public",
            Self::Character => "invalid_character",
        }
    }
}

impl CallbackUrl {
    /// Reads a URL and brings it into its normal form.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn parse(text: &str, reach: Reach) -> Result<Self, CallbackUrlError> {
        if text.len() > MAX_CALLBACK_URL_BYTES {
            return Err(CallbackUrlError::TooLong);
        }
        if text.contains('#') {
            return Err(CallbackUrlError::Fragment);
        }
        let (scheme, rest) = text.split_once("://").ok_or(CallbackUrlError::NotHttps)?;
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(CallbackUrlError::UserInfo);
        }
        let target = normal_target(target)?;
        match scheme.to_ascii_lowercase().as_str() {
            "https" => Self::public(authority, &target),
            "http" if reach == Reach::Loopback => Self::loopback(authority, &target),
            _ => Err(CallbackUrlError::NotHttps),
        }
    }

    fn public(authority: &str, target: &str) -> Result<Self, CallbackUrlError> {
        if authority.starts_with('[') {
            return Err(CallbackUrlError::IpAddress);
        }
        let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
        let host = host.to_ascii_lowercase();
        check_host(&host)?;
        match port {
            "" | "443" => Ok(Self { text: format!("https://{host}{target}"), host }),
            _ => Err(CallbackUrlError::Port),
        }
    }

    fn loopback(authority: &str, target: &str) -> Result<Self, CallbackUrlError> {
        let authority = authority.to_ascii_lowercase();
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => authority.split_once(':').map_or((authority.as_str(), None), |(host, port)| (host, Some(port))),
        };
        if !is_loopback_host(host) {
            return Err(CallbackUrlError::NotHttps);
        }
        if port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return Err(CallbackUrlError::Port);
        }
        Ok(Self { text: format!("http://{authority}{target}"), host: host.to_owned() })
    }

    /// The URL in its normal form. It may hold a token: for the record and the request, not for logs.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, which may be shown.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Debug for CallbackUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallbackUrl({})", self.host)
    }
}

/// Names of this machine.
pub(super) fn is_loopback_host(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn check_host(host: &str) -> Result<(), CallbackUrlError> {
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if host.len() > MAX_HOST_BYTES || !labels.iter().all(is_label) {
        return Err(CallbackUrlError::Host);
    }
    let last = labels.last().copied().unwrap_or_default();
    // Resolvers read 127.1, 2130706433 and 0x7f.1 as addresses: a name whose last label is a number is none.
    if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
        return Err(CallbackUrlError::IpAddress);
    }
    if LOCAL_SUFFIXES.contains(&last) {
        return Err(CallbackUrlError::LocalHost);
    }
    if labels.len() < 2 { Err(CallbackUrlError::Host) } else { Ok(()) }
}

/// Path and query as they are sent. A backslash is among the characters that do not pass: browsers read it as a slash, others do not.
fn normal_target(target: &str) -> Result<String, CallbackUrlError> {
    let bytes = target.as_bytes();
    let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let is_fine = |(at, byte): (usize, &u8)| match byte {
        b'%' => is_hex(at + 1) && is_hex(at + 2),
        byte => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(byte),
    };
    if !bytes.iter().enumerate().all(is_fine) {
        return Err(CallbackUrlError::Character);
    }
    Ok(if target.starts_with('/') { target.to_owned() } else { format!("/{target}") })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(text: &str) -> Result<String, CallbackUrlError> {
        CallbackUrl::parse(text, Reach::Public).map(|url| url.as_str().to_owned())
    }

    #[test]
    fn a_url_is_kept_in_its_normal_form() {
        for (given, kept) in [
            ("https://hooks.example.com/ikkai", "https://hooks.example.com/ikkai"),
            ("HTTPS://Hooks.Example.COM:443/Ikkai?Token=aB%2f", "https://hooks.example.com/Ikkai?Token=aB%2f"),
            ("https://shop.example", "https://shop.example/"),
            ("https://shop.example:?a=b", "https://shop.example/?a=b"),
            ("https://xn--bcher-kva.example/a;b=c/d?e=/?:@", "https://xn--bcher-kva.example/a;b=c/d?e=/?:@"),
            ("https://1password.com/x", "https://1password.com/x"),
            ("https://a.0xyz.com/x", "https://a.0xyz.com/x"),
        ] {
            assert_eq!(public(given).as_deref(), Ok(kept), "{given}");
        }
    }

    #[test]
    fn what_is_no_public_https_url_is_refused_with_its_reason() {
        use CallbackUrlError::{Character, Fragment, Host, IpAddress, LocalHost, NotHttps, Port, TooLong, UserInfo};
        let cases = [
            ("", NotHttps),
            ("shop.example/hook", NotHttps),
            ("http://shop.example/", NotHttps),
            ("ftp://shop.example/", NotHttps),
            ("gopher://shop.example/", NotHttps),
            ("https:/shop.example/", NotHttps),
            ("https:\\\\shop.example/", NotHttps),
            (" https://shop.example/", NotHttps),
            ("https://user@shop.example/", UserInfo),
            ("https://user:word@shop.example/", UserInfo),
            ("https://shop.example:443@127.0.0.1/", UserInfo),
            ("https://shop.example/#top", Fragment),
            ("https://127.0.0.1#@shop.example/", Fragment),
            ("https://shop.example:80/", Port),
            ("https://shop.example:8443/", Port),
            ("https://shop.example:0443/", Port),
            ("https://shop.example:443:443/", Port),
            ("https://127.0.0.1/", IpAddress),
            ("https://127.1/", IpAddress),
            ("https://2130706433/", IpAddress),
            ("https://0x7f000001/", IpAddress),
            ("https://0x7f.1/", IpAddress),
            ("https://0177.0.0.01/", IpAddress),
            ("https://a.0x7f/", IpAddress),
            ("https://169.254.169.254/latest/meta-data/", IpAddress),
            ("https://[::1]/", IpAddress),
            ("https://[::ffff:127.0.0.1]/", IpAddress),
            ("https:///hook", Host),
            ("https://shop/", Host),
            ("https://shop.example./", Host),
            ("https://.example/", Host),
            ("https://a..example/", Host),
            ("https://-a.example/", Host),
            ("https://a-.example/", Host),
            ("https://a_b.example/", Host),
            ("https://bücher.example/", Host),
            ("https://shop。example/", Host),
            ("https://shop.example%2f/", Host),
            ("https://shop.example\\@127.0.0.1/", UserInfo),
            ("https://shop.exa\tmple/", Host),
            ("https://localhost/", LocalHost),
            ("https://LOCALHOST/", LocalHost),
            ("https://a.localhost/", LocalHost),
            ("https://printer.local/", LocalHost),
            ("https://metadata.google.internal/", LocalHost),
            ("https://router.lan/", LocalHost),
            ("https://1.0.0.127.in-addr.arpa/", LocalHost),
            ("https://shop.example/a b", Character),
            ("https://shop.example/a\r\nhost: b", Character),
            ("https://shop.example/\\..", Character),
            ("https://shop.example/%", Character),
            ("https://shop.example/%zz", Character),
            ("https://shop.example/ä", Character),
            ("https://shop.example/{id}", Character),
        ];
        for (given, error) in cases {
            assert_eq!(public(given), Err(error), "{given}");
        }
        let longest = format!("https://shop.example/{}", "a".repeat(MAX_CALLBACK_URL_BYTES - 21));
        assert!(public(&longest).is_ok());
        assert_eq!(public(&format!("{longest}a")), Err(TooLong));
        assert_eq!(public(&format!("https://{}.example/", "a".repeat(64))), Err(Host));
        assert_eq!(public(&format!("https://{}example/", "a.".repeat(125))), Err(Host));
    }

    #[test]
    fn a_local_build_takes_this_machine_too_and_nothing_else_over_http() {
        let local = |text: &str| CallbackUrl::parse(text, Reach::Loopback).map(|url| url.as_str().to_owned());
        for good in ["http://127.0.0.1:8080/hook", "http://localhost:1/", "http://[::1]:9/x?y", "https://shop.example/"] {
            assert_eq!(local(good).as_deref(), Ok(good));
            assert_eq!(public(good).is_ok(), good.starts_with("https"));
        }
        for bad in [
            "http://shop.example/",
            "http://10.0.0.1/",
            "http://localhost.example.com/",
            "http://127.0.0.1:99999/",
            "https://127.0.0.1/",
        ] {
            assert!(local(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn debug_shows_the_host_and_no_token() {
        let url = CallbackUrl::parse("https://shop.example/hook/s3cret?token=s3cret", Reach::Public).unwrap();
        assert_eq!(format!("{url:?}"), "CallbackUrl(shop.example)");
    }

    #[test]
    fn codes_are_unique() {
        use CallbackUrlError::{Character, Fragment, Host, IpAddress, LocalHost, NotHttps, Port, TooLong, UserInfo};
        let all = [TooLong, NotHttps, UserInfo, Fragment, Port, IpAddress, Host, LocalHost, Character];
        let codes: std::collections::BTreeSet<_> = all.iter().map(CallbackUrlError::code).collect();
        assert_eq!(codes.len(), all.len());
    }

    proptest! {
        /// Whatever is taken, another parser reads the same destination out of it.
        #[test]
        fn another_parser_sees_the_same_destination(
            text in r"(?i:https)://[a-zA-Z0-9@:\[\]._%\\-]{1,24}(\.example)?(:443|:80)?([/?][ -~]{0,16})?"
        ) {
            if let Ok(taken) = CallbackUrl::parse(&text, Reach::Public) {
                let other = url::Url::parse(&text).expect("another parser takes it");
                prop_assert_eq!(other.host_str(), Some(taken.host()), "{}", text);
                prop_assert_eq!(other.port_or_known_default(), Some(443));
                prop_assert_eq!((other.scheme(), other.username(), other.password(), other.fragment()), ("https", "", None, None));
                prop_assert_eq!(CallbackUrl::parse(taken.as_str(), Reach::Public), Ok(taken), "a normal form stays");
            }
        }
    }
}
