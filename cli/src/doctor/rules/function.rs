//! Rules about a consumer's function.

use super::source::{LAMBDA_LOOPS, LAMBDA_RUNTIMES, LOG_GROUPS};
use crate::doctor::facts::{ConsumerFacts, Fact, Gap, Loops};
use crate::doctor::finding::{Judged, Rule};

/// What the functions are built for.
const RUNTIME: &str = "provided.al2023";

const WORKS: Rule = Rule { name: "function", why: "a function that is not active works on nothing", source: LAMBDA_RUNTIMES };

const LOOPS: Rule = Rule {
    name: "recursive-loop",
    why: "the consumer renews messages whose receives run low by sending a copy to its own queue; Lambda follows such chains and \
          moves a message away unseen after about 16 rounds",
    source: LAMBDA_LOOPS,
};

const LOGS: Rule =
    Rule { name: "log-retention", why: "a log group that Lambda makes by itself keeps its lines for ever", source: LOG_GROUPS };

const SETTINGS: Rule = Rule {
    name: "settings-agree",
    why: "the function counts receives, retention, time and concurrency with what it was told; where that is not so, messages \
          are lost to a limit that nobody expected",
    source: "docs/design.md",
};

/// It can be invoked, and is built for its runtime.
pub(super) fn works(consumer: &ConsumerFacts) -> Judged {
    let function = match &consumer.function {
        Fact::Unknown(Gap::Missing) => {
            return WORKS.error(
                &consumer.name,
                format!("there is no function {}", consumer.function_name),
                "deploy the stack again",
            );
        }
        fact => WORKS.known(&consumer.name, fact)?,
    };
    let found = [function.runtime.as_str(), function.state.as_str()].join(" ").trim().to_owned();
    match function.state.as_str() {
        "Failed" => WORKS.error(&consumer.name, found, "look at StateReason: `aws lambda get-function-configuration`"),
        "Inactive" | "Pending" => {
            WORKS.warning(&consumer.name, found, "it becomes active with its first invocation; run `ikkai doctor` again")
        }
        _ if function.runtime != RUNTIME => {
            WORKS.warning(&consumer.name, found, format!("the functions are built for {RUNTIME}"))
        }
        _ => WORKS.ok(&consumer.name, found),
    }
}

/// It may send to its own queue.
pub(super) fn loops(consumer: &ConsumerFacts) -> Judged {
    match LOOPS.known(&consumer.name, &consumer.loops)? {
        Loops::Allowed => LOOPS.ok(&consumer.name, "allowed"),
        Loops::Terminated => {
            let mend = format!(
                "`aws lambda put-function-recursion-config --function-name {} --recursive-loop Allow`",
                consumer.function_name
            );
            LOOPS.error(&consumer.name, "stopped by Lambda", mend)
        }
    }
}

/// Its log has an end.
pub(super) fn logs(consumer: &ConsumerFacts) -> Judged {
    let function = LOGS.known(&consumer.name, &consumer.function)?;
    let of_stack = LOGS.known(&consumer.name, &function.log_group_of_stack)?;
    if *of_stack {
        return LOGS.ok(&consumer.name, format!("{} is the stack's, with its retention", function.log_group));
    }
    let found = format!("{} is not one of the stack's", function.log_group);
    LOGS.warning(&consumer.name, found, "`aws logs put-retention-policy`, or let the function write to the stack's group")
}

/// What it was told about its queue is so.
pub(super) fn settings(consumer: &ConsumerFacts) -> Judged {
    let function = SETTINGS.known(&consumer.name, &consumer.function)?;
    let told = SETTINGS.known(&consumer.name, &function.settings)?;
    let queue = SETTINGS.known(&consumer.name, &consumer.queue)?;
    let receives = queue.redrive_policy.as_ref().map(|policy| policy.max_receive_count);
    let numbers = [
        ("IKKAI_MAX_RECEIVE_COUNT", told.max_receive_count, receives, "maxReceiveCount"),
        ("IKKAI_QUEUE_RETENTION_SECONDS", told.queue_retention_seconds, Some(queue.retention_seconds), "the queue's retention"),
        (
            "IKKAI_FUNCTION_TIMEOUT_SECONDS",
            told.function_timeout_seconds,
            Some(function.timeout_seconds),
            "the function's timeout",
        ),
    ];
    let mut wrong: Vec<String> = numbers.into_iter().filter_map(|(name, told, is, what)| differs(name, told, is, what)).collect();
    if told.queue_name.as_deref() != Some(consumer.queue_name.as_str()) {
        wrong.push(format!(
            "IKKAI_QUEUE_NAME is {}, the queue {}",
            told.queue_name.as_deref().unwrap_or("not set"),
            consumer.queue_name
        ));
    }
    let drift = differs(
        "IKKAI_MAX_CONCURRENCY",
        told.max_concurrency,
        consumer.mapping().and_then(|mapping| mapping.max_concurrency),
        "the mapping's maximum",
    );
    if !wrong.is_empty() {
        wrong.extend(drift);
        return SETTINGS.error(
            &consumer.name,
            wrong.join("; "),
            "deploy the stack again: the template sets both sides from one parameter",
        );
    }
    match drift {
        None => SETTINGS.ok(&consumer.name, "they do"),
        // What `consumer set-concurrency` leaves behind: only the provider's rate, which the function divides by it, is off.
        Some(drift) => {
            let mend =
                format!("`ikkai consumer set-concurrency {} N` back, or deploy the parameter …MaxConcurrency", consumer.name);
            SETTINGS.warning(&consumer.name, drift, mend)
        }
    }
}

fn differs(name: &str, told: Option<u64>, is: Option<u64>, what: &str) -> Option<String> {
    let told_as = told.map_or_else(|| "not set".to_owned(), |value| value.to_string());
    is.filter(|is| told != Some(*is)).map(|is| format!("{name} is {told_as}, {what} {is}"))
}
