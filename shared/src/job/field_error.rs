//! One thing that is wrong with one field.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong with one field: what a validation answer lists and what a dead job's reason is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// JSON pointer (RFC 6901) to the field; empty for the whole document. Member names longer than 64 characters are cut, and one that is
    /// itself a secret reads `(hidden)`. For the sender's eyes: a name may be a person's.
    pub pointer: String,
    /// Stable name of the broken rule, in snake case.
    pub code: &'static str,
    /// The rule and the mend in words, lower case. Never contains the value.
    pub message: String,
}

impl FieldError {
    /// A new error.
    #[must_use]
    pub fn new(pointer: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code, message: message.into() }
    }

    /// The same error seen from outside: `prefix` points to the value that the error's own pointer starts from.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.pointer.insert_str(0, prefix);
        self
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

/// Several errors in one line, for reasons and logs: the first three are written out.
pub(crate) fn summary(errors: &[FieldError]) -> String {
    const SHOWN: usize = 3;
    let mut text = errors.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if errors.len() > SHOWN {
        text.push_str(&format!("; and {} more", errors.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_stands_in_front_of_the_message() {
        let error = FieldError::new("/userId", "missing_member", "is missing").under("/payload");
        assert_eq!(error.to_string(), "/payload/userId: is missing");
        assert_eq!(FieldError::new("", "wrong_type", "must be an object").to_string(), "must be an object");
    }

    #[test]
    fn a_summary_does_not_grow_with_the_number_of_errors() {
        let errors: Vec<_> = (0..40).map(|n| FieldError::new(format!("/{n}"), "unknown_member", "unknown")).collect();
        assert_eq!(summary(&errors), "/0: unknown; /1: unknown; /2: unknown; and 37 more");
        assert_eq!(summary(&errors[..1]), "/0: unknown");
    }
}
