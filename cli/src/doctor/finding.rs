//! What a rule found.

use serde::Serialize;

use super::facts::{Fact, Gap};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Not known: no permission, or the engine does not tell.
    Unknown,
    /// It works, and will hurt one day.
    Warning,
    /// Jobs are, or will be, worked on wrongly or lost.
    Error,
}

/// What a rule found at one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule's stable name.
    pub rule: &'static str,
    /// What it was asked about, such as `email` or `jobs table`.
    pub subject: String,
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub found: String,
    /// Why it matters.
    pub why: &'static str,
    /// Where that is said.
    pub source: &'static str,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// A finding, or the finding that one cannot be made.
pub(super) type Judged = Result<Finding, Box<Finding>>;

/// Something that has to hold.
#[derive(Debug)]
pub(super) struct Rule {
    /// Stable name.
    pub(super) name: &'static str,
    /// Why it matters.
    pub(super) why: &'static str,
    /// Where that is said.
    pub(super) source: &'static str,
}

impl Rule {
    fn finding(&self, subject: &str, severity: Severity, found: impl Into<String>, mend: Option<String>) -> Finding {
        Finding {
            rule: self.name,
            subject: subject.to_owned(),
            severity,
            found: found.into(),
            why: self.why,
            source: self.source,
            mend,
        }
    }

    /// It holds.
    pub(super) fn ok(&self, subject: &str, found: impl Into<String>) -> Judged {
        Ok(self.finding(subject, Severity::Ok, found, None))
    }

    /// It does not hold, and that will hurt one day.
    pub(super) fn warning(&self, subject: &str, found: impl Into<String>, mend: impl Into<String>) -> Judged {
        Ok(self.finding(subject, Severity::Warning, found, Some(mend.into())))
    }

    /// It does not hold.
    pub(super) fn error(&self, subject: &str, found: impl Into<String>, mend: impl Into<String>) -> Judged {
        Ok(self.finding(subject, Severity::Error, found, Some(mend.into())))
    }

    /// It cannot be said.
    pub(super) fn unknown(&self, subject: &str, gap: &Gap) -> Box<Finding> {
        Box::new(self.finding(subject, Severity::Unknown, gap.to_string(), gap.mend()))
    }

    /// What is known, or the finding that nothing is.
    pub(super) fn known<'a, T>(&self, subject: &str, fact: &'a Fact<T>) -> Result<&'a T, Box<Finding>> {
        match fact {
            Fact::Known(value) => Ok(value),
            Fact::Unknown(gap) => Err(self.unknown(subject, gap)),
        }
    }
}
