//! Which addresses a link in a mail may have.

/// Longest link in octets; beyond this, mail readers and browsers begin to cut.
const MAX_LINK_OCTETS: usize = 2048;

/// Checks that a text is one absolute `http` or `https` address which leads where it seems to lead.
pub(super) fn check_link(text: &str) -> Result<(), LinkProblem> {
    if text.len() > MAX_LINK_OCTETS {
        return Err(LinkProblem::TooLong);
    }
    // Browsers drop tabs and line breaks inside an address and read `\` as `/`: what is checked here must be what they will open.
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"<>`{|}^".contains(&byte)) {
        return Err(LinkProblem::Characters);
    }
    let (scheme, rest) = text.split_once("://").ok_or(LinkProblem::NotHttp)?;
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return Err(LinkProblem::NotHttp);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(LinkProblem::UserInfo);
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !authority.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let port_is_valid =
        port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0));
    if is_host(host) && port_is_valid { Ok(()) } else { Err(LinkProblem::Host) }
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.len() <= 253 && host.strip_suffix('.').unwrap_or(host).split('.').all(label)
}

/// Why a text is not a link that may go into a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkProblem {
    /// Not `http://…` or `https://…`.
    #[error("it is not an absolute http or https address")]
    NotHttp,
    /// A user name before the host, the classic disguise: `https://bank.example@elsewhere.example`.
    #[error("it has a user name before its host")]
    UserInfo,
    /// A host or port that is none.
    #[error("its host or port is not valid; write an international domain in its ASCII form")]
    Host,
    /// Spaces, line breaks, quotes, backslashes, non-ASCII characters.
    #[error("it holds a character that must be percent-encoded")]
    Characters,
    /// More than 2048 octets.
    #[error("it is longer than {MAX_LINK_OCTETS} octets")]
    TooLong,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_web_addresses_pass() {
        for link in [
            "https://example.com",
            "http://example.com/",
            "HTTPS://Example.com/a/b?c=d&e=%20f#g",
            "https://example.com:8443/x",
            "https://example.com./x",
            "https://xn--bcher-kva.example/@user?next=https://other.example/@x",
            "http://localhost:3000/reset?token=a.b_c~d",
            "https://192.0.2.1/",
            "https://[2001:db8::1]:8443/",
            "https://[2001:db8::1]",
        ] {
            assert_eq!(check_link(link), Ok(()), "{link}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        use LinkProblem as P;
        let long = format!("https://example.com/{}", "a".repeat(2048));
        for (link, problem) in [
            ("", P::NotHttp),
            ("javascript:alert(1)", P::NotHttp),
            ("JaVaScRiPt://example.com/%0aalert(1)", P::NotHttp),
            ("java\tscript:alert(1)", P::Characters),
            ("data:text/html,x", P::NotHttp),
            ("mailto:a@example.com", P::NotHttp),
            ("//example.com", P::NotHttp),
            ("/path", P::NotHttp),
            ("example.com", P::NotHttp),
            ("https:example.com", P::NotHttp),
            (" https://example.com", P::Characters),
            ("https://example.com/a b", P::Characters),
            ("https://example.com/\r\nBcc: x", P::Characters),
            ("https://example.com/\"onclick=\"x", P::Characters),
            ("https://example.com\\@evil.example", P::Characters),
            ("https://exämple.com/", P::Characters),
            ("https://user@example.com/", P::UserInfo),
            ("https://bank.example:443@evil.example/", P::UserInfo),
            ("https://", P::Host),
            ("https:///path", P::Host),
            ("https://-a.example", P::Host),
            ("https://a..example", P::Host),
            ("https://exa_mple.com", P::Host),
            ("https://exa%6dple.com", P::Host),
            ("https://example.com:", P::Host),
            ("https://example.com:0", P::Host),
            ("https://example.com:99999", P::Host),
            ("https://example.com:+80", P::Host),
            ("https://[::1", P::Host),
            ("https://[x]", P::Host),
            (long.as_str(), P::TooLong),
        ] {
            assert_eq!(check_link(link), Err(problem), "{link}");
        }
    }
}
