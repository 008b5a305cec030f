//! How long a received message stays hidden.

use std::time::{Duration, Instant};

use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName};
use futures::FutureExt;

use crate::local::check::finding::Finding;
use crate::local::check::lab::{Lab, seconds};
use crate::local::check::messages::{Queue, system_attribute};
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::{Trouble, part};

const GROUP: &str = "visibility";

const SOURCE: &str = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html";

const TIMEOUT_SECONDS: u32 = 3;

pub(super) const PROBES: [Probe; 4] = [
    Probe {
        id: "visibility-timeout",
        group: GROUP,
        feature: "visibility timeout",
        aws: "A received message is hidden until its visibility timeout ends, and comes back then.",
        source: SOURCE,
        needs: Needs::Nothing,
        run: |lab| expiry(lab).boxed_local(),
    },
    Probe {
        id: "change-visibility",
        group: GROUP,
        feature: "changed visibility",
        aws: "ChangeMessageVisibility hides a message for the new time from now on; 0 shows it at once.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html",
        needs: Needs::Nothing,
        run: |lab| change(lab).boxed_local(),
    },
    Probe {
        id: "visibility-limit",
        group: GROUP,
        feature: "12 hours at most",
        aws: "A visibility timeout of more than 43,200 seconds is refused.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html",
        needs: Needs::Nothing,
        run: |lab| limit(lab).boxed_local(),
    },
    Probe {
        id: "receive-count",
        group: GROUP,
        feature: "receive count",
        aws: "`ApproximateReceiveCount` grows by one with each receive; the time of the first receive stays.",
        source: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html",
        needs: Needs::Nothing,
        run: |lab| receive_count(lab).boxed_local(),
    },
];

async fn queue(lab: &Lab, name: &str) -> Result<Queue, Trouble> {
    let queue = lab.queue(name, vec![(QueueAttributeName::VisibilityTimeout, TIMEOUT_SECONDS.to_string())]).await?;
    lab.send(&queue, "hello").await?;
    Ok(queue)
}

async fn expiry(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = queue(lab, "visibility-timeout").await?;
    lab.receive_one(&queue).await?;
    let received = Instant::now();
    lab.receive_one(&queue).await?;
    let after = received.elapsed();
    let seen = format!("with a timeout of {TIMEOUT_SECONDS} s the message came back after {}", seconds(after));
    Ok(Finding::judged(after >= Duration::from_millis(2_700), seen))
}

async fn change(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = queue(lab, "change-visibility").await?;
    let first = lab.receive_one(&queue).await?;
    lab.change_visibility(&queue, &first, 0).await?;
    let shown = Instant::now();
    let second = lab.receive_one(&queue).await?;
    let at_once = shown.elapsed() < Duration::from_millis(2_500);
    lab.change_visibility(&queue, &second, 6).await?;
    let hidden = Instant::now();
    lab.receive_one(&queue).await?;
    let after = hidden.elapsed();
    let first = if at_once { "0 showed it at once" } else { "0 did not show it at once" };
    Ok(Finding::judged(at_once && after >= Duration::from_millis(5_700), format!("{first}, 6 s hid it for {}", seconds(after))))
}

async fn limit(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = queue(lab, "visibility-limit").await?;
    let message = lab.receive_one(&queue).await?;
    match lab.change_visibility(&queue, &message, 43_201).await {
        Ok(()) => Ok(Finding::differs("43,201 s were taken")),
        Err(trouble) if trouble.is_refusal() => {
            Ok(Finding::as_aws(format!("43,201 s were refused with {}", trouble.code().unwrap_or("no code"))))
        }
        Err(trouble) => Err(trouble),
    }
}

async fn receive_count(lab: &Lab) -> Result<Finding, Trouble> {
    let queue = queue(lab, "receive-count").await?;
    let (mut counts, mut firsts) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let message = lab.receive_one(&queue).await?;
        let count = system_attribute(&message, &MessageSystemAttributeName::ApproximateReceiveCount);
        counts.push(part(count, "ReceiveMessage", "receive count")?);
        firsts.push(system_attribute(&message, &MessageSystemAttributeName::ApproximateFirstReceiveTimestamp));
        lab.change_visibility(&queue, &message, 0).await?;
    }
    let first_stays = firsts[0].is_some() && firsts.iter().all(|first| *first == firsts[0]);
    let time = if first_stays { "the time of the first receive stayed" } else { "the time of the first receive changed" };
    Ok(Finding::judged(counts == ["1", "2", "3"] && first_stays, format!("counted {}; {time}", counts.join(", "))))
}
