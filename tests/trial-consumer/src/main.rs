//! A consumer that misbehaves on request: the job's template id says how. For the process tests only.

use std::time::Duration;

use ikkai::consumer::{self, Done, Failure, Handler, JobContext, StartupError};
use ikkai::job::{EmailSend, Job};

struct Trial;

impl Handler for Trial {
    type Payload = EmailSend;

    async fn handle(&self, job: &Job<EmailSend>, context: &JobContext) -> Result<Done, Failure> {
        match job.payload.template_id.as_str() {
            "panic" => panic!("the user of {} is {}", job.id, job.payload.user_id.as_str()),
            "abort" if context.attempt() == 1 => std::process::abort(),
            "sleep" => tokio::time::sleep(Duration::from_secs(600)).await,
            "effect-then-sleep" => {
                context.begin_effect(Duration::from_millis(100)).await?;
                tokio::time::sleep(Duration::from_secs(600)).await;
            }
            "fail" => return Err(Failure::retry("provider_error", "the provider failed")),
            _ => {}
        }
        Ok(Done::new())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    consumer::run(async |_startup| Trial).await
}
