//! What a call to the provider that brought no payment says about the charge.

use std::time::Duration;

/// Why there is no payment, or why that cannot be known.
///
/// The texts are our own: the provider's messages name people and cards. Its codes are names from a closed list of characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// No connection to the provider, or to who keeps its API key: nothing went out, and no job of ours is tried by asking again. This call charged nothing.
    #[error("no connection to the payment provider ({code})")]
    Unreachable {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The provider could not be asked. This call charged nothing; worth another try.
    #[error("the payment provider could not be asked ({code})")]
    Unavailable {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The provider wants us to slow down. This call charged nothing.
    #[error("the payment provider asks to slow down")]
    Busy {
        /// When to come back, if the provider said so.
        retry_after: Option<Duration>,
    },
    /// The provider does not let us in: no API key, or one that it does not accept. This call charged nothing, and no fault of this job:
    /// only an operator can change that.
    #[error("the payment provider cannot be used as it is set up ({code}): check the API key in the secret, its charges wait")]
    NotReady {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The provider does not let us have this customer or this charge, and does not say that the key is the reason. This call charged nothing.
    #[error("the payment provider forbids this charge, others may go on: look up the request in the provider's log")]
    Forbidden,
    /// The provider answers, but this customer's payments cannot be read to their end. Reading charges nothing.
    #[error("the customer's payments could not be read to their end, so it is not known if the charge was made ({code})")]
    Unlisted {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// There is nothing to charge; the provider was not asked to. This call charged nothing.
    #[error("{mend}")]
    Unchargeable {
        /// Stable name of the cause.
        code: &'static str,
        /// What is wrong and what to do.
        mend: &'static str,
    },
    /// The provider will not carry out this charge. Only if it repeats itself has it never carried out one under the key: a new refusal may
    /// come before the provider looks at the key.
    #[error("the payment provider refused the charge ({reason}){}", if *.repeated { REPEATED } else { "" })]
    Refused {
        /// The provider's name for the reason.
        reason: String,
        /// The provider only repeated what it had said before under the same key.
        repeated: bool,
    },
    /// The request went out and no readable answer came back. **May have been charged.**
    #[error("the charge may have been made, the payment provider's answer was lost ({code})")]
    Unknown {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The key is used up for an answer that says nothing, and asking again brings the same. **May have been charged**; only the
    /// provider's list of payments can tell.
    #[error("the charge may have been made, and the payment provider only repeats an answer that does not tell ({code})")]
    KeyUnusable {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The provider's payment for this job is another one than was asked for. **Somebody has to look.**
    #[error(
        "the payment provider has a payment for this job whose {member} is not the one that was asked for: compare them by hand"
    )]
    Mismatch {
        /// What differs.
        member: &'static str,
    },
}

const REPEATED: &str = "; it repeats a refusal for as long as it remembers the key, 24 h at least: mend the cause, then redrive after that, \
                        or post a new job under a new key";

impl GatewayError {
    /// A stable name of the cause for records, metrics and alarms.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Unreachable { code }
            | Self::Unavailable { code }
            | Self::NotReady { code }
            | Self::Unchargeable { code, .. }
            | Self::Unlisted { code }
            | Self::Unknown { code }
            | Self::KeyUnusable { code } => (*code).to_owned(),
            Self::Forbidden => "charge_forbidden".to_owned(),
            Self::Busy { .. } => "provider_throttled".to_owned(),
            Self::Refused { .. } => "charge_refused".to_owned(),
            Self::Mismatch { .. } => "payment_mismatch".to_owned(),
        }
    }
}
