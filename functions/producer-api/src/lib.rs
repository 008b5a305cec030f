//! Ikkai's HTTP API: accepts jobs, records and enqueues them, and reports on them. What it answers is written down in `docs/api.md`.
//!
//! A request takes this way:
//!
//! | step | module |
//! |---|---|
//! | a Lambda event of any door becomes a [`Request`] | `event` |
//! | path and method become a call | `router` |
//! | who asks | `caller` |
//! | the body becomes a job that may be posted | `idempotency_header`, `request_body`, `run_at`, `policy`, `callbacks`, `prepared` |
//! | the job is recorded, then sent | `admission`, `accept`, `recent_sends`, `batch` |
//! | or looked up, or cancelled | `jobs` |
//! | and answered | `response`, `problem`, `cors` |
//!
//! [`Api`] is all of it without Lambda and AWS; [`run`] is the function.

mod accept;
mod accepted;
mod admission;
mod api;
mod batch;
mod callbacks;
mod caller;
mod catalog;
mod cors;
mod event;
mod idempotency_header;
mod jobs;
mod lambda;
mod policy;
mod prepared;
mod problem;
mod recent_sends;
mod request_body;
mod response;
mod router;
mod run_at;
mod settings;

pub use api::{Api, Call};
pub use batch::MAX_BATCH_JOBS;
pub use catalog::{Catalog, Served};
pub use event::{EventError, Request};
pub use lambda::run;
pub use policy::Policy;
pub use problem::Code;
pub use request_body::MAX_DATA_BYTES;
pub use response::Response;
pub use run_at::MAX_RUN_AHEAD;
pub use settings::Settings;
