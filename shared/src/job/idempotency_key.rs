//! The key by which a sender names one business request.

use std::fmt;

use super::digest;

/// Longest idempotency key, in characters.
pub const MAX_IDEMPOTENCY_KEY_CHARS: usize = 255;

/// The key by which a sender names one business request: same caller, job type and key, same job.
///
/// 1 to 255 characters of visible ASCII (0x21 to 0x7e); single or several spaces may stand inside, not at the ends. The key is compared in
/// full and byte by byte: it is never cut, folded or normalised. It may tell something about a customer, so `Debug` shows its length only
/// and there is no `Display`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(String);

/// Why a text is not an [`IdempotencyKey`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdempotencyKeyError {
    /// The text is empty or consists of blanks.
    #[error("the idempotency key must not be empty or blank")]
    Blank,
    /// The text has more than [`MAX_IDEMPOTENCY_KEY_CHARS`] characters.
    #[error("the idempotency key has at most 255 characters: send a digest of what is longer")]
    TooLong,
    /// The text starts or ends with a space.
    #[error("the idempotency key must not start or end with a space")]
    SpaceAtTheEnds,
    /// A character is not visible ASCII.
    #[error("the idempotency key consists of visible ASCII characters (0x21 to 0x7e) and inner spaces")]
    BadCharacter,
}

impl IdempotencyKeyError {
    /// Stable name of the broken rule.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Blank => "idempotency_key_blank",
            Self::TooLong => "idempotency_key_too_long",
            Self::SpaceAtTheEnds | Self::BadCharacter => "idempotency_key_invalid",
        }
    }
}

impl IdempotencyKey {
    /// Reads a key.
    ///
    /// # Errors
    /// When the text breaks the rules of [`IdempotencyKey`]. The error never repeats the text.
    pub fn parse(text: &str) -> Result<Self, IdempotencyKeyError> {
        if text.bytes().all(|byte| byte.is_ascii_whitespace()) {
            return Err(IdempotencyKeyError::Blank);
        }
        if !text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
            return Err(IdempotencyKeyError::BadCharacter);
        }
        if text.len() > MAX_IDEMPOTENCY_KEY_CHARS {
            return Err(IdempotencyKeyError::TooLong);
        }
        if text.starts_with(' ') || text.ends_with(' ') {
            return Err(IdempotencyKeyError::SpaceAtTheEnds);
        }
        Ok(Self(text.to_owned()))
    }

    /// A key made of a digest over `parts`, for a request whose sender gave none.
    pub(crate) fn of_parts(prefix: &'static str, parts: &[&[u8]]) -> Self {
        Self(format!("{prefix}:{}", digest::base32(&digest::of_parts(parts))))
    }

    /// The key as text: for the record and the message, not for logs.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({} characters)", self.0.len())
    }
}

impl std::str::FromStr for IdempotencyKey {
    type Err = IdempotencyKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_ascii_and_inner_spaces_are_kept_as_they_are() {
        for good in ["k", "email:welcome:user-42", "a b  c", "~!@#$%^&*()", "8e03978e-40d5-43e8-bc93-6894a57f9324"] {
            assert_eq!(IdempotencyKey::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn keys_that_differ_in_the_last_of_255_characters_differ() {
        let stem = "k".repeat(254);
        let (one, two) = (format!("{stem}1"), format!("{stem}2"));
        assert_ne!(IdempotencyKey::parse(&one).unwrap(), IdempotencyKey::parse(&two).unwrap());
    }

    #[test]
    fn what_breaks_a_rule_is_refused() {
        let cases = [
            ("", IdempotencyKeyError::Blank),
            (" \t ", IdempotencyKeyError::Blank),
            (" key", IdempotencyKeyError::SpaceAtTheEnds),
            ("key ", IdempotencyKeyError::SpaceAtTheEnds),
            ("a\tb", IdempotencyKeyError::BadCharacter),
            ("a\u{7f}b", IdempotencyKeyError::BadCharacter),
            ("clé", IdempotencyKeyError::BadCharacter),
        ];
        for (bad, rule) in cases {
            assert_eq!(IdempotencyKey::parse(bad), Err(rule), "{bad:?}");
        }
        assert!(IdempotencyKey::parse(&"k".repeat(255)).is_ok());
        assert_eq!(IdempotencyKey::parse(&"k".repeat(256)), Err(IdempotencyKeyError::TooLong));
        assert_eq!(IdempotencyKey::parse(&"k".repeat(4096)), Err(IdempotencyKeyError::TooLong));
    }

    #[test]
    fn debug_does_not_show_the_key() {
        let shown = format!("{:?}", IdempotencyKey::parse("email:welcome:user-42").unwrap());
        assert_eq!(shown, "IdempotencyKey(21 characters)");
    }
}
