//! Environment variables that the functions read.

/// What a function does with queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is called with messages.
    Consumer,
    /// It is not.
    Other,
}

/// Whether a variable has to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

use Need::{Optional, Required};

/// Binaries of this project.
pub(super) const BINARIES: [&str; 2] = ["producer-api", "email-consumer"];

const EVERY: &[(&str, Need)] = &[
    ("IKKAI_JOBS_TABLE", Required),
    ("IKKAI_RECORD_RETENTION_SECONDS", Required),
    ("IKKAI_LOG_LEVEL", Optional),
    ("IKKAI_METRICS_NAMESPACE", Optional),
    ("IKKAI_SERVICE", Optional),
];

const CONSUMER: &[(&str, Need)] = &[
    ("IKKAI_QUEUE_NAME", Required),
    ("IKKAI_MAX_RECEIVE_COUNT", Required),
    ("IKKAI_QUEUE_RETENTION_SECONDS", Required),
    ("IKKAI_FUNCTION_TIMEOUT_SECONDS", Required),
    ("IKKAI_MAX_CONCURRENCY", Required),
    ("IKKAI_MAX_ATTEMPTS", Optional),
    ("IKKAI_BATCH_CONCURRENCY", Optional),
    ("IKKAI_PROVIDER_RATE_PER_SECOND", Optional),
    ("IKKAI_BACKOFF_BASE_MS", Optional),
    ("IKKAI_BACKOFF_CAP_MS", Optional),
    ("IKKAI_DEFER_SECONDS", Optional),
    ("IKKAI_LEASE_SKEW_MS", Optional),
    ("IKKAI_LEASE_MARGIN_SECONDS", Optional),
    ("IKKAI_LEASE_WHOLE_UNTIL_SECONDS", Optional),
    ("IKKAI_LEASE_CHUNK_SECONDS", Optional),
    ("IKKAI_CIRCUIT_FAILURES", Optional),
    ("IKKAI_CIRCUIT_COOLDOWN_MS", Optional),
    ("IKKAI_SCHEMA_HOLD_SECONDS", Optional),
    ("IKKAI_SCHEMA_DEFER_SECONDS", Optional),
    ("IKKAI_OPENING_VISIBILITY", Optional),
    ("IKKAI_ERROR_WHEN_ALL_FAIL", Optional),
    ("IKKAI_FIFO_AFTER_DEATH", Optional),
    ("IKKAI_SETTLE_RESERVE_MS", Optional),
    ("IKKAI_WARM_UP", Optional),
];

const EMAIL_CONSUMER: &[(&str, Need)] = &[
    ("IKKAI_CONTACTS_TABLE", Required),
    ("IKKAI_EMAIL_FROM", Required),
    ("IKKAI_EMAIL_EFFECT_POLICY", Optional),
    ("IKKAI_EMAIL_CONFIGURATION_SET", Optional),
    ("IKKAI_PROVIDER_TIMEOUT_MS", Optional),
    // Read by the AWS SDK.
    ("AWS_ENDPOINT_URL_SESV2", Optional),
];

const PRODUCER_API: &[(&str, Need)] = &[
    ("IKKAI_QUEUES", Required),
    ("IKKAI_CALLER_POLICY", Required),
    ("IKKAI_MAX_QUEUE_DEPTH", Optional),
    ("IKKAI_WARM_UP", Optional),
    ("IKKAI_SEND_LEASE_MS", Optional),
    ("IKKAI_MAX_MESSAGE_BYTES", Optional),
    ("IKKAI_CORS_ALLOW_ORIGINS", Optional),
    ("IKKAI_JWT_CALLER_CLAIM", Optional),
];

/// Whether the code of `binary` reads `variable`.
pub(super) fn is_read(binary: &str, kind: Kind, variable: &str) -> bool {
    variables(binary, kind).any(|(name, _)| name == variable)
}

/// The variables without which `binary` does not start.
pub(super) fn required(binary: &str, kind: Kind) -> impl Iterator<Item = &'static str> {
    variables(binary, kind).filter(|(_, need)| *need == Required).map(|(name, _)| name)
}

fn variables(binary: &str, kind: Kind) -> impl Iterator<Item = (&'static str, Need)> {
    let own = match binary {
        "email-consumer" => EMAIL_CONSUMER,
        "producer-api" => PRODUCER_API,
        _ => &[],
    };
    let consumer = if kind == Kind::Consumer { CONSUMER } else { &[] };
    EVERY.iter().chain(consumer).chain(own).copied()
}
