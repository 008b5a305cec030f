//! Keeps a build that is meant for a local engine away from everything else.
//!
//! Some cargo features drop a guard so that a function can run beside a local engine: a caller is whoever a request claims to be, a callback may
//! lead to this machine. Such a build, deployed by mistake, would be an open door; so it starts only where its AWS calls stay on the machine.

use std::net::IpAddr;

use super::Reader;

const SETTING: &str = "AWS_ENDPOINT_URL";

/// Notes a problem unless AWS calls go to an engine on this machine. `feature` is the cargo feature that this build has, `danger` what it does:
/// `trusts every caller`.
pub fn demand_local_engine(reader: &mut Reader, feature: &str, danger: &str) {
    if !reader.optional_text(SETTING).is_some_and(|url| is_loopback(&url)) {
        let mend = "build without the feature for a deployment";
        reader.problem(
            SETTING,
            format!(
                "must be an http URL of this machine, such as http://127.0.0.1:4566, because this build {danger} (cargo feature {feature}); {mend}"
            ),
        );
    }
}

fn is_loopback(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    is_port && (host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems<const N: usize>(pairs: [(&str, &str); N]) -> Vec<String> {
        let mut reader = Reader::from_pairs(pairs);
        demand_local_engine(&mut reader, "local-identity", "trusts every caller");
        reader.finish(()).map_or_else(|error| error.problems().iter().map(ToString::to_string).collect(), |()| Vec::new())
    }

    #[test]
    fn a_build_without_a_guard_starts_beside_a_local_engine() {
        for url in
            ["http://127.0.0.1:4566", "http://localhost", "http://localhost:1/", "http://[::1]:4566/path", "http://127.9.9.9"]
        {
            assert_eq!(problems([(SETTING, url)]), Vec::<String>::new(), "{url}");
        }
    }

    #[test]
    fn a_build_without_a_guard_does_not_start_elsewhere() {
        for url in [
            "",
            "https://127.0.0.1:4566",
            "http://dynamodb.eu-west-1.amazonaws.com",
            "http://localhost.example.com",
            "http://localhost@example.com",
            "http://localhost:x@example.com",
            "http://127.0.0.1:80:90",
            "http://10.0.0.1",
            "127.0.0.1:4566",
        ] {
            let found = problems([(SETTING, url)]);
            assert!(
                matches!(&found[..], [one] if one.starts_with(SETTING) && one.contains("local-identity")),
                "{url}: {found:?}"
            );
        }
        assert_eq!(problems([("OTHER", "x")]).len(), 1, "in Lambda it is not set");
    }
}
