//! What goes wrong underneath, as an operator is told it: which service, and the mend.

use ikkai::idempotency::StoreError;
use ikkai::queue::{QueueError, QueueName};

use crate::journal::JournalError;
use crate::protocol::{Refusal, RefusalCode};

/// After what throttles or does not answer a request is worth repeating, in seconds.
const AGAIN_AFTER_SECONDS: u64 = 5;

impl Refusal {
    /// A queue did not do what it was asked.
    #[must_use]
    pub fn of_queue(queue: &QueueName, error: &QueueError) -> Self {
        let name = queue.as_str();
        match error {
            QueueError::Refused { operation, code } if is_denied(code) => Self::new(
                RefusalCode::AccessDenied,
                format!(
                    "{operation} on the queue {name} is not allowed ({code}); check the role, and the permissions on the queue's key"
                ),
            ),
            QueueError::Refused { operation, code } if is_missing(code) => Self::new(
                RefusalCode::Unavailable,
                format!("{operation}: there is no queue {name} ({code}); check its name in IKKAI_REDRIVE_QUEUES"),
            ),
            error => again(format!("{name}: {error}")),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Denied { .. } => Self::new(RefusalCode::AccessDenied, error.to_string()),
            StoreError::Refused { .. } | StoreError::Corrupt { .. } => Self::new(RefusalCode::Unavailable, error.to_string()),
            _ => again(error.to_string()),
        }
    }
}

impl From<JournalError> for Refusal {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Denied { .. } => Self::new(RefusalCode::AccessDenied, error.to_string()),
            JournalError::Corrupt { .. } => Self::new(RefusalCode::Unavailable, error.to_string()),
            _ => again(error.to_string()),
        }
    }
}

fn again(message: String) -> Refusal {
    Refusal { retry_after_seconds: Some(AGAIN_AFTER_SECONDS), ..Refusal::new(RefusalCode::Unavailable, message) }
}

/// Names differ between protocols: `AccessDenied`, `AccessDeniedException`, `KmsAccessDenied`, `KMS.AccessDeniedException`.
pub(crate) fn is_denied(code: &str) -> bool {
    code.contains("AccessDenied")
        || matches!(code, "UnrecognizedClientException" | "InvalidClientTokenId" | "SignatureDoesNotMatch")
}

pub(crate) fn is_missing(code: &str) -> bool {
    code.contains("NonExistentQueue") || code.contains("QueueDoesNotExist") || code.contains("ResourceNotFound")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_may_not_be_read_one_that_is_missing_and_one_that_is_busy_are_told_apart() {
        let queue = QueueName::new("shop-email-dlq");
        let refused =
            |code: &str| Refusal::of_queue(&queue, &QueueError::Refused { operation: "ReceiveMessage", code: code.to_owned() });
        for code in ["AccessDenied", "AccessDeniedException", "KMS.AccessDeniedException", "KmsAccessDenied"] {
            assert_eq!(refused(code).code, RefusalCode::AccessDenied, "{code}");
        }
        let missing = refused("AWS.SimpleQueueService.NonExistentQueue");
        assert_eq!((missing.code, missing.retry_after_seconds), (RefusalCode::Unavailable, None));
        let busy = QueueError::Unavailable { operation: "ReceiveMessage", code: "ThrottlingException".to_owned() };
        let busy = Refusal::of_queue(&queue, &busy);
        assert_eq!((busy.code, busy.retry_after_seconds), (RefusalCode::Unavailable, Some(AGAIN_AFTER_SECONDS)));
        for refusal in [missing, busy] {
            assert!(refusal.message.contains("shop-email-dlq"), "{refusal}");
        }
    }
}
