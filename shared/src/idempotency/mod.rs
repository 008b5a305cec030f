//! Idempotency: one record a job, written only under conditions.
//!
//! - [`JobRecord`] is the item, [`Event`] everything that can happen to it, [`transition`] the one place that decides;
//! - [`JobStore`] keeps records; [`MemoryStore`] and [`DynamoStore`] pass the same conformance suite
//!   (`testing::conformance`, with feature `testing`);
//! - [`Ledger`] is what consumers and the producer call: it applies events through a store and knows how a lost answer looks.
//!
//! Consumers get all of it from [`run`](crate::consumer::run). A program of another kind can use the ledger by itself:
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::sync::Arc;
//! use std::time::Duration;
//! use ikkai::clock::SystemClock;
//! use ikkai::idempotency::{Claim, ClaimRules, EffectPolicy, Event, Guard, Ledger, MemoryStore, Status, Takeover, Verdict};
//! use ikkai::job::{IdempotencyKey, JobId, JobType, payload_digest};
//!
//! let ledger = Ledger::new(Arc::new(MemoryStore::new()), Arc::new(SystemClock));
//! let (job_type, key) = (JobType::parse("import.file")?, IdempotencyKey::parse("import:2026-01-31")?);
//! let payload = serde_json::json!({"fileId": "orders-2026-01-31"});
//! let claim = |token: &str| Claim {
//!     job_id: JobId::derive("nightly", &job_type, &key),
//!     job_type: job_type.clone(),
//!     schema_version: 1,
//!     caller: "nightly".to_owned(),
//!     idempotency_key: key.as_str().to_owned(),
//!     business_id: None,
//!     payload: payload.clone(),
//!     payload_digest: payload_digest(&payload),
//!     token: token.to_owned(),
//!     lease_until: ledger.now() + Duration::from_secs(60),
//!     sent_at: None,
//!     takeover: Takeover::Now,
//!     rules: ClaimRules { max_attempts: 3, max_generations: 10, needs_data: false, effect: EffectPolicy::RERUN },
//! };
//!
//! // Two workers at once: one runs it, the other learns how long that takes.
//! let Verdict::Started(mut record) = ledger.claim(claim("worker-1")).await?.verdict else { panic!("nobody has it") };
//! assert!(!matches!(ledger.claim(claim("worker-2")).await?.verdict, Verdict::Started(_)));
//!
//! let done = Event::Complete { token: "worker-1".into(), result: None, provider_ref: None, keep_for: Duration::from_secs(86_400) };
//! ledger.apply_owned(&mut record, &done, Guard::Lease("worker-1".into())).await?;
//! assert_eq!(record.status, Status::Succeeded);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod dynamodb;
mod event;
mod ledger;
mod memory;
mod reasons;
mod record;
mod store;
mod transition;
mod view;

pub use dynamodb::DynamoStore;
#[cfg(feature = "testing")]
pub(crate) use dynamodb::claim_update;
pub use event::{
    Certainty, Claim, ClaimRules, EffectPolicy, Ending, Event, Failing, Outcome, PutBack, Resolution, Takeover, Verdict,
};
pub use ledger::{Decision, Ledger};
pub use memory::MemoryStore;
pub use record::{ErrorClass, JobRecord, LastError, Status};
pub use store::{Created, FirstClaim, Guard, JobStore, Replaced, StoreError};
pub(crate) use transition::was_put_back;
pub use transition::{NOT_DUE_TOLERANCE, PUT_BACK_MARGIN, PUT_BACK_SEND_LEASE, Transition, transition};
pub use view::{JobView, JobViews};
