//! Tells whether two requests ask for the same, without keeping what they asked for.

use std::fmt;

use serde_json::Value;

use super::canonical::canonical;
use super::digest;
use super::job_type::JobType;

const VERSION: &str = "v1";
const LABEL: &str = "ikkai-fingerprint-v1";

/// What a request says besides payload and data, by name: when it shall run, whom to tell.
pub type Term<'a> = (&'static str, &'a str);

/// Salted digest over the type, the canonical payload, the canonical private data and the terms of a request: `v1:<salt>:<digest>`, both hexadecimal.
///
/// Private data may have few possible values (an address, an amount), which could be found by trying; the salt, new for each record, prevents
/// looking them up for all records at once.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint with a given salt.
    #[must_use]
    pub fn new(job_type: &JobType, payload: &Value, data: Option<&Value>, terms: &[Term<'_>], salt: &[u8]) -> Self {
        let salt = digest::hex(salt);
        let digest = digest_with(&salt, job_type, payload, data, terms);
        Self(format!("{VERSION}:{salt}:{digest}"))
    }

    /// The fingerprint with a fresh salt of 122 random bits.
    #[must_use]
    pub fn random(job_type: &JobType, payload: &Value, data: Option<&Value>, terms: &[Term<'_>]) -> Self {
        Self::new(job_type, payload, data, terms, crate::token::unique().as_bytes())
    }

    /// Takes a fingerprint as it was stored. A text that is none matches no request.
    #[must_use]
    pub fn parse(text: String) -> Self {
        Self(text)
    }

    /// Whether a request has the content that this fingerprint was made of. No data and empty data are different contents.
    #[must_use]
    pub fn matches(&self, job_type: &JobType, payload: &Value, data: Option<&Value>, terms: &[Term<'_>]) -> bool {
        let mut parts = self.0.split(':');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(VERSION), Some(salt), Some(digest), None) => digest == digest_with(salt, job_type, payload, data, terms),
            _ => false,
        }
    }

    /// The text to store.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn digest_with(salt: &str, job_type: &JobType, payload: &Value, data: Option<&Value>, terms: &[Term<'_>]) -> String {
    let payload = canonical(payload);
    let data = data.map(canonical);
    let mut parts = vec![LABEL.as_bytes(), salt.as_bytes(), job_type.as_str().as_bytes(), payload.as_bytes()];
    // One part more, not an empty one: no data is something else than any data.
    parts.extend(data.as_deref().map(str::as_bytes));
    // Names are bare words, which no JSON is: a term is never taken for data.
    parts.extend(terms.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]));
    digest::hex(&digest::of_parts(&parts))
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(..)")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn email() -> JobType {
        JobType::parse("email.send").unwrap()
    }

    #[test]
    fn the_same_content_in_another_layout_matches() {
        let one: Value = serde_json::from_str(r#"{"a":1,"b":[true,null]}"#).unwrap();
        let two: Value = serde_json::from_str("{ \"b\" : [ true,null ],\n\"a\":1 }").unwrap();
        let made = Fingerprint::random(&email(), &one, Some(&json!({"to": "x", "cc": "y"})), &[]);
        assert!(made.matches(&email(), &two, Some(&json!({"cc": "y", "to": "x"})), &[]));
        assert!(Fingerprint::parse(made.as_str().to_owned()).matches(&email(), &two, Some(&json!({"cc": "y", "to": "x"})), &[]));
    }

    #[test]
    fn another_type_payload_or_data_does_not_match() {
        let made = Fingerprint::new(&email(), &json!({"a": 1}), None, &[], b"salt");
        assert!(made.matches(&email(), &json!({"a": 1}), None, &[]));
        assert!(!made.matches(&JobType::parse("email.test").unwrap(), &json!({"a": 1}), None, &[]));
        assert!(!made.matches(&email(), &json!({"a": "1"}), None, &[]));
        assert!(!made.matches(&email(), &json!({"a": 1}), Some(&json!({})), &[]));
        assert!(!made.matches(&email(), &json!({"a": 1}), Some(&Value::Null), &[]));
    }

    #[test]
    fn another_term_does_not_match_and_none_is_taken_for_data() {
        let made = Fingerprint::new(&email(), &json!({}), None, &[("runAt", "1"), ("callbackUrl", "2")], b"salt");
        let matches = |terms: &[Term<'_>]| made.matches(&email(), &json!({}), None, terms);
        assert!(matches(&[("runAt", "1"), ("callbackUrl", "2")]));
        for other in
            [&[][..], &[("runAt", "1")], &[("callbackUrl", "2"), ("runAt", "1")], &[("runAt", "2"), ("callbackUrl", "2")]]
        {
            assert!(!matches(other), "{other:?}");
        }
        let with_data = Fingerprint::new(&email(), &json!({}), Some(&json!({"a": 1})), &[], b"salt");
        assert!(!with_data.matches(&email(), &json!({}), None, &[("runAt", r#"{"a":1}"#)]));
    }

    #[test]
    fn the_salt_is_new_each_time_and_part_of_the_digest() {
        let (one, two) =
            (Fingerprint::random(&email(), &json!({}), None, &[]), Fingerprint::random(&email(), &json!({}), None, &[]));
        assert_ne!(one, two);
        let digest = |made: &Fingerprint| made.as_str().rsplit_once(':').unwrap().1.to_owned();
        assert_ne!(digest(&one), digest(&two));
    }

    #[test]
    fn a_text_that_is_no_fingerprint_matches_nothing() {
        let made = Fingerprint::new(&email(), &json!({}), None, &[], b"salt");
        for broken in ["", "v1", "v1::", "v2:73616c74:00", &made.as_str().replace("v1:", "v2:"), &format!("{}:", made.as_str())] {
            assert!(!Fingerprint::parse((*broken).to_owned()).matches(&email(), &json!({}), None, &[]), "{broken:?}");
        }
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Fingerprint::new(&email(), &json!({}), None, &[], b"salt")), "Fingerprint(..)");
    }
}
