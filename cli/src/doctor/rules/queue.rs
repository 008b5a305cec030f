//! Rules about a consumer's queue.

use super::source::{LAMBDA_SQS, SET_QUEUE_ATTRIBUTES, SQS_DEAD_LETTERS, SQS_ENCRYPTION, SQS_TLS};
use crate::doctor::facts::{ConsumerFacts, Encryption, Fact, Gap, QueueFacts};
use crate::doctor::finding::{Finding, Judged, Rule, Severity};

/// Lambda asks for a visibility timeout of so many function timeouts, and the batching window.
const TIMES: u64 = 6;

const EXISTS: Rule = Rule {
    name: "queues-exist",
    why: "without its queues a consumer has nothing to work on, and nothing keeps what fails",
    source: "infra/template.yaml",
};

const FITS: Rule = Rule {
    name: "function-timeout-fits",
    why: "a message that becomes visible while its function runs is worked on twice at a time; Lambda refuses such a mapping \
          when it is made, and does not look again when the queue is changed",
    source: LAMBDA_SQS,
};

const VISIBILITY: Rule = Rule {
    name: "visibility-timeout",
    why: "a batch that is throttled is tried again for as long as its messages are hidden; less than six times the function \
          timeout and the batching window leaves no time for that, and every try uses up a receive",
    source: LAMBDA_SQS,
};

const REDRIVE_POLICY: Rule = Rule {
    name: "redrive-policy",
    why: "without it a message that always fails comes out for ever, until retention removes it unseen",
    source: SQS_DEAD_LETTERS,
};

const RECEIVES: Rule = Rule {
    name: "receive-count",
    why: "throttling and waiting use up receives and no attempts: with fewer than 5 receives, or than the attempts and 2, a \
          message is dead-lettered before its job was tried as often as it may be",
    source: LAMBDA_SQS,
};

const ENCRYPTION: Rule = Rule { name: "encryption", why: "messages lie in the queue in the clear", source: SQS_ENCRYPTION };

const TLS: Rule = Rule {
    name: "tls-only",
    why: "without a refusal in the queue's policy a client may send and receive in the clear",
    source: SQS_TLS,
};

const TYPES: Rule = Rule {
    name: "queue-types",
    why: "a dead-letter queue has to be of its queue's type, or SQS cannot move messages into it",
    source: SET_QUEUE_ATTRIBUTES,
};

/// Both queues are there.
pub(super) fn exist(consumer: &ConsumerFacts) -> Judged {
    let queues = [(&consumer.queue_name, &consumer.queue), (&consumer.dead_letter_queue_name, &consumer.dead_letter_queue)];
    for (name, queue) in queues {
        match queue {
            Fact::Known(_) => {}
            Fact::Unknown(Gap::Missing) => {
                let found = if name.is_empty() {
                    "the stack's outputs name no such queue".to_owned()
                } else {
                    format!("there is no queue {name}")
                };
                return EXISTS.error(&consumer.name, found, "deploy the stack again; messages of a deleted queue are gone");
            }
            Fact::Unknown(gap) => return Err(EXISTS.unknown(&consumer.name, gap)),
        }
    }
    EXISTS.ok(&consumer.name, format!("{}, {}", consumer.queue_name, consumer.dead_letter_queue_name))
}

/// The function ends before its messages become visible again.
pub(super) fn timeout_fits(consumer: &ConsumerFacts) -> Judged {
    let queue = FITS.known(&consumer.name, &consumer.queue)?;
    let function = FITS.known(&consumer.name, &consumer.function)?;
    let found = format!("function timeout {} s, visibility timeout {} s", function.timeout_seconds, queue.visibility_seconds);
    if function.timeout_seconds <= queue.visibility_seconds {
        return FITS.ok(&consumer.name, found);
    }
    FITS.error(&consumer.name, found, "deploy the stack again: the template derives the visibility timeout from the function's")
}

/// Room for the tries of a throttled batch.
pub(super) fn visibility(consumer: &ConsumerFacts) -> Judged {
    let queue = VISIBILITY.known(&consumer.name, &consumer.queue)?;
    let function = VISIBILITY.known(&consumer.name, &consumer.function)?;
    let mappings = VISIBILITY.known(&consumer.name, &consumer.mappings)?;
    let window = mappings.iter().map(|mapping| mapping.window_seconds).max().unwrap_or(0);
    let needed = TIMES * function.timeout_seconds + window;
    let found = format!("{} s; 6 × {} s + {window} s window = {needed} s", queue.visibility_seconds, function.timeout_seconds);
    if queue.visibility_seconds >= needed {
        return VISIBILITY.ok(&consumer.name, found);
    }
    let mend = format!(
        "make the visibility timeout of {} at least {needed} s; the template derives it from the function timeout",
        consumer.queue_name
    );
    VISIBILITY.error(&consumer.name, found, mend)
}

/// What is received too often goes to the dead-letter queue of this stack, which exists.
pub(super) fn redrive_policy(consumer: &ConsumerFacts) -> Judged {
    let queue = REDRIVE_POLICY.known(&consumer.name, &consumer.queue)?;
    let Some(policy) = &queue.redrive_policy else {
        let mend =
            format!("give {} a redrive policy with {} as its target", consumer.queue_name, consumer.dead_letter_queue_name);
        return REDRIVE_POLICY.error(&consumer.name, "none", mend);
    };
    let found = format!("to {}", policy.target());
    if policy.target() != consumer.dead_letter_queue_name {
        let mend = format!(
            "make {} the target, as the template does; the operators' commands look there",
            consumer.dead_letter_queue_name
        );
        return REDRIVE_POLICY.error(&consumer.name, found, mend);
    }
    if matches!(consumer.dead_letter_queue, Fact::Unknown(Gap::Missing)) {
        return REDRIVE_POLICY.error(&consumer.name, format!("{found}, which does not exist"), "deploy the stack again");
    }
    REDRIVE_POLICY.ok(&consumer.name, found)
}

/// Enough receives for all attempts.
pub(super) fn receives(consumer: &ConsumerFacts) -> Judged {
    let queue = RECEIVES.known(&consumer.name, &consumer.queue)?;
    let function = RECEIVES.known(&consumer.name, &consumer.function)?;
    let settings = RECEIVES.known(&consumer.name, &function.settings)?;
    let Some(policy) = &queue.redrive_policy else {
        return Err(RECEIVES.unknown(&consumer.name, &Gap::Missing));
    };
    // What the function takes where nothing is set.
    let attempts = settings.max_attempts.unwrap_or(3);
    let needed = (attempts + 2).max(5);
    let found = format!("{} receives, {attempts} attempts", policy.max_receive_count);
    if policy.max_receive_count >= needed {
        return RECEIVES.ok(&consumer.name, found);
    }
    RECEIVES.error(&consumer.name, found, format!("make maxReceiveCount at least {needed}: parameter …MaxReceiveCount"))
}

/// Both queues are encrypted.
pub(super) fn encryption(consumer: &ConsumerFacts) -> Judged {
    let bare = |queue: &QueueFacts| queue.encryption == Encryption::Nothing;
    let mend = |names: &str| format!("set SqsManagedSseEnabled on {names}");
    both(&ENCRYPTION, consumer, Severity::Error, bare, "encrypted", "not encrypted", mend)
}

/// Both queues refuse requests without TLS.
pub(super) fn tls(consumer: &ConsumerFacts) -> Judged {
    let open = |queue: &QueueFacts| !queue.tls_only;
    let mend = |names: &str| format!("deny requests without aws:SecureTransport in the policy of {names}, as the template does");
    both(&TLS, consumer, Severity::Warning, open, "requests without TLS are refused", "requests without TLS are let in", mend)
}

/// Both are standard or both are FIFO.
pub(super) fn types(consumer: &ConsumerFacts) -> Judged {
    let queue = TYPES.known(&consumer.name, &consumer.queue)?;
    let dead_letters = TYPES.known(&consumer.name, &consumer.dead_letter_queue)?;
    let word = |fifo| if fifo { "FIFO" } else { "standard" };
    if queue.fifo == dead_letters.fifo {
        return TYPES.ok(&consumer.name, format!("both {}", word(queue.fifo)));
    }
    let found = format!("the queue is {}, its dead-letter queue {}", word(queue.fifo), word(dead_letters.fifo));
    TYPES.error(&consumer.name, found, "make a dead-letter queue of the same type and name it in the redrive policy")
}

/// A rule that holds at both queues or does not.
fn both(
    rule: &Rule,
    consumer: &ConsumerFacts,
    severity: Severity,
    broken: impl Fn(&QueueFacts) -> bool,
    good: &str,
    bad: &str,
    mend: impl Fn(&str) -> String,
) -> Judged {
    let queue = rule.known(&consumer.name, &consumer.queue)?;
    let dead_letters = rule.known(&consumer.name, &consumer.dead_letter_queue)?;
    let queues = [(&consumer.queue_name, queue), (&consumer.dead_letter_queue_name, dead_letters)];
    let names: Vec<&str> = queues.iter().filter(|(_, queue)| broken(queue)).map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return rule.ok(&consumer.name, good);
    }
    let names = names.join(" and ");
    let finding: Finding = rule.error(&consumer.name, format!("{names}: {bad}"), mend(&names))?;
    Ok(Finding { severity, ..finding })
}
