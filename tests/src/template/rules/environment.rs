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

const EVERY: &[(&str, Need)] = &[
    ("IKKAI_JOBS_TABLE", Required),
    ("IKKAI_LOG_LEVEL", Optional),
    ("IKKAI_METRICS_NAMESPACE", Optional),
    ("IKKAI_SERVICE", Optional),
];

const CONSUMER: &[(&str, Need)] = &[
    ("IKKAI_QUEUE_NAME", Required),
    ("IKKAI_EVENTS_QUEUE_NAME", Optional),
    ("IKKAI_RECORD_RETENTION_SECONDS", Required),
    ("IKKAI_MAX_RECEIVE_COUNT", Required),
    ("IKKAI_QUEUE_RETENTION_SECONDS", Required),
    ("IKKAI_FUNCTION_TIMEOUT_SECONDS", Required),
    ("IKKAI_MAX_CONCURRENCY", Required),
    ("IKKAI_MAX_ATTEMPTS", Optional),
    ("IKKAI_MAX_PARTS", Optional),
    ("IKKAI_MAX_GENERATIONS", Optional),
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

const IMAGE_CONSUMER: &[(&str, Need)] = &[
    ("IKKAI_ORIGINALS_BUCKET", Required),
    ("IKKAI_ORIGINALS_PREFIX", Optional),
    ("IKKAI_DERIVED_BUCKET", Optional),
    ("IKKAI_DERIVED_PREFIX", Optional),
    ("IKKAI_IMAGE_UPLOAD_SIZES", Optional),
    ("IKKAI_IMAGE_UPLOAD_FORMATS", Optional),
    ("IKKAI_IMAGE_BACKGROUND", Optional),
    ("IKKAI_IMAGE_JPEG_QUALITY", Optional),
    ("IKKAI_IMAGE_WEBP_QUALITY", Optional),
    ("IKKAI_IMAGE_MAX_PIXELS", Optional),
    ("IKKAI_IMAGE_CACHE_CONTROL", Optional),
    ("IKKAI_IMAGE_ENLARGE", Optional),
];

const BILLING_CONSUMER: &[(&str, Need)] = &[
    ("IKKAI_PAYMENT_API_URL", Optional),
    ("IKKAI_PAYMENT_SECRET_ID", Required),
    ("IKKAI_PAYMENT_KEY_WINDOW_SECONDS", Optional),
    ("IKKAI_PROVIDER_TIMEOUT_MS", Optional),
];

const REPORT_CONSUMER: &[(&str, Need)] =
    &[("IKKAI_REPORTS_BUCKET", Required), ("IKKAI_REPORTS_PREFIX", Optional), ("IKKAI_ACCOUNT_INDEX", Optional)];

const WEBHOOK_CONSUMER: &[(&str, Need)] = &[("IKKAI_WEBHOOK_SECRET_ID", Required), ("IKKAI_PROVIDER_TIMEOUT_MS", Optional)];

const SES_FEEDBACK: &[(&str, Need)] = &[("IKKAI_CONTACTS_TABLE", Required)];

const DLQ_REDRIVE: &[(&str, Need)] = &[
    ("IKKAI_REDRIVE_QUEUES", Required),
    ("IKKAI_REDRIVE_TABLE", Required),
    ("IKKAI_ARCHIVE_BUCKET", Required),
    ("IKKAI_ARCHIVE_PREFIX", Optional),
    ("IKKAI_MAX_GENERATIONS", Optional),
    ("IKKAI_RECORD_RETENTION_SECONDS", Required),
    ("IKKAI_HISTORY_RETENTION_SECONDS", Optional),
    ("IKKAI_FUNCTION_TIMEOUT_SECONDS", Required),
    ("IKKAI_SWEEP_WAIT_MS", Optional),
    ("IKKAI_SWEEP_EMPTIES", Optional),
];

const PRODUCER_API: &[(&str, Need)] = &[
    ("IKKAI_QUEUES", Required),
    ("IKKAI_RECORD_RETENTION_SECONDS", Required),
    ("IKKAI_CALLER_POLICY", Required),
    ("IKKAI_CALLBACKS", Optional),
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
    let consumer = if kind == Kind::Consumer { CONSUMER } else { &[] };
    EVERY.iter().chain(consumer).chain(own(binary)).copied()
}

fn own(binary: &str) -> &'static [(&'static str, Need)] {
    match binary {
        "producer-api" => PRODUCER_API,
        "email-consumer" => EMAIL_CONSUMER,
        "image-consumer" => IMAGE_CONSUMER,
        "billing-consumer" => BILLING_CONSUMER,
        "report-consumer" => REPORT_CONSUMER,
        "webhook-consumer" => WEBHOOK_CONSUMER,
        // ikkai new consumer: variables
        "ses-feedback" => SES_FEEDBACK,
        "dlq-redrive" => DLQ_REDRIVE,
        _ => &[],
    }
}
