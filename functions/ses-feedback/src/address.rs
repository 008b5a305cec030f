//! When two spellings are one mailbox.

/// Whether both texts name the same mailbox.
///
/// Upper and lower case are one in both parts. Of the part before the `@` only the receiving host may say so (RFC 5321, 2.4), but
/// hosts report bounces in a spelling of their own, and the two that are compared here belong to one mail. A domain is compared in
/// its ASCII form: a contact may hold `bücher.example`, which is mailed as `xn--bcher-kva.example`.
pub(crate) fn is_same_mailbox(one: &str, other: &str) -> bool {
    match (normal(one), normal(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

fn normal(text: &str) -> Option<(String, String)> {
    let (local, domain) = bare(text.trim()).rsplit_once('@')?;
    let domain = idna::domain_to_ascii(domain).ok()?;
    (!local.is_empty() && !domain.is_empty()).then(|| (local.to_ascii_lowercase(), domain))
}

/// `Jane <jane@example.com>` is how a header spells it.
fn bare(text: &str) -> &str {
    text.strip_suffix('>').and_then(|text| text.rsplit_once('<')).map_or(text, |(_, address)| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_mailbox_are_the_same() {
        for (one, other) in [
            ("jane@example.com", "jane@example.com"),
            ("Jane@Example.COM", "jane@example.com"),
            ("jane@bücher.example", "jane@xn--bcher-kva.example"),
            ("Jane Doe <jane@example.com>", "jane@example.com"),
            (" jane@example.com ", "jane@example.com"),
        ] {
            assert!(is_same_mailbox(one, other), "{one} {other}");
            assert!(is_same_mailbox(other, one), "{other} {one}");
        }
    }

    #[test]
    fn other_mailboxes_and_texts_that_are_none_are_not() {
        for (one, other) in [
            ("jane@example.com", "jane@example.org"),
            ("jane@example.com", "jane.doe@example.com"),
            ("jane+1@example.com", "jane@example.com"),
            ("jane", "jane"),
            ("", ""),
            ("@example.com", "@example.com"),
            ("jane@", "jane@"),
            ("erased", "jane@example.com"),
        ] {
            assert!(!is_same_mailbox(one, other), "{one} {other}");
        }
    }
}
