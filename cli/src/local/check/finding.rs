//! What a probe found out.

use serde::{Deserialize, Serialize};

/// Whether an engine does as AWS does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// What was seen is what AWS documents.
    AsAws,
    /// It answers, but otherwise than AWS.
    Differs,
    /// It does not know the feature.
    Absent,
}

impl Verdict {
    /// As people read it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::AsAws => "as AWS",
            Self::Differs => "differs",
            Self::Absent => "absent",
        }
    }
}

/// What was seen, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether that is what AWS does.
    pub verdict: Verdict,
    /// What happened, in words.
    pub seen: String,
}

impl Finding {
    /// A finding that turns on one question.
    pub(super) fn judged(as_aws: bool, seen: impl Into<String>) -> Self {
        let verdict = if as_aws { Verdict::AsAws } else { Verdict::Differs };
        Self { verdict, seen: seen.into() }
    }

    pub(super) fn as_aws(seen: impl Into<String>) -> Self {
        Self { verdict: Verdict::AsAws, seen: seen.into() }
    }

    pub(super) fn differs(seen: impl Into<String>) -> Self {
        Self { verdict: Verdict::Differs, seen: seen.into() }
    }

    pub(super) fn absent(seen: impl Into<String>) -> Self {
        Self { verdict: Verdict::Absent, seen: seen.into() }
    }
}
