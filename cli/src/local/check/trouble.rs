//! A probe that could not be carried out, and the answers that mean "I do not know this feature".

use std::error::Error;

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};

use crate::screen::chain;

/// What engines answer to an operation that they do not have. AWS knows every operation that is asked here.
const ABSENT_CODES: [&str; 7] = [
    "InvalidAction",
    "NotImplemented",
    "NotImplementedException",
    "UnknownOperation",
    "UnknownOperationException",
    "UnsupportedOperation",
    "com.amazon.coral.service#UnknownOperationException",
];

/// What they say where the code is one for many things: an operation that is not there, a service that is off, a type of resource that
/// CloudFormation does not know.
const ABSENT_WORDS: [&str; 3] = ["not yet implemented", "is not enabled", "Unrecognized resource types"];

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// A call was refused or not answered.
    #[error("{call}: {told}")]
    Call {
        /// Which call.
        call: String,
        /// The service's code for it, if there was an answer.
        code: Option<String>,
        /// The answer's status, if there was one.
        status: Option<u16>,
        /// What was said.
        told: String,
    },
    /// What should have happened did not, in time.
    #[error("waited {seconds} s for {what}")]
    TimedOut {
        /// For what.
        what: String,
        /// How long.
        seconds: u64,
    },
    /// An answer without something that it must have.
    #[error("the answer to {call} has no {part}")]
    Incomplete {
        /// Which call.
        call: &'static str,
        /// What is missing.
        part: &'static str,
    },
    /// The probe has a bug.
    #[error("the probe ended with a panic")]
    Panicked,
}

impl Trouble {
    /// Whether the engine says that it does not know the feature.
    pub(super) fn is_absent(&self) -> bool {
        let Self::Call { code, status, told, .. } = self else { return false };
        let by_code = code.as_deref().is_some_and(|code| ABSENT_CODES.contains(&code));
        by_code || *status == Some(501) || ABSENT_WORDS.iter().any(|words| told.contains(words))
    }

    /// The service's code, if it refused the call.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Call { code, .. } => code.as_deref(),
            _ => None,
        }
    }

    /// Whether the call was answered by a refusal that a client is to blame for.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Call { status: Some(400..=499), .. }) && !self.is_absent()
    }
}

/// Names the call that failed.
pub(super) trait Doing<T> {
    /// Names the call.
    fn doing(self, call: &str) -> Result<T, Trouble>;
}

impl<T, E> Doing<T> for Result<T, SdkError<E, HttpResponse>>
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    fn doing(self, call: &str) -> Result<T, Trouble> {
        self.map_err(|error| Trouble::Call {
            call: call.to_owned(),
            code: error.code().map(str::to_owned),
            status: error.raw_response().map(|response| response.status().as_u16()),
            told: told(&error),
        })
    }
}

/// One short line: engines like to answer with pages.
fn told<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let text = match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => chain(error),
    };
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Takes a part out of an answer that must have it.
pub(super) fn part<T>(part: Option<T>, call: &'static str, name: &'static str) -> Result<T, Trouble> {
    part.ok_or(Trouble::Incomplete { call, part: name })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &str, status: u16, told: &str) -> Trouble {
        Trouble::Call { call: "Call".into(), code: Some(code.into()), status: Some(status), told: told.into() }
    }

    #[test]
    fn an_engine_that_does_not_know_the_operation_is_told_from_one_that_refuses_it() {
        assert!(refused("InvalidAction", 400, "The action StartMessageMoveTask is not valid").is_absent());
        assert!(refused("InternalFailure", 501, "API for service 'apigatewayv2' not yet implemented").is_absent());
        let unknown_type = "Template format error: Unrecognized resource types: [AWS::CloudWatch::CompositeAlarm]";
        assert!(refused("ValidationError", 400, unknown_type).is_absent());
        let refusal = refused("InvalidParameterValue", 400, "Value 43201 for VisibilityTimeout is invalid");
        assert!(!refusal.is_absent() && refusal.is_refusal());
        let down = Trouble::Call { call: "Call".into(), code: None, status: None, told: "no answer".into() };
        assert!(!down.is_absent() && !down.is_refusal());
    }
}
