//! Jobs: the envelope, ids, payload types and the rules on what may enter a queue.
//!
//! Nothing here talks to AWS. Producer and consumer use the same functions, so what one accepts the other can work on.
//!
//! - A body becomes a job in [`Envelope::parse`]: strict JSON ([`strict_json`]), the closed [`registry`] of payload types, the [`privacy`] rules.
//! - A job's identity is its [`JobId`], a digest of caller, [`JobType`] and [`IdempotencyKey`].
//! - Equal requests have equal [`canonical`] texts; [`Fingerprint`] and [`payload_digest`] compare them.
//!
//! ```
//! use ikkai::job::{self, Envelope, IdempotencyKey, JobId, JobType, Parsed};
//!
//! let body = r#"{"type":"email.send","schemaVersion":1,"idempotencyKey":"email:welcome:user-42",
//!     "payload":{"deliveryId":"mail-1001","templateId":"welcome","userId":"user-42"}}"#;
//! let email = job::find("email.send").expect("a type of the registry");
//! let Parsed::Job(job) = Envelope::parse(body, email)? else { panic!("its schema version is known") };
//! assert_eq!(job.idempotency_key.as_str(), "email:welcome:user-42");
//!
//! // The same request is the same job, whoever repeats it and on whatever way.
//! let (email, key) = (JobType::parse("email.send")?, IdempotencyKey::parse("email:welcome:user-42")?);
//! assert_eq!(JobId::derive("shop", &email, &key), JobId::derive("shop", &email, &key));
//! assert_ne!(JobId::derive("shop", &email, &key), JobId::derive("another caller", &email, &key));
//!
//! // What must not enter a queue is named with its place, and never with its value.
//! let leaky = body.replace("mail-1001", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl");
//! let email = job::find("email.send").expect("a type of the registry");
//! assert!(!Envelope::parse(&leaky, email).unwrap_err().to_string().contains("eyJhb"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod canonical;
mod characters;
mod digest;
mod envelope;
mod envelope_error;
mod field_error;
mod fingerprint;
mod id;
mod idempotency_key;
#[allow(clippy::module_inception, reason = "the file is named after the type in it, as all others are")]
mod job;
mod job_type;
mod nearest_name;
mod payload;
mod payload_decode;
mod payload_shape;
mod payloads;
mod pointer;
pub mod privacy;
#[cfg(test)]
mod properties;
mod registry;
pub mod strict_json;
#[cfg(test)]
mod vectors;

pub use canonical::{canonical, payload_digest};
pub(crate) use characters::is_carried;
pub use envelope::{Envelope, Header, MAX_BUSINESS_ID_CHARS, Parsed};
pub use envelope_error::EnvelopeError;
pub use field_error::FieldError;
pub use fingerprint::{Fingerprint, Term};
pub use id::{JobId, JobIdError};
pub use idempotency_key::{IdempotencyKey, IdempotencyKeyError, MAX_IDEMPOTENCY_KEY_CHARS};
pub use job::Job;
pub use job_type::{JobType, JobTypeError, MAX_JOB_TYPE_CHARS};
pub use payload::{DataUse, JobPayload};
pub use payloads::{
    Amount, AmountError, AssetId, AssetIdError, BillingCharge, Currency, CurrencyError, EmailSend, EndStatus, ImageFormat,
    ImageResize, MAX_ASSET_ID_BYTES, MAX_PERIOD_DAYS, MAX_REFERENCE_ID_CHARS, MAX_VERSION_ID_BYTES, Money, MoneyError, Period,
    PeriodError, ReferenceId, ReferenceIdError, ReportGenerate, VersionId, VersionIdError, WebhookDeliver,
};
pub use registry::{JobKind, decode, decode_value, find, names, registry};
pub use strict_json::{StrictJsonError, StrictJsonRule};
