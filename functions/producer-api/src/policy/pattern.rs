//! Texts that a rule lists.

use serde_json::Value;

/// A text that is compared in full, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    Exact(String),
    Prefix(String),
}

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == text,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
        }
    }

    pub(super) fn is_anything(&self) -> bool {
        matches!(self, Self::Prefix(prefix) if prefix.is_empty())
    }
}

pub(super) fn matches(patterns: &[Pattern], text: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(text))
}

/// Reads a list of patterns; `at` is its place in the policy.
pub(super) fn patterns(list: Option<&Value>, at: &str, problems: &mut Vec<String>) -> Vec<Pattern> {
    let Some(entries) = list.and_then(Value::as_array).filter(|entries| !entries.is_empty()) else {
        problems.push(format!("{at}: must be a list with at least one text"));
        return Vec::new();
    };
    let mut parsed = Vec::new();
    for (position, entry) in entries.iter().enumerate() {
        match entry.as_str().map(str::trim).filter(|text| !text.is_empty()) {
            None => problems.push(format!("{at}/{position}: must be a text that is not empty")),
            Some(text) => match text.split_once('*') {
                None => parsed.push(Pattern::Exact(text.to_owned())),
                Some((prefix, "")) => parsed.push(Pattern::Prefix(prefix.to_owned())),
                Some(_) => problems.push(format!("{at}/{position}: a `*` can stand at the end only")),
            },
        }
    }
    parsed
}
