//! The rules. Each is a pure function over what is known, and makes one finding.

mod dead_letters;
mod function;
mod mapping;
mod queue;
mod source;
mod stack;
mod tables;

#[cfg(test)]
mod tests;

use super::facts::{ConsumerFacts, Facts, TableFacts};
use super::finding::{Finding, Judged, Severity};
use crate::deployment::Place;

const OF_CONSUMERS: [fn(&ConsumerFacts) -> Judged; 26] = [
    function::works,
    function::settings,
    function::loops,
    function::logs,
    mapping::mapped,
    mapping::enabled,
    mapping::item_failures,
    mapping::no_filter,
    mapping::concurrency,
    mapping::reserved,
    mapping::batch_size,
    queue::exist,
    queue::timeout_fits,
    queue::visibility,
    queue::redrive_policy,
    queue::receives,
    queue::types,
    queue::encryption,
    queue::tls,
    dead_letters::stay,
    dead_letters::retention,
    dead_letters::allow_policy,
    dead_letters::message_size,
    dead_letters::alarm,
    dead_letters::empty,
    dead_letters::age,
];

const OF_TABLES: [fn(&TableFacts) -> Judged; 4] = [tables::exists, tables::time_to_live, tables::recovery, tables::protection];

const OF_STACKS: [fn(&Facts) -> Judged; 4] =
    [stack::redrive_function, stack::redrive_retries, stack::stuck_jobs, stack::permissions];

/// What the template asks for and the local engines do not do, or what local stacks leave out on purpose.
const LEFT_OUT_LOCALLY: [&str; 6] =
    ["time-to-live", "point-in-time-recovery", "deletion-protection", "recursive-loop", "dead-letter-alarm", "permissions"];

/// What all rules find: consumer by consumer, then the tables, then the stack.
#[must_use]
pub fn examine(facts: &Facts) -> Vec<Finding> {
    let of_consumers = facts.consumers.iter().flat_map(|consumer| OF_CONSUMERS.iter().map(move |rule| rule(consumer)));
    let of_tables = facts.tables.iter().flat_map(|table| OF_TABLES.iter().map(move |rule| rule(table)));
    let of_stack = OF_STACKS.iter().map(|rule| rule(facts));
    let findings = of_consumers.chain(of_tables).chain(of_stack).map(|judged| judged.unwrap_or_else(|unknown| *unknown));
    findings.map(|finding| excuse(facts.place, finding)).collect()
}

/// A local engine's gap is nobody's mistake.
fn excuse(place: Place, finding: Finding) -> Finding {
    let is_gap = place == Place::LocalEngine && finding.severity > Severity::Unknown && LEFT_OUT_LOCALLY.contains(&finding.rule);
    if !is_gap {
        return finding;
    }
    let found = format!("{}; local stacks leave this out, so it is to be looked at on AWS", finding.found);
    Finding { severity: Severity::Unknown, found, mend: None, ..finding }
}
