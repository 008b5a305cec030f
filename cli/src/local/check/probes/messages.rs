//! What SQS does with a message.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{MessageAttributeValue, QueueAttributeName, SendMessageBatchRequestEntry};
use futures::FutureExt;

use crate::local::check::finding::Finding;
use crate::local::check::lab::{Lab, seconds};
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::{Doing, Trouble};

const GROUP: &str = "messages";

/// Bytes of the largest message.
const LARGEST: usize = 1_048_576;

pub(super) const PROBES: [Probe; 4] = [
    Probe {
        id: "delay-seconds",
        group: GROUP,
        feature: "delay of a message",
        aws: "A message with `DelaySeconds` cannot be received before that time is over.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-timers.html",
        needs: Needs::Nothing,
        run: |lab| delay(lab).boxed_local(),
    },
    Probe {
        id: "message-attributes",
        group: GROUP,
        feature: "message attributes",
        aws: "Attributes of the types String, Number and Binary arrive as they were sent, byte by byte.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html",
        needs: Needs::Nothing,
        run: |lab| attributes(lab).boxed_local(),
    },
    Probe {
        id: "largest-message",
        group: GROUP,
        feature: "messages of 1 MiB",
        aws: "A message of 1,048,576 bytes is taken, one byte more is refused.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html",
        needs: Needs::Nothing,
        run: |lab| largest(lab).boxed_local(),
    },
    Probe {
        id: "batch-entry-failure",
        group: GROUP,
        feature: "failures within SendMessageBatch",
        aws: "An entry that cannot be sent is answered as failed by itself; the other entries are sent.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html",
        needs: Needs::Nothing,
        run: |lab| batch_entry(lab).boxed_local(),
    },
];

async fn delay(lab: &Lab) -> Result<Finding, Trouble> {
    const DELAY_SECONDS: i32 = 3;
    let queue = lab.queue("delay", Vec::new()).await?;
    let sent = Instant::now();
    let call = lab.clients.sqs.send_message().queue_url(&queue.url).message_body("late").delay_seconds(DELAY_SECONDS);
    call.send().await.doing("SendMessage")?;
    lab.receive_one(&queue).await?;
    let after = sent.elapsed();
    let seen = format!("a message with a delay of {DELAY_SECONDS} s came after {}", seconds(after));
    Ok(Finding::judged(after >= Duration::from_millis(2_800), seen))
}

async fn attributes(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = lab.queue("attributes", Vec::new()).await?;
    let bytes = Blob::new([0_u8, 159, 146, 150, 255]);
    let value = |kind: &str| MessageAttributeValue::builder().data_type(kind);
    let built = [
        ("text", value("String").string_value("größer, 大").build()),
        ("number", value("Number").string_value("12.50").build()),
        ("bytes", value("Binary").binary_value(bytes).build()),
    ];
    let sent: HashMap<_, _> = built.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.ok()?))).collect();
    lab.send_with(&queue, "with attributes", sent.clone()).await?;
    let received = lab.receive_one(&queue).await?.message_attributes.unwrap_or_default();
    let wrong: Vec<_> =
        sent.iter().filter(|(name, value)| received.get(*name) != Some(*value)).map(|(name, _)| name.as_str()).collect();
    Ok(match wrong.as_slice() {
        [] => Finding::as_aws("text, number and bytes arrived as they were sent"),
        wrong => Finding::differs(format!("not as they were sent: {}", wrong.join(", "))),
    })
}

async fn largest(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = lab.queue("largest", vec![(QueueAttributeName::MaximumMessageSize, LARGEST.to_string())]).await;
    let queue = match queue {
        Err(trouble) if trouble.is_refusal() => return Ok(Finding::differs(format!("a queue for 1 MiB was refused: {trouble}"))),
        queue => queue?,
    };
    let full_taken = is_taken(lab.send(&queue, "x".repeat(LARGEST)).await)?;
    let full_arrived = full_taken && lab.receive_one(&queue).await?.body.is_some_and(|body| body.len() == LARGEST);
    let over_refused = !is_taken(lab.send(&queue, "x".repeat(LARGEST + 1)).await)?;
    let taken = |taken: bool| if taken { "taken" } else { "refused" };
    let seen = format!("1 MiB was {}, one byte more was {}", taken(full_arrived), taken(!over_refused));
    Ok(Finding::judged(full_arrived && over_refused, seen))
}

/// Whether a message was taken; a refusal is an answer.
fn is_taken(sent: Result<String, Trouble>) -> Result<bool, Trouble> {
    match sent {
        Ok(_) => Ok(true),
        Err(trouble) if trouble.is_refusal() => Ok(false),
        Err(trouble) => Err(trouble),
    }
}

async fn batch_entry(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = lab.queue("batch-entry", Vec::new()).await?;
    // A character that XML cannot say, which SQS refuses by message.
    let entries = [("good", "good"), ("bad", "a\u{1}b"), ("good-too", "good")];
    let entry = |(id, body): (&str, &str)| SendMessageBatchRequestEntry::builder().id(id).message_body(body).build().ok();
    let call = lab.clients.sqs.send_message_batch().queue_url(&queue.url);
    let call = call.set_entries(Some(entries.into_iter().filter_map(entry).collect()));
    let answer = match call.send().await.doing("SendMessageBatch") {
        Err(trouble) if trouble.is_refusal() => return Ok(Finding::differs(format!("the whole call was refused: {trouble}"))),
        answer => answer?,
    };
    let failed: Vec<_> = answer.failed.iter().map(|entry| entry.id.as_str()).collect();
    let code = answer.failed.first().map(|entry| entry.code.as_str());
    let seen = match code {
        Some(code) => format!("{} of 3 entries were sent, {} failed with {code}", answer.successful.len(), failed.join(", ")),
        None => format!("{} of 3 entries were sent, also one with a character that SQS does not allow", answer.successful.len()),
    };
    Ok(Finding::judged(failed == ["bad"] && answer.successful.len() == 2, seen))
}
