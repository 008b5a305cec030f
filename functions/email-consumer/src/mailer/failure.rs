//! What a failed attempt to send says about the mail.

use std::time::Duration;

/// Why a mail was not sent, or why that cannot be known.
///
/// The texts and codes are our own: the provider's messages quote addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The provider wants us to slow down. Not sent; come back later without counting it as a try.
    #[error("the mail provider asks to slow down ({code})")]
    Throttled {
        /// Stable name of the cause.
        code: &'static str,
        /// When to come back, if the provider said so.
        retry_after: Option<Duration>,
    },
    /// The account does not send as it is: stopped, or set up wrong (an identity, a configuration set, a permission). Not sent, and no
    /// fault of this mail; only an operator can change that, so come back much later.
    #[error("the mail provider does not send for this account as it is ({code}): mend the account or the stack, its mails wait")]
    AccountNotReady {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The provider will not send this mail. Not sent, and the same mail will be refused again.
    #[error("the mail provider refused this mail ({code})")]
    Rejected {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// There was no connection to the provider. Surely not sent, and no job is tried by asking again: come back later without counting it
    /// as a try.
    #[error("no connection to the mail provider ({code})")]
    Unreachable {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// Something failed that has nothing to do with this mail. Surely not sent; worth another try.
    #[error("the mail was not sent ({code})")]
    NotSent {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The request went out and no readable answer came back. **May have been sent.**
    #[error("the mail may have been sent, the provider's answer was lost ({code})")]
    Unknown {
        /// Stable name of the cause.
        code: &'static str,
    },
}

impl SendError {
    /// A stable name of the cause for records, metrics and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Throttled { code, .. }
            | Self::AccountNotReady { code }
            | Self::Rejected { code }
            | Self::Unreachable { code }
            | Self::NotSent { code }
            | Self::Unknown { code } => code,
        }
    }

    /// Whether no mail can have gone out.
    #[must_use]
    pub fn is_surely_not_sent(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }
}

/// An answer that is not a success, reduced to what decides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refusal<'a> {
    pub(super) status: u16,
    pub(super) error_code: &'a str,
    pub(super) message: &'a str,
    pub(super) retry_after: Option<&'a str>,
}

impl Refusal<'_> {
    /// Reads SES's answer. The error names: <https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html> and
    /// <https://docs.aws.amazon.com/ses/latest/APIReference-V2/CommonErrors.html>; the two throttling texts:
    /// <https://docs.aws.amazon.com/ses/latest/dg/manage-sending-quotas-errors.html>; the one on identities:
    /// <https://docs.aws.amazon.com/ses/latest/dg/troubleshoot-error-messages.html>.
    pub(super) fn classify(self) -> SendError {
        self.by_message().or_else(|| self.by_error_code()).unwrap_or_else(|| self.by_status())
    }

    /// The quota texts come under several error names, `BadRequestException` and `MessageRejected` among them.
    fn by_message(self) -> Option<SendError> {
        if self.says("daily message quota exceeded") {
            return Some(self.throttled("provider_quota_exceeded"));
        }
        self.says("maximum sending rate exceeded").then(|| self.throttled("provider_throttled"))
    }

    fn says(self, text: &str) -> bool {
        self.message.to_ascii_lowercase().contains(text)
    }

    fn by_error_code(self) -> Option<SendError> {
        Some(match self.error_code {
            "TooManyRequestsException"
            | "Throttling"
            | "ThrottlingException"
            | "ThrottledException"
            | "RequestThrottled"
            | "RequestLimitExceeded"
            | "SlowDown" => self.throttled("provider_throttled"),
            "LimitExceededException" => self.throttled("provider_limit_exceeded"),
            "AccountSuspendedException" => not_ready("account_suspended"),
            "SendingPausedException" | "AccountSendingPausedException" | "ConfigurationSetSendingPausedException" => {
                not_ready("sending_paused")
            }
            // The sender's identity, or in the SES sandbox the recipient's: either way the account's mistake and every mail's fate.
            "MessageRejected" if self.says("is not verified") => not_ready("identity_not_verified"),
            "MessageRejected" => SendError::Rejected { code: "message_rejected" },
            "MailFromDomainNotVerifiedException" => not_ready("mail_from_domain_not_verified"),
            // A request with a raw message names nothing else that could be missing.
            "NotFoundException" | "ConfigurationSetDoesNotExistException" => not_ready("configuration_set_not_found"),
            "BadRequestException" => SendError::Rejected { code: "bad_request" },
            // A thawed sandbox's clock may lag behind, and so may its credentials: the next try has new ones.
            "ExpiredTokenException"
            | "ExpiredToken"
            | "InvalidSignatureException"
            | "RequestExpired"
            | "RequestTimeTooSkewed" => SendError::NotSent { code: "provider_credentials_stale" },
            "AccessDeniedException"
            | "AccessDenied"
            | "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "SignatureDoesNotMatch"
            | "IncompleteSignature"
            | "MissingAuthenticationTokenException"
            | "OptInRequired" => not_ready(ACCESS_DENIED),
            _ => return None,
        })
    }

    fn by_status(self) -> SendError {
        match self.status {
            429 => self.throttled("provider_throttled"),
            503 => self.throttled("provider_overloaded"),
            401 | 403 => not_ready(ACCESS_DENIED),
            // The request did not arrive as a whole.
            408 => SendError::NotSent { code: "provider_request_timeout" },
            // Said by something in between, which does not know what SES did with the request.
            502 | 504 => SendError::Unknown { code: "provider_answer_lost" },
            500.. => SendError::NotSent { code: "provider_error" },
            // An answer that claims success and could not be read.
            ..300 => SendError::Unknown { code: "provider_answer_unreadable" },
            _ => SendError::Rejected { code: "provider_refused" },
        }
    }

    fn throttled(self, code: &'static str) -> SendError {
        // A date instead of seconds is allowed by HTTP, but never sent by AWS.
        let retry_after = self.retry_after.and_then(|seconds| seconds.trim().parse::<u32>().ok());
        SendError::Throttled { code, retry_after: retry_after.map(|seconds| Duration::from_secs(seconds.into())) }
    }
}

/// No permission, or credentials that AWS does not take.
const ACCESS_DENIED: &str = "provider_access_denied";

fn not_ready(code: &'static str) -> SendError {
    SendError::AccountNotReady { code }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classify(status: u16, error_code: &str, message: &str) -> SendError {
        Refusal { status, error_code, message, retry_after: None }.classify()
    }

    #[test]
    fn quota_texts_defer_whatever_the_error_is_called() {
        for (status, code) in
            [(400, "Throttling"), (400, "BadRequestException"), (429, "TooManyRequestsException"), (400, "MessageRejected")]
        {
            assert_eq!(classify(status, code, "Maximum sending rate exceeded.").code(), "provider_throttled");
            assert_eq!(classify(status, code, "Daily message quota exceeded.").code(), "provider_quota_exceeded");
        }
    }

    #[test]
    fn a_status_without_a_known_error_name_still_has_a_meaning() {
        use SendError as E;
        for (status, expected) in [
            (200, E::Unknown { code: "provider_answer_unreadable" }),
            (301, E::Rejected { code: "provider_refused" }),
            (400, E::Rejected { code: "provider_refused" }),
            (401, E::AccountNotReady { code: "provider_access_denied" }),
            (403, E::AccountNotReady { code: "provider_access_denied" }),
            (408, E::NotSent { code: "provider_request_timeout" }),
            (413, E::Rejected { code: "provider_refused" }),
            (429, E::Throttled { code: "provider_throttled", retry_after: None }),
            (500, E::NotSent { code: "provider_error" }),
            (502, E::Unknown { code: "provider_answer_lost" }),
            (503, E::Throttled { code: "provider_overloaded", retry_after: None }),
            (504, E::Unknown { code: "provider_answer_lost" }),
            (599, E::NotSent { code: "provider_error" }),
        ] {
            assert_eq!(classify(status, "", ""), expected, "{status}");
            assert_eq!(classify(status, "SomethingNewException", "x"), expected, "{status}");
        }
    }

    #[test]
    fn retry_after_is_read_as_whole_seconds_only() {
        for (header, expected) in [
            (Some("7"), Some(7)),
            (Some(" 7 "), Some(7)),
            (Some("soon"), None),
            (Some("-1"), None),
            (Some("1.5"), None),
            (None, None),
        ] {
            let refusal = Refusal { status: 429, retry_after: header, ..Refusal::default() };
            let expected = SendError::Throttled { code: "provider_throttled", retry_after: expected.map(Duration::from_secs) };
            assert_eq!(refusal.classify(), expected, "{header:?}");
        }
    }

    #[test]
    fn no_error_repeats_what_the_provider_said() {
        let said = "Email address is not verified: jane@example.com";
        let error = classify(400, "MessageRejected", said);
        assert_eq!(error, SendError::AccountNotReady { code: "identity_not_verified" });
        assert!(!format!("{error} {error:?}").contains("jane"));
    }
}
