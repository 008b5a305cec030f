//! Rules about a consumer's dead-letter queue.

use super::source::{SET_QUEUE_ATTRIBUTES, SQS_DEAD_LETTERS, SQS_METRICS, SQS_RETENTION};
use crate::doctor::facts::{AllowPolicy, ConsumerFacts};
use crate::doctor::finding::{Judged, Rule};
use crate::doctor::time::time;

/// SQS keeps no message longer, in seconds.
const LONGEST_RETENTION: u64 = 14 * 86_400;

const FINAL: Rule = Rule {
    name: "dead-letters-stay",
    why: "a look at a dead-letter queue is a receive; with a redrive policy of its own, looking would move its messages away",
    source: SQS_DEAD_LETTERS,
};

const RETENTION: Rule = Rule {
    name: "dead-letter-retention",
    why: "on a standard queue the clock of a message goes on from its first send when it is moved: a dead-letter queue that \
          keeps messages no longer than its source may remove one at once",
    source: SQS_RETENTION,
};

const ALLOW: Rule = Rule {
    name: "redrive-allow-policy",
    why: "without it any queue of the account may dead-letter into this one, and what it sends has another origin to go back to",
    source: SET_QUEUE_ATTRIBUTES,
};

const SIZE: Rule = Rule {
    name: "message-size",
    why: "a message that its dead-letter queue does not carry cannot be moved there",
    source: SET_QUEUE_ATTRIBUTES,
};

const ALARM: Rule = Rule {
    name: "dead-letter-alarm",
    why: "nobody looks into a dead-letter queue by chance. The alarm belongs on ApproximateNumberOfMessagesVisible: \
          NumberOfMessagesSent does not count what SQS moves",
    source: SQS_METRICS,
};

const EMPTY: Rule =
    Rule { name: "dead-letters", why: "each of them is a job that somebody waits for", source: "docs/runbook.md" };

const AGE: Rule = Rule { name: "dead-letter-age", why: "retention removes messages unseen and for good", source: SQS_RETENTION };

/// The dead-letter queue is the last stop.
pub(super) fn stay(consumer: &ConsumerFacts) -> Judged {
    let queue = FINAL.known(&consumer.name, &consumer.dead_letter_queue)?;
    match &queue.redrive_policy {
        None => FINAL.ok(&consumer.name, "it has no redrive policy"),
        Some(policy) => {
            let found = format!("it moves messages on after {} receives", policy.max_receive_count);
            FINAL.error(&consumer.name, found, format!("take the redrive policy off {}", consumer.dead_letter_queue_name))
        }
    }
}

/// It keeps messages longer than its source.
pub(super) fn retention(consumer: &ConsumerFacts) -> Judged {
    let queue = RETENTION.known(&consumer.name, &consumer.queue)?;
    let dead_letters = RETENTION.known(&consumer.name, &consumer.dead_letter_queue)?;
    let found = format!("{}, its source {}", time(dead_letters.retention_seconds), time(queue.retention_seconds));
    let mend = format!(
        "make the retention of {} 14 days, and its source's less: parameter QueueRetentionDays",
        consumer.dead_letter_queue_name
    );
    if dead_letters.retention_seconds <= queue.retention_seconds {
        return RETENTION.error(&consumer.name, found, mend);
    }
    if dead_letters.retention_seconds < LONGEST_RETENTION {
        return RETENTION.warning(&consumer.name, found, mend);
    }
    RETENTION.ok(&consumer.name, found)
}

/// Only its source dead-letters into it.
pub(super) fn allow_policy(consumer: &ConsumerFacts) -> Judged {
    let queue = ALLOW.known(&consumer.name, &consumer.queue)?;
    let dead_letters = ALLOW.known(&consumer.name, &consumer.dead_letter_queue)?;
    let mend = format!("let {} take messages of {} alone (byQueue)", consumer.dead_letter_queue_name, consumer.queue_name);
    match &dead_letters.allow_policy {
        AllowPolicy::All => ALLOW.warning(&consumer.name, "every queue may dead-letter here", mend),
        AllowPolicy::None => ALLOW.error(&consumer.name, "no queue may dead-letter here", mend),
        AllowPolicy::Queues(arns) if !arns.contains(&queue.arn) => {
            ALLOW.error(&consumer.name, "its own source is not among the queues", mend)
        }
        AllowPolicy::Queues(arns) if arns.len() > 1 => {
            ALLOW.warning(&consumer.name, format!("{} queues may dead-letter here", arns.len()), mend)
        }
        AllowPolicy::Queues(_) => ALLOW.ok(&consumer.name, "its source alone"),
    }
}

/// It carries what its source carries.
pub(super) fn message_size(consumer: &ConsumerFacts) -> Judged {
    let queue = SIZE.known(&consumer.name, &consumer.queue)?;
    let dead_letters = SIZE.known(&consumer.name, &consumer.dead_letter_queue)?;
    let found = format!("{} bytes, its source {} bytes", dead_letters.max_message_bytes, queue.max_message_bytes);
    let mend = "give both the same MaximumMessageSize: parameter MaxMessageBytes";
    if dead_letters.max_message_bytes < queue.max_message_bytes {
        return SIZE.error(&consumer.name, found, mend);
    }
    if dead_letters.max_message_bytes != queue.max_message_bytes {
        return SIZE.warning(&consumer.name, found, mend);
    }
    SIZE.ok(&consumer.name, found)
}

/// Somebody is told.
pub(super) fn alarm(consumer: &ConsumerFacts) -> Judged {
    let alarms = ALARM.known(&consumer.name, &consumer.alarms)?;
    if alarms.is_empty() {
        let mend = format!(
            "make an alarm on ApproximateNumberOfMessagesVisible of {} above 0, missing data not breaching",
            consumer.dead_letter_queue_name
        );
        return ALARM.warning(&consumer.name, "none", mend);
    }
    ALARM.ok(&consumer.name, alarms.join(", "))
}

/// Nothing waits for somebody.
pub(super) fn empty(consumer: &ConsumerFacts) -> Judged {
    let queue = EMPTY.known(&consumer.name, &consumer.dead_letter_queue)?;
    match queue.visible {
        0 => EMPTY.ok(&consumer.name, "empty"),
        messages => EMPTY.warning(
            &consumer.name,
            format!("about {messages} messages"),
            format!("look: `ikkai dlq list {}`", consumer.name),
        ),
    }
}

/// Nothing is about to expire.
pub(super) fn age(consumer: &ConsumerFacts) -> Judged {
    let queue = AGE.known(&consumer.name, &consumer.dead_letter_queue)?;
    let oldest = AGE.known(&consumer.name, &consumer.oldest_dead_letter_seconds)?;
    let Some(oldest) = *oldest else {
        return AGE.ok(&consumer.name, "empty");
    };
    let found =
        format!("the oldest that was looked at is {} old, of {} that it is kept", time(oldest), time(queue.retention_seconds));
    let mend = format!("put back or discard what is in {}: `ikkai dlq list {}`", consumer.dead_letter_queue_name, consumer.name);
    match oldest.saturating_mul(100) / queue.retention_seconds.max(1) {
        80.. => AGE.error(&consumer.name, found, mend),
        50..80 => AGE.warning(&consumer.name, found, mend),
        _ => AGE.ok(&consumer.name, found),
    }
}
