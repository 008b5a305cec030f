//! What a failed call to the bucket means.

/// Why an object was not read or written.
///
/// The texts and codes are our own: S3's messages quote keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// There is nothing to read, and waiting does not bring it back.
    #[error("the original cannot be read ({code}): upload it again, or put the job back when it is there")]
    Gone {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// No permission, no such bucket: the stack is set up wrong, and no fault of this job's.
    #[error("the bucket does not serve this function ({code}): mend its permissions or settings, its jobs wait")]
    NotReady {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The bucket wants us to slow down.
    #[error("the bucket asks to slow down ({code})")]
    Throttled {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// S3 cannot be reached, or says that the failure is its own: no fault of this job's, however long it lasts.
    #[error("the bucket cannot be used now ({code})")]
    Outage {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// No answer in time, or none that can be used: worth another try.
    #[error("the bucket did not answer ({code})")]
    Unavailable {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The same request will be refused again.
    #[error("the bucket refused the request ({code})")]
    Rejected {
        /// Stable name of the cause.
        code: &'static str,
    },
}

impl ObjectError {
    /// A stable name of the cause for records, metrics and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Gone { code }
            | Self::NotReady { code }
            | Self::Throttled { code }
            | Self::Outage { code }
            | Self::Unavailable { code }
            | Self::Rejected { code } => code,
        }
    }

    /// By S3's answer: <https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html#ErrorCodeList>.
    ///
    /// A 404 needs `s3:ListBucket`: without it S3 answers 403 for an object that is not there
    /// (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html>).
    pub(super) fn from_answer(status: u16, error_code: &str) -> Self {
        Self::by_code(error_code).unwrap_or_else(|| Self::by_status(status))
    }

    fn by_code(error_code: &str) -> Option<Self> {
        Some(match error_code {
            "NoSuchKey" | "NoSuchVersion" | "NotFound" => Self::Gone { code: "original_not_found" },
            // A version that is a delete marker.
            "MethodNotAllowed" => Self::Gone { code: "original_deleted" },
            "InvalidObjectState" => Self::Gone { code: "original_archived" },
            "NoSuchBucket" => Self::NotReady { code: "bucket_not_found" },
            "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" => {
                Self::NotReady { code: "bucket_in_another_region" }
            }
            "SlowDown" | "ServiceUnavailable" | "Throttling" | "ThrottlingException" | "RequestLimitExceeded" => {
                Self::Throttled { code: "bucket_throttled" }
            }
            "RequestTimeout" => Self::Unavailable { code: "bucket_timeout" },
            // A thawed sandbox's clock may lag behind, and so may its credentials: the next try has new ones.
            "ExpiredToken" | "RequestTimeTooSkewed" => Self::Unavailable { code: "bucket_credentials_stale" },
            "AccessDenied" | "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "AllAccessDisabled" | "AccountProblem" => {
                Self::NotReady { code: ACCESS_DENIED }
            }
            _ => return None,
        })
    }

    fn by_status(status: u16) -> Self {
        match status {
            404 => Self::Gone { code: "original_not_found" },
            405 => Self::Gone { code: "original_deleted" },
            401 | 403 => Self::NotReady { code: ACCESS_DENIED },
            301 | 307 => Self::NotReady { code: "bucket_in_another_region" },
            429 | 503 => Self::Throttled { code: "bucket_throttled" },
            408 => Self::Unavailable { code: "bucket_timeout" },
            ..=299 => Self::Unavailable { code: "bucket_answer_unreadable" },
            500.. => Self::Outage { code: "bucket_error" },
            _ => Self::Rejected { code: "bucket_refused" },
        }
    }
}

const ACCESS_DENIED: &str = "bucket_access_denied";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_who_has_to_act() {
        use ObjectError as E;
        for (status, code, expected) in [
            (404, "NoSuchKey", E::Gone { code: "original_not_found" }),
            (404, "NoSuchVersion", E::Gone { code: "original_not_found" }),
            (404, "NoSuchBucket", E::NotReady { code: "bucket_not_found" }),
            (404, "", E::Gone { code: "original_not_found" }),
            (405, "MethodNotAllowed", E::Gone { code: "original_deleted" }),
            (403, "InvalidObjectState", E::Gone { code: "original_archived" }),
            (403, "AccessDenied", E::NotReady { code: "bucket_access_denied" }),
            (403, "SomethingNew", E::NotReady { code: "bucket_access_denied" }),
            (400, "ExpiredToken", E::Unavailable { code: "bucket_credentials_stale" }),
            (400, "InvalidArgument", E::Rejected { code: "bucket_refused" }),
            (503, "SlowDown", E::Throttled { code: "bucket_throttled" }),
            (500, "InternalError", E::Outage { code: "bucket_error" }),
            (400, "RequestTimeout", E::Unavailable { code: "bucket_timeout" }),
            (200, "", E::Unavailable { code: "bucket_answer_unreadable" }),
        ] {
            assert_eq!(ObjectError::from_answer(status, code), expected, "{status} {code}");
        }
    }
}
