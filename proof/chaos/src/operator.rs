//! An operator, when nothing goes wrong any more: puts back what is in the dead-letter queues, through the deployed function.

use std::time::Duration;

use dlq_redrive::protocol::{Request, Tally};
use ikkai_cli::operator::{Course, Desk, FunctionDesk, Interrupt, Outcome, RunRequest};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::book::Book;
use crate::stage::{CONSUMERS, Stage};
use crate::verdict::Doubt;

/// Rounds of putting back after which what is still dead stays so.
const ROUNDS: u32 = 5;

/// Longest time in which jobs may end once nothing goes wrong: longer than the five minutes that a consumer waits where it believes that an
/// operator has to mend something first, and than the minute after which a message comes back whose worker died before it said anything.
const PATIENCE: Duration = Duration::from_secs(420);

/// For how long the queues have to hold nothing until what has not ended is not waited for any more: its message is in a dead-letter queue, or gone.
const EMPTY_FOR: Duration = Duration::from_secs(15);

/// Longer than any function waits for its provider, and any fault holds a call up.
const NOTHING_IS_ON_ITS_WAY: Duration = Duration::from_secs(5);

/// Time between two looks at the queues.
const EVERY: Duration = Duration::from_millis(500);

/// Waits for the end of all jobs, and puts back what has died.
#[derive(Debug)]
pub struct Operator<'a> {
    /// Of what.
    pub stage: &'a Stage,
    /// Where the jobs stand; somebody else keeps it up to date.
    pub book: &'a Book,
}

impl Operator<'_> {
    /// Goes on until nothing is dead, or putting back has not helped. Returns how many messages were put back. What has not ended then is for the
    /// reckoning to tell.
    ///
    /// # Errors
    /// The engine or the operators' function does not answer.
    pub async fn settle(&self, interrupt: &mut Interrupt) -> Result<u64, Failure> {
        let mut put_back = 0;
        for round in 1..=ROUNDS {
            self.until_quiet().await?;
            if self.dead_letters().await? == 0 {
                break;
            }
            let tally = self.redrive(round, interrupt).await?;
            put_back += tally.redriven;
            self.book.look_again();
            if tally.redriven == 0 {
                break;
            }
        }
        self.until_quiet().await?;
        Ok(put_back)
    }

    /// Looks at the providers' books for each job in doubt, and says what is there: done, or to be run again.
    ///
    /// # Errors
    /// The operators' function does not answer, or refuses.
    pub async fn resolve(&self, doubts: &[Doubt]) -> Result<(), Failure> {
        // Who looks while a request may still be on its way says "not done" of what is done a moment later.
        sleep(NOTHING_IS_ON_ITS_WAY).await;
        let desk = self.desk();
        for doubt in doubts {
            let (outcome, reason) = match doubt.effects {
                0 => ("runAgain", "the provider knows nothing of it"),
                _ => ("done", "it stands in the provider's books"),
            };
            let request = json!({
                "action": "resolve", "jobId": doubt.job, "as": outcome, "generation": doubt.generation, "reason": reason,
                "claimedBy": "chaos",
            });
            let reply = desk.ask(&read(request)?).await?;
            if reply.json["ok"] != true {
                return Err(format!("{} cannot be resolved: {}", doubt.job, reply.json["error"]).into());
            }
        }
        self.book.look_again();
        Ok(())
    }

    fn desk(&self) -> FunctionDesk {
        FunctionDesk::new(&self.stage.aws.sdk_config(), self.stage.stack().redrive())
    }

    /// Waits until no queue holds anything and no job is under way, or none that a message could bring on; no longer than it may take.
    async fn until_quiet(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let mut last_held = began;
        while began.elapsed() < PATIENCE {
            // The book first: a job that ends after the look at the queues may have a message left there.
            let open = self.book.open().len();
            match self.waiting().await? {
                0 if open == 0 || last_held.elapsed() >= EMPTY_FOR => return Ok(()),
                0 => {}
                _ => last_held = Instant::now(),
            }
            self.stage.aws.check()?;
            sleep(EVERY).await;
        }
        Ok(())
    }

    /// Messages in the queues of those who have work.
    async fn waiting(&self) -> Result<usize, Failure> {
        self.count(|names| names.queue).await
    }

    async fn dead_letters(&self) -> Result<usize, Failure> {
        self.count(|names| names.dead_letter_queue).await
    }

    async fn count(
        &self,
        queue: impl for<'n> Fn(ikkai_cli::local::stack::ConsumerNames<'n>) -> &'n str,
    ) -> Result<usize, Failure> {
        let mut all = 0;
        for consumer in CONSUMERS {
            all += self.stage.stack().queue_counts(queue(self.stage.stack().consumer(consumer))).await?.all();
        }
        Ok(all)
    }

    async fn redrive(&self, round: u32, interrupt: &mut Interrupt) -> Result<Tally, Failure> {
        let reason = format!("the trouble is over, round {round}");
        let request = json!({
            "action": "redrive", "queue": "all", "max": 1_000_000, "ratePerSecond": 200, "stopAtReturnedPercent": 100,
            "reason": reason, "claimedBy": "chaos",
        });
        let Request::Redrive(redrive) = read(request)? else { return Err("not a redrive".into()) };
        let mut course = Course::new(RunRequest::Redrive(redrive).named());
        match course.follow(&self.desk(), interrupt, &mut |_| {}).await {
            Outcome::Answered(reply) if reply.json["error"].is_null() => {
                let tally = serde_json::from_value(reply.json["tally"].clone())?;
                if reply.json["ok"] == true {
                    Ok(tally)
                } else {
                    Err(format!("the redrive did not go well: {}", reply.json).into())
                }
            }
            Outcome::Answered(reply) => Err(format!("the redrive was refused: {}", reply.json["error"]).into()),
            Outcome::Interrupted(_) => Err("interrupted".into()),
            Outcome::Lost(error) => Err(error.into()),
        }
    }
}

fn read(request: Value) -> Result<Request, Failure> {
    Request::read(request).map_err(|refusal| refusal.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_the_function_does_not_know_is_told() {
        assert!(read(json!({"action": "redrive", "queu": "all"})).unwrap_err().to_string().contains("queu"));
    }
}
