//! Ikkai's batch processor with its defaults and a handler that does nothing, or fails where the job says so.

use ikkai::consumer::{self, Done, Failure, Handler, JobContext, StartupError};
use ikkai::job::{EmailSend, Job};

struct Trivial;

impl Handler for Trivial {
    type Payload = EmailSend;

    async fn handle(&self, job: &Job<EmailSend>, _context: &JobContext) -> Result<Done, Failure> {
        match job.payload.template_id.as_str() {
            "fail" => Err(Failure::retry("provider_error", "the provider failed")),
            _ => Ok(Done::new()),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    consumer::run(async |_startup| Trivial).await
}
