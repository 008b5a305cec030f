//! FIFO queues.

use aws_sdk_sqs::types::Message;
use futures::FutureExt;

use crate::local::check::finding::Finding;
use crate::local::check::lab::Lab;
use crate::local::check::messages::Queue;
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::{Doing, Trouble};

const GROUP: &str = "FIFO queues";

pub(super) const PROBES: [Probe; 3] = [
    Probe {
        id: "fifo-order",
        group: GROUP,
        feature: "order of a message group",
        aws: "The messages of a group are received in the order in which they were sent.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html",
        needs: Needs::Nothing,
        run: |lab| order(lab).boxed_local(),
    },
    Probe {
        id: "fifo-group-lock",
        group: GROUP,
        feature: "one at a time in a group",
        aws: "While a message of a group is in flight no other of that group is received, but those of other groups are.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html",
        needs: Needs::Nothing,
        run: |lab| group_lock(lab).boxed_local(),
    },
    Probe {
        id: "fifo-deduplication",
        group: GROUP,
        feature: "deduplication",
        aws: "A second message with the same deduplication id is accepted and not delivered.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html",
        needs: Needs::Nothing,
        run: |lab| deduplication(lab).boxed_local(),
    },
];

async fn send(lab: &Lab, queue: &Queue, group: &str, body: &str, deduplication: &str) -> Result<Option<String>, Trouble> {
    let call = lab.clients.sqs.send_message().queue_url(&queue.url).message_body(body);
    let call = call.message_group_id(group).message_deduplication_id(deduplication);
    Ok(call.send().await.doing("SendMessage")?.message_id)
}

fn body(message: &Message) -> String {
    message.body.clone().unwrap_or_default()
}

async fn order(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = lab.queue("order.fifo", Vec::new()).await?;
    let sent = ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4"];
    for name in sent {
        send(lab, &queue, &name[..1], name, name).await?;
    }
    let mut received = Vec::new();
    while received.len() < sent.len() {
        let message = lab.receive_one(&queue).await?;
        received.push(body(&message));
        lab.delete(&queue, message.receipt_handle).await?;
    }
    let in_order = ["a", "b"].iter().all(|group| {
        let of = |names: &mut dyn Iterator<Item = &str>| {
            names.filter(|name| name.starts_with(group)).map(str::to_owned).collect::<Vec<_>>()
        };
        of(&mut received.iter().map(String::as_str)) == of(&mut sent.into_iter())
    });
    Ok(Finding::judged(in_order, format!("received {}", received.join(" "))))
}

async fn group_lock(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = lab.queue("group-lock.fifo", Vec::new()).await?;
    for name in ["a1", "a2", "b1"] {
        send(lab, &queue, &name[..1], name, name).await?;
    }
    let first = lab.receive_one(&queue).await?;
    let meanwhile: Vec<_> = lab.receive(&queue, 10, 2).await?.iter().map(body).collect();
    let held = body(&first);
    lab.delete(&queue, first.receipt_handle).await?;
    let next = lab.receive(&queue, 10, 2).await?;
    let next: Vec<_> = next.iter().map(body).collect();
    let seen = format!("while {held} was in flight: {}; after it was deleted: {}", list(&meanwhile), list(&next));
    Ok(Finding::judged(held == "a1" && meanwhile == ["b1"] && next == ["a2"], seen))
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(" ") }
}

async fn deduplication(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = lab.queue("deduplication.fifo", Vec::new()).await?;
    let first = send(lab, &queue, "a", "hello", "one").await?;
    let second = send(lab, &queue, "a", "hello again", "one").await?;
    send(lab, &queue, "a", "other", "two").await?;
    let mut received = Vec::new();
    while received.last().map(String::as_str) != Some("other") {
        let message = lab.receive_one(&queue).await?;
        received.push(body(&message));
        lab.delete(&queue, message.receipt_handle).await?;
    }
    let ids = if first == second { "answered with the same message id" } else { "answered with another message id" };
    let times = received.len() - 1;
    Ok(Finding::judged(times == 1, format!("sent twice, delivered {times} time(s), {ids}")))
}
