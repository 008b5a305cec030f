//! Rules on single members of requests that their types do not say.

use ikkai::job::{FieldError, JobId};

use crate::protocol::{Refusal, RefusalCode};

/// Longest reason, in characters.
const LONGEST_REASON: usize = 500;

/// Longest name of an operator or of a provider's effect, in characters.
const LONGEST_NAME: usize = 200;

/// Collects what is wrong with a request, so that all of it is told at once.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<FieldError>);

impl Members {
    pub(super) fn wrong(&mut self, pointer: &str, code: &'static str, message: impl Into<String>) {
        self.0.push(FieldError::new(pointer, code, message));
    }

    /// Notes what was found wrong with a member that has a check of its own.
    pub(super) fn wrong_under(&mut self, prefix: &str, errors: Vec<FieldError>) {
        self.0.extend(errors.into_iter().map(|error| error.under(prefix)));
    }

    pub(super) fn within(&mut self, pointer: &str, value: u64, least: u64, most: u64) {
        if value < least || value > most {
            self.wrong(pointer, "out_of_range", format!("must be from {least} to {most}"));
        }
    }

    pub(super) fn reason(&mut self, reason: &str) {
        if reason.trim().is_empty() || reason.chars().count() > LONGEST_REASON {
            let message = format!("say why, in 1 to {LONGEST_REASON} characters; it is kept in the history");
            self.wrong("/reason", "invalid_value", message);
        }
    }

    pub(super) fn name(&mut self, pointer: &str, name: Option<&str>) {
        if name.is_some_and(|name| name.trim().is_empty() || name.chars().count() > LONGEST_NAME) {
            self.wrong(pointer, "invalid_value", format!("must have 1 to {LONGEST_NAME} characters"));
        }
    }

    /// Refuses the request if anything is wrong with it.
    pub(super) fn check(self) -> Result<(), Refusal> {
        if self.0.is_empty() { Ok(()) } else { Err(Refusal::fields(RefusalCode::InvalidRequest, self.0)) }
    }
}

/// The job that a request is about.
pub(super) fn job_id(text: &str) -> Result<JobId, Refusal> {
    JobId::parse_stored(text).map_err(|error| {
        let mut members = Members::default();
        members.wrong("/jobId", "invalid_value", error.to_string());
        Refusal::fields(RefusalCode::InvalidRequest, members.0)
    })
}
