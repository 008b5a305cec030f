//! Move tasks of Amazon SQS.

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{ListMessageMoveTasksResultEntry, QueueAttributeName};
use ikkai::clock::EpochMillis;
use ikkai::queue::QueueName;

use super::MoveTasks;
use crate::protocol::{MoveTask, Refusal, RefusalCode};
use crate::refusals::{is_denied, is_missing};
use crate::telling::moment;

/// SQS tells of no more (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ListMessageMoveTasks.html>).
const MOST_TASKS: i32 = 10;

/// What SQS says of a task that met a message without a source
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/troubleshooting-dlq-redrive.html>).
const NO_SOURCE: &str = "CouldNotDetermineMessageSource";

/// [`MoveTasks`] of SQS. Queues are looked up by their names each time: these calls are rare.
#[derive(Debug, Clone)]
pub struct SqsMoveTasks {
    client: Client,
}

impl SqsMoveTasks {
    /// The move tasks that `client` reaches.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    async fn arn(&self, queue: &QueueName) -> Result<String, Refusal> {
        let found = self.client.get_queue_url().queue_name(queue.as_str()).send();
        let found = Box::pin(found).await.map_err(|error| refused("GetQueueUrl", queue.as_str(), &error))?;
        let asked =
            self.client.get_queue_attributes().set_queue_url(found.queue_url).attribute_names(QueueAttributeName::QueueArn);
        let answer = Box::pin(asked.send()).await.map_err(|error| refused("GetQueueAttributes", queue.as_str(), &error))?;
        let arn = answer.attributes.and_then(|mut all| all.remove(&QueueAttributeName::QueueArn));
        arn.ok_or_else(|| Refusal::new(RefusalCode::Unavailable, format!("SQS does not tell the ARN of {}", queue.as_str())))
    }
}

#[async_trait]
impl MoveTasks for SqsMoveTasks {
    async fn start(&self, dead_letter_queue: &QueueName, rate_per_second: Option<u32>) -> Result<MoveTask, Refusal> {
        let rate = rate_per_second.and_then(|rate| i32::try_from(rate).ok());
        let started = self
            .client
            .start_message_move_task()
            .source_arn(self.arn(dead_letter_queue).await?)
            .set_max_number_of_messages_per_second(rate)
            .send();
        let started = Box::pin(started).await;
        let started = started.map_err(|error| refused("StartMessageMoveTask", dead_letter_queue.as_str(), &error))?;
        Ok(MoveTask {
            task_handle: started.task_handle,
            status: Some("RUNNING".to_owned()),
            moved: None,
            to_move: None,
            rate_per_second: rate,
            started_at: None,
            failure: None,
        })
    }

    async fn list(&self, dead_letter_queue: &QueueName) -> Result<Vec<MoveTask>, Refusal> {
        let source = self.arn(dead_letter_queue).await?;
        let asked = self.client.list_message_move_tasks().source_arn(source).max_results(MOST_TASKS).send();
        let answer =
            Box::pin(asked).await.map_err(|error| refused("ListMessageMoveTasks", dead_letter_queue.as_str(), &error))?;
        Ok(answer.results.unwrap_or_default().into_iter().map(task).collect())
    }

    async fn cancel(&self, task_handle: &str) -> Result<MoveTask, Refusal> {
        let cancelled = self.client.cancel_message_move_task().task_handle(task_handle).send();
        let cancelled = Box::pin(cancelled).await.map_err(|error| match refused("CancelMessageMoveTask", "", &error) {
            refusal if is_missing(error.code().unwrap_or_default()) => {
                Refusal::new(RefusalCode::WrongState, format!("no such task is running; list shows those that are ({refusal})"))
            }
            refusal => refusal,
        })?;
        Ok(MoveTask {
            task_handle: Some(task_handle.to_owned()),
            status: Some("CANCELLING".to_owned()),
            moved: Some(cancelled.approximate_number_of_messages_moved),
            to_move: None,
            rate_per_second: None,
            started_at: None,
            failure: None,
        })
    }
}

fn task(entry: ListMessageMoveTasksResultEntry) -> MoveTask {
    MoveTask {
        task_handle: entry.task_handle,
        status: entry.status,
        moved: Some(entry.approximate_number_of_messages_moved),
        to_move: entry.approximate_number_of_messages_to_move,
        rate_per_second: entry.max_number_of_messages_per_second,
        // Some engines tell no time.
        started_at: (entry.started_timestamp > 0).then(|| moment(EpochMillis::from_i64(entry.started_timestamp))),
        failure: entry.failure_reason.filter(|reason| !reason.is_empty()).map(explained),
    }
}

fn explained(reason: String) -> String {
    if !reason.contains(NO_SOURCE) {
        return reason;
    }
    format!(
        "{reason}: somebody sent a message straight into the dead-letter queue, and SQS does not know where it belongs; put such messages \
         back with `redrive` and the filter sources [\"none\"], then start another task"
    )
}

fn refused<E: ProvideErrorMetadata, R>(operation: &str, queue: &str, error: &SdkError<E, R>) -> Refusal {
    let told = error.message().unwrap_or_default();
    let code = match error.code() {
        Some(code) => code,
        None => match error {
            SdkError::TimeoutError(_) => "timed out",
            SdkError::DispatchFailure(_) => "no connection",
            _ => "no readable answer",
        },
    };
    let refusal = |kind, message: String| Refusal::new(kind, format!("{operation} {queue}: {message} ({code})"));
    match code {
        // SQS says the same of a queue that is the dead-letter queue of no other, which no redrive of ours can mend either.
        _ if told.contains("already") && told.contains("task") => {
            refusal(RefusalCode::MoveTaskInProgress, "SQS is moving messages out of this queue already; one task a queue is all it takes".into())
        }
        "InvalidAction" | "UnknownOperationException" | "UnknownOperation" | "NotImplemented" | "InternalFailure" if is_unknown(code, told) => {
            refusal(RefusalCode::Unsupported, "this engine has no move tasks; use redrive".into())
        }
        "UnsupportedOperation" | "AWS.SimpleQueueService.UnsupportedOperation" => refusal(
            RefusalCode::WrongState,
            "SQS cannot do this with the queue; it moves messages only out of the dead-letter queue of another queue of SQS".into(),
        ),
        code if is_denied(code) => refusal(
            RefusalCode::AccessDenied,
            "not allowed; the role needs the operation and ReceiveMessage, DeleteMessage and GetQueueAttributes on the dead-letter queue, \
             SendMessage on the queue, and the keys of both"
                .into(),
        ),
        code if is_missing(code) => refusal(RefusalCode::Unavailable, "there is no such queue; check IKKAI_REDRIVE_QUEUES".into()),
        "InvalidParameterValue" | "InvalidParameterValueException" | "InvalidAddress" => {
            refusal(RefusalCode::WrongState, "SQS does not take the queue or the handle; list shows the handles of running tasks".into())
        }
        _ => Refusal { retry_after_seconds: Some(5), ..refusal(RefusalCode::Unavailable, "no answer, or SQS throttles".into()) },
    }
}

/// LocalStack and others answer an operation that they lack with an internal failure that says so.
fn is_unknown(code: &str, told: &str) -> bool {
    code != "InternalFailure" || told.contains("not been implemented") || told.contains("not yet implemented")
}
