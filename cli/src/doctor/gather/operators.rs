//! What the operators' function tells: how old the oldest dead letters are, and which jobs do not go on.

use std::time::SystemTime;

use aws_sdk_lambda::Client;
use dlq_redrive::protocol::{Answer, QueueStatus, Request, StatusAnswer, StatusRequest};
use ikkai::clock::EpochMillis;

use super::Wishes;
use super::gap::{fact, gap};
use crate::deployment::Deployment;
use crate::doctor::facts::{Fact, Gap, RedriveFacts, StuckJobs};
use crate::operator::{Desk, DeskError, FunctionDesk, Reply};
use crate::screen::chain;

/// The version that runs where none is named; the configuration belongs to it.
const LATEST: &str = "$LATEST";

/// Lambda repeats an asynchronous invocation so often where nothing is said.
const DEFAULT_RETRIES: u64 = 2;

/// What the function told.
#[derive(Debug)]
pub(super) struct Told {
    /// The function itself.
    pub(super) function: RedriveFacts,
    /// Jobs that do not go on.
    pub(super) stuck: Fact<StuckJobs>,
    /// The queues that it serves.
    pub(super) queues: Fact<Vec<QueueStatus>>,
    now: EpochMillis,
}

/// Asks the function for `status`. It looks at up to ten messages of each dead-letter queue.
pub(super) async fn ask(deployment: &Deployment, wishes: Wishes) -> Told {
    let now = EpochMillis::from(SystemTime::now());
    let Some(name) = deployment.site().function() else {
        return nobody(now);
    };
    let client = Client::new(deployment.config());
    let request = StatusRequest { queue: "all".to_owned(), stuck_after_seconds: wishes.stuck_after_seconds };
    let (function_name, retries, status) =
        tokio::join!(exists(&client, name), retries(&client, name), status(deployment, name, request));
    let stuck = match (&status, wishes.stuck_after_seconds) {
        (_, None) => Fact::Unknown(Gap::NotAsked {
            reason: "it reads the whole jobs table".to_owned(),
            mend: "`ikkai doctor --stuck-after 1h` looks for jobs that have not moved for an hour".to_owned(),
        }),
        (Fact::Unknown(gap), Some(_)) => Fact::Unknown(gap.clone()),
        (Fact::Known(status), Some(after_seconds)) => Fact::Known(StuckJobs {
            after_seconds,
            job_ids: status.stuck.iter().flatten().map(|job| job.job_id.clone()).collect(),
        }),
    };
    Told { function: RedriveFacts { function_name, retries }, stuck, queues: status.map(|status| status.queues), now }
}

/// What is known where the function is not deployed.
fn nobody(now: EpochMillis) -> Told {
    let gap = || Gap::NotAsked {
        reason: "the operators' function is not deployed".to_owned(),
        mend: "deploy the present template".to_owned(),
    };
    let function = RedriveFacts { function_name: Fact::Unknown(Gap::Missing), retries: Fact::Unknown(gap()) };
    Told { function, stuck: Fact::Unknown(gap()), queues: Fact::Unknown(gap()), now }
}

async fn exists(client: &Client, name: &str) -> Fact<String> {
    let answer = client.get_function_configuration().function_name(name).send().await;
    fact("lambda:GetFunctionConfiguration", answer).map(|_| name.to_owned())
}

async fn retries(client: &Client, name: &str) -> Fact<u64> {
    match client.get_function_event_invoke_config().function_name(name).qualifier(LATEST).send().await {
        Ok(answer) => {
            Fact::Known(answer.maximum_retry_attempts().and_then(|most| u64::try_from(most).ok()).unwrap_or(DEFAULT_RETRIES))
        }
        Err(error) => match gap("lambda:GetFunctionEventInvokeConfig", &error) {
            // No configuration is the default one.
            Gap::Missing => Fact::Known(DEFAULT_RETRIES),
            gap => Fact::Unknown(gap),
        },
    }
}

async fn status(deployment: &Deployment, name: &str, request: StatusRequest) -> Fact<StatusAnswer> {
    let failed = |reason: String| Fact::Unknown(Gap::Failed { action: "the operators' function".to_owned(), reason });
    match FunctionDesk::new(deployment.config(), name).ask(&Request::Status(request)).await {
        Ok(Reply { answer: Answer::Status(status), .. }) => Fact::Known(status),
        Ok(Reply { answer: Answer::Refused(_, refusal), .. }) => failed(refusal.message),
        Ok(_) => failed("it answered another question".to_owned()),
        Err(DeskError::NotAllowed { .. }) => Fact::Unknown(Gap::Denied { action: "lambda:InvokeFunction".to_owned() }),
        Err(DeskError::NoFunction { .. }) => Fact::Unknown(Gap::Missing),
        Err(error) => failed(chain(&error)),
    }
}

impl Told {
    /// How old the oldest message is that the function looked at in a dead-letter queue, in seconds.
    pub(super) fn oldest(&self, dead_letter_queue: &str) -> Fact<Option<u64>> {
        self.queues.clone().and_then(|queues| oldest(&queues, dead_letter_queue, self.now))
    }
}

fn oldest(queues: &[QueueStatus], dead_letter_queue: &str, now: EpochMillis) -> Fact<Option<u64>> {
    let Some(queue) = queues.iter().find(|queue| queue.dead_letter_queue == dead_letter_queue) else {
        return Fact::Unknown(Gap::NotAsked {
            reason: "the operators' function does not know this queue".to_owned(),
            mend: "name it in IKKAI_REDRIVE_QUEUES: deploy the present template".to_owned(),
        });
    };
    match queue.oldest_dead_letter_at.as_deref().map(EpochMillis::parse_rfc3339) {
        None if queue.dead_letters.visible == 0 => Fact::Known(None),
        // Counted, but not seen: other readers hide them.
        None => Fact::Unknown(Gap::NotAsked {
            reason: "its messages are hidden by another reader".to_owned(),
            mend: "run `ikkai doctor` again in a minute".to_owned(),
        }),
        Some(Ok(sent_at)) => Fact::Known(Some(now.since(sent_at).as_secs())),
        Some(Err(_)) => {
            Fact::Unknown(Gap::Failed { action: "the operators' function".to_owned(), reason: "it told no time".to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use dlq_redrive::protocol::Depth;

    use super::*;

    fn status(oldest: Option<&str>, visible: u64) -> QueueStatus {
        QueueStatus {
            name: "email".into(),
            queue: "s-email".into(),
            dead_letter_queue: "s-email-dlq".into(),
            job_type: "email.send".into(),
            depth: Depth::default(),
            dead_letters: Depth { visible, ..Depth::default() },
            oldest_dead_letter_at: oldest.map(str::to_owned),
            move_tasks: None,
            last_run: None,
        }
    }

    #[test]
    fn the_age_is_counted_from_the_first_send() {
        let now = EpochMillis::parse_rfc3339("2026-03-02T00:00:30Z").unwrap();
        let age = |queue: QueueStatus, name: &str| oldest(&[queue], name, now);
        assert_eq!(age(status(Some("2026-03-01T00:00:00Z"), 1), "s-email-dlq"), Fact::Known(Some(86_430)));
        assert_eq!(age(status(Some("2026-03-03T00:00:00Z"), 1), "s-email-dlq"), Fact::Known(Some(0)), "another clock");
        assert_eq!(age(status(None, 0), "s-email-dlq"), Fact::Known(None));
    }

    #[test]
    fn what_was_not_seen_is_not_known() {
        let now = EpochMillis::from_i64(0);
        for (queue, name) in
            [(status(None, 3), "s-email-dlq"), (status(None, 0), "other"), (status(Some("soon"), 1), "s-email-dlq")]
        {
            assert!(matches!(oldest(&[queue], name, now), Fact::Unknown(_)));
        }
    }
}
