//! What a failed call says about the thing that was asked for.

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};

use crate::doctor::facts::{Fact, Gap};
use crate::screen::chain;

/// The answer of a call, or why there is none. `action` is the permission that the call needs.
pub(super) fn fact<T, E, R>(action: &str, answer: Result<T, SdkError<E, R>>) -> Fact<T>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug + 'static,
{
    answer.map_or_else(|error| Fact::Unknown(gap(action, &error)), Fact::Known)
}

/// Why there is no answer.
pub(super) fn gap<E, R>(action: &str, error: &SdkError<E, R>) -> Gap
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug + 'static,
{
    match error.code() {
        Some(code) => of_code(action, code, error.message().unwrap_or_default()),
        // No answer at all: the connection, the credentials.
        None => Gap::Failed { action: action.to_owned(), reason: chain(error) },
    }
}

/// What an error code means.
pub(super) fn of_code(action: &str, code: &str, message: &str) -> Gap {
    let action = action.to_owned();
    // SQS's older protocol puts a name space before its codes.
    match code.rsplit('.').next().unwrap_or(code) {
        "AccessDenied" | "AccessDeniedException" | "AuthorizationError" | "UnauthorizedOperation" => Gap::Denied { action },
        "NonExistentQueue" | "QueueDoesNotExist" | "ResourceNotFoundException" | "TableNotFoundException" => Gap::Missing,
        "InvalidAction" | "NotImplemented" | "UnknownOperationException" | "UnsupportedOperation" => Gap::Unsupported { action },
        other => Gap::Failed { action, reason: format!("{other} {message}").trim().to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_permission() {
        for code in ["AccessDenied", "AccessDeniedException"] {
            assert_eq!(of_code("sqs:GetQueueAttributes", code, "no"), Gap::Denied { action: "sqs:GetQueueAttributes".into() });
        }
    }

    #[test]
    fn what_is_not_there_is_told_from_what_is_not_known() {
        for code in ["ResourceNotFoundException", "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"] {
            assert_eq!(of_code("a:B", code, ""), Gap::Missing, "{code}");
        }
        assert_eq!(of_code("a:B", "InvalidAction", ""), Gap::Unsupported { action: "a:B".into() });
        let failed = Gap::Failed { action: "a:B".into(), reason: "ThrottlingException slow down".into() };
        assert_eq!(of_code("a:B", "ThrottlingException", "slow down"), failed);
    }
}
