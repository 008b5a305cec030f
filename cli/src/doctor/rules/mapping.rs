//! Rules about what feeds a consumer.

use super::source::{LAMBDA_FILTERS, LAMBDA_SQS, LAMBDA_SQS_ERRORS, LAMBDA_SQS_SCALING};
use crate::doctor::facts::{ConsumerFacts, Gap, MappingFacts};
use crate::doctor::finding::{Finding, Judged, Rule};

/// Most messages that one call to SQS changes; the kit sets the visibility of a batch with one.
const BATCH: u64 = 10;

/// Lambda starts with so many pollers, whatever is reserved.
const POLLERS: u64 = 5;

const MAPPED: Rule =
    Rule { name: "mapping", why: "without a mapping nobody works on the queue; with two, nobody bounds it", source: LAMBDA_SQS };

const ENABLED: Rule = Rule {
    name: "mapping-enabled",
    why: "messages wait in the queue, and retention goes on removing them",
    source: "docs/runbook.md#stop-the-bleeding",
};

const REPORTS: Rule = Rule {
    name: "item-failures",
    why: "without it the function's list of failed messages is not read, and failed messages are deleted as if they were done",
    source: LAMBDA_SQS_ERRORS,
};

const CONCURRENCY: Rule = Rule {
    name: "maximum-concurrency",
    why: "without it Lambda grows the consumer until something throttles, and throttled messages use up receives without being \
          worked on",
    source: LAMBDA_SQS_SCALING,
};

const RESERVED: Rule = Rule {
    name: "reserved-concurrency",
    why: "a mapping that gets more messages than the function may take goes on receiving; messages that are throttled use up \
          their receives and are dead-lettered untried",
    source: LAMBDA_SQS_SCALING,
};

const BATCH_SIZE: Rule = Rule {
    name: "batch-size",
    why: "more than 10 messages need a batching window, and more than one call to SQS to be hidden in time",
    source: LAMBDA_SQS,
};

const FILTER: Rule = Rule {
    name: "no-filter",
    why: "a message that no filter lets through is deleted for good, without a trace",
    source: LAMBDA_FILTERS,
};

/// One mapping, from the consumer's queue.
pub(super) fn mapped(consumer: &ConsumerFacts) -> Judged {
    let mappings = MAPPED.known(&consumer.name, &consumer.mappings)?;
    let of_queue = |mapping: &&MappingFacts| mapping.source() == consumer.queue_name;
    match mappings.iter().filter(of_queue).count() {
        0 => MAPPED.error(&consumer.name, format!("none from {}", consumer.queue_name), "deploy the stack again"),
        1 if mappings.len() == 1 => MAPPED.ok(&consumer.name, format!("from {}", consumer.queue_name)),
        _ => {
            let found = format!("{} mappings feed {}", mappings.len(), consumer.function_name);
            MAPPED.error(
                &consumer.name,
                found,
                "remove those that are not the stack's: the consumer takes messages of its own queue only",
            )
        }
    }
}

/// It is not paused.
pub(super) fn enabled(consumer: &ConsumerFacts) -> Judged {
    let mapping = single(&ENABLED, consumer)?;
    if matches!(mapping.state.as_str(), "Enabled" | "Enabling" | "Updating" | "Creating") {
        return ENABLED.ok(&consumer.name, &mapping.state);
    }
    ENABLED.warning(&consumer.name, &mapping.state, format!("when the reason is gone: `ikkai consumer resume {}`", consumer.name))
}

/// Failed messages stay.
pub(super) fn item_failures(consumer: &ConsumerFacts) -> Judged {
    let mapping = single(&REPORTS, consumer)?;
    if mapping.reports_item_failures {
        return REPORTS.ok(&consumer.name, "reported");
    }
    let mend = format!(
        "pause the consumer now (`ikkai consumer pause {}`), give the mapping FunctionResponseTypes: [ReportBatchItemFailures], \
         then resume",
        consumer.name
    );
    REPORTS.error(&consumer.name, "not reported", mend)
}

/// The mapping bounds the consumer.
pub(super) fn concurrency(consumer: &ConsumerFacts) -> Judged {
    let mapping = single(&CONCURRENCY, consumer)?;
    match mapping.max_concurrency {
        Some(most) => CONCURRENCY.ok(&consumer.name, format!("{most} invocations at a time")),
        None if mapping.provisioned_pollers => CONCURRENCY.ok(&consumer.name, "bounded by its provisioned pollers"),
        None => {
            let mend =
                format!("`ikkai consumer set-concurrency {} N`, and the parameter …MaxConcurrency for good", consumer.name);
            CONCURRENCY.warning(&consumer.name, "not bounded", mend)
        }
    }
}

/// Reserved concurrency does not throttle the mapping.
pub(super) fn reserved(consumer: &ConsumerFacts) -> Judged {
    let reserved = RESERVED.known(&consumer.name, &consumer.reserved)?;
    let Some(reserved) = *reserved else {
        return RESERVED.ok(&consumer.name, "none: the mapping's maximum bounds the consumer");
    };
    if reserved == 0 {
        let mend = format!(
            "`ikkai consumer pause {}`, then `aws lambda delete-function-concurrency` on {}",
            consumer.name, consumer.function_name
        );
        return RESERVED.error(&consumer.name, "0: nothing runs, and messages go on using up receives", mend);
    }
    let mapping = single(&RESERVED, consumer)?;
    let more = format!("reserve more for {}, or let the mapping take less", consumer.function_name);
    match mapping.max_concurrency {
        Some(most) if most > reserved => {
            RESERVED.error(&consumer.name, format!("{reserved}, the mapping takes up to {most}"), more)
        }
        _ if reserved < POLLERS => {
            RESERVED.warning(&consumer.name, format!("{reserved}, fewer than the {POLLERS} that Lambda asks for"), more)
        }
        _ => RESERVED.ok(&consumer.name, reserved.to_string()),
    }
}

/// Batches that one call hides.
pub(super) fn batch_size(consumer: &ConsumerFacts) -> Judged {
    let mapping = single(&BATCH_SIZE, consumer)?;
    let found = format!("{} messages an invocation", mapping.batch_size);
    if mapping.batch_size <= BATCH {
        return BATCH_SIZE.ok(&consumer.name, found);
    }
    BATCH_SIZE.warning(&consumer.name, found, "at most 10: parameter …BatchSize")
}

/// Nothing is deleted unread.
pub(super) fn no_filter(consumer: &ConsumerFacts) -> Judged {
    let mapping = single(&FILTER, consumer)?;
    match mapping.filters {
        0 => FILTER.ok(&consumer.name, "none"),
        filters => FILTER.error(&consumer.name, format!("{filters} filters"), "take FilterCriteria off the mapping"),
    }
}

/// The mapping from the consumer's queue. That there is none, or another one beside it, is the rule [`mapped`]'s to say.
fn single<'a>(rule: &Rule, consumer: &'a ConsumerFacts) -> Result<&'a MappingFacts, Box<Finding>> {
    rule.known(&consumer.name, &consumer.mappings)?;
    consumer.mapping().ok_or_else(|| rule.unknown(&consumer.name, &Gap::Missing))
}
