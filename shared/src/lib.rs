//! *Ikkai* (一回, "once"): jobs go in once, are worked on once, and what fails is kept, explained and can be put back.
//!
//! A worker kit for AWS Lambda and SQS. A consumer is a payload type, a [`Handler`](consumer::Handler) and a ten-line `main`; the kit
//! does idempotency with DynamoDB conditional writes, partial batch failures, visibility timeouts, backoff and the way to the
//! dead-letter queue.
//!
//! | module | what it is |
//! |---|---|
//! | [`job`] | the envelope, job ids, payload types, privacy rules |
//! | [`idempotency`] | the job record, its state machine, stores |
//! | [`consumer`] | the batch processor and what a handler sees |
//! | [`visibility`] | backoff and heartbeat |
//! | [`queue`] | batched sends, visibility, renewal |
//! | [`observability`] | logs, metrics, trace headers |
//! | [`callback`] | which URLs and addresses a caller may be told at |
//! | [`config`], [`clock`], [`token`], [`aws`] | settings read once, typed time, new names, AWS clients |

pub mod aws;
pub mod callback;
pub mod clock;
pub mod config;
pub mod consumer;
pub mod idempotency;
pub mod job;
pub mod observability;
pub mod queue;
#[cfg(feature = "testing")]
pub mod testing;
pub mod token;
pub mod visibility;
