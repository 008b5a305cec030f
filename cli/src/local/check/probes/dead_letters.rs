//! The way into a dead-letter queue and out of it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_sdk_sqs::types::{MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName};
use futures::FutureExt;

use crate::local::check::finding::Finding;
use crate::local::check::lab::Lab;
use crate::local::check::messages::{Queue, redrive_policy, system_attribute};
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::{Doing, Trouble, part};

const GROUP: &str = "dead letters";

pub(super) const PROBES: [Probe; 4] = [
    Probe {
        id: "redrive-policy",
        group: GROUP,
        feature: "redrive to the dead-letter queue",
        aws: "After `maxReceiveCount` receives a message is moved: same id, same attributes, and `DeadLetterQueueSourceArn` names its queue.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html",
        needs: Needs::Nothing,
        run: |lab| redrive(lab).boxed_local(),
    },
    Probe {
        id: "message-move-task",
        group: GROUP,
        feature: "move tasks",
        aws: "StartMessageMoveTask puts dead messages back into the queue that they came from, and the list of tasks says how many.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html",
        needs: Needs::Nothing,
        run: |lab| move_task(lab).boxed_local(),
    },
    Probe {
        id: "cancel-message-move-task",
        group: GROUP,
        feature: "cancelled move tasks",
        aws: "A move task that is cancelled stops; what was not moved stays in the dead-letter queue.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CancelMessageMoveTask.html",
        needs: Needs::Nothing,
        run: |lab| cancelled_move_task(lab).boxed_local(),
    },
    Probe {
        id: "redrive-allow-policy",
        group: GROUP,
        feature: "redrive allow policy",
        aws: "A queue whose `RedriveAllowPolicy` is `denyAll` cannot be made the dead-letter queue of another.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html",
        needs: Needs::Nothing,
        run: |lab| allow_policy(lab).boxed_local(),
    },
];

async fn redrive(lab: &Lab) -> Result<Finding, Trouble> {
    let (queue, dead) = lab.queue_with_dead_letters("redrive", 30, 2).await?;
    let owner = MessageAttributeValue::builder().data_type("String").string_value("billing").build();
    let attributes: HashMap<_, _> = owner.into_iter().map(|value| ("owner".to_owned(), value)).collect();
    let id = lab.send_with(&queue, "dies", attributes.clone()).await?;
    for _ in 0..2 {
        let message = lab.receive_one(&queue).await?;
        lab.change_visibility(&queue, &message, 0).await?;
    }
    // The move happens when the message would be received once more.
    let third = lab.receive(&queue, 1, 1).await?;
    let moved = lab.receive_one(&dead).await?;
    let source = system_attribute(&moved, &MessageSystemAttributeName::DeadLetterQueueSourceArn);
    let checks = [
        ("it was not received a third time", third.is_empty()),
        ("same id", moved.message_id.as_deref() == Some(id.as_str())),
        ("same attributes", moved.message_attributes == Some(attributes)),
        ("its queue named", source.as_deref() == Some(queue.arn.as_str())),
    ];
    let missing: Vec<_> = checks.iter().filter(|(_, holds)| !holds).map(|(what, _)| *what).collect();
    Ok(match missing.as_slice() {
        [] => Finding::as_aws("moved at the third receive, with its id, its attributes and the name of its queue"),
        missing => Finding::differs(format!("it was moved, but not so: {}", missing.join(", "))),
    })
}

/// Makes so many dead messages.
async fn dead_messages(lab: &Lab, name: &str, count: usize) -> Result<(Queue, Queue), Trouble> {
    let (queue, dead) = lab.queue_with_dead_letters(name, 0, 1).await?;
    let bodies: Vec<_> = (0..count).map(|number| format!("message {number}")).collect();
    lab.send_all(&queue, &bodies).await?;
    lab.eventually("messages to die", async || {
        lab.receive(&queue, 10, 0).await?;
        Ok((lab.held(&dead).await? == count as u64).then_some(()))
    })
    .await?;
    Ok((queue, dead))
}

async fn move_task(lab: &Lab) -> Result<Finding, Trouble> {
    const MESSAGES: usize = 3;
    let (queue, dead) = dead_messages(lab, "move-task", MESSAGES).await?;
    lab.clients.sqs.start_message_move_task().source_arn(&dead.arn).send().await.doing("StartMessageMoveTask")?;
    lab.eventually("dead messages to be back", async || {
        Ok((lab.held(&dead).await? == 0 && lab.held(&queue).await? == MESSAGES as u64).then_some(()))
    })
    .await?;
    let tasks = lab.clients.sqs.list_message_move_tasks().source_arn(&dead.arn).send().await.doing("ListMessageMoveTasks")?;
    let task = part(tasks.results().first(), "ListMessageMoveTasks", "task")?;
    let (status, moved) = (task.status().unwrap_or("no status"), task.approximate_number_of_messages_moved());
    let seen = format!("{MESSAGES} dead messages were put back; the list says {status}, {moved} moved");
    Ok(Finding::judged(matches!(status, "COMPLETED" | "RUNNING") && moved == MESSAGES as i64, seen))
}

async fn cancelled_move_task(lab: &Lab) -> Result<Finding, Trouble> {
    const MESSAGES: usize = 20;
    let (queue, dead) = dead_messages(lab, "cancel-task", MESSAGES).await?;
    let call = lab.clients.sqs.start_message_move_task().source_arn(&dead.arn).max_number_of_messages_per_second(1);
    let started = call.send().await.doing("StartMessageMoveTask")?;
    let handle = part(started.task_handle, "StartMessageMoveTask", "handle")?;
    lab.eventually("the first message to be back", async || Ok((lab.held(&queue).await? > 0).then_some(()))).await?;
    lab.clients.sqs.cancel_message_move_task().task_handle(handle).send().await.doing("CancelMessageMoveTask")?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let left = lab.held(&dead).await?;
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_secs(3) {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let later = lab.held(&dead).await?;
    let seen = format!("cancelled at 1 message a second, {left} of {MESSAGES} stayed, {later} of them 3 s later");
    Ok(Finding::judged(left > 0 && left == later, seen))
}

async fn allow_policy(lab: &Lab) -> Result<Finding, Trouble> {
    let policy = serde_json::json!({ "redrivePermission": "denyAll" }).to_string();
    let closed = lab.queue("allow-dlq", vec![(QueueAttributeName::RedriveAllowPolicy, policy)]).await?;
    let queue = lab.queue("allow", Vec::new()).await?;
    let call = lab.clients.sqs.set_queue_attributes().queue_url(&queue.url);
    let call = call.attributes(QueueAttributeName::RedrivePolicy, redrive_policy(&closed, 1));
    match call.send().await.doing("SetQueueAttributes") {
        Err(trouble) if trouble.is_refusal() => {
            Ok(Finding::as_aws(format!("it was refused with {}", trouble.code().unwrap_or("no code"))))
        }
        Err(trouble) => Err(trouble),
        Ok(_) => Ok(Finding::differs("a queue that denies all became another queue's dead-letter queue")),
    }
}
