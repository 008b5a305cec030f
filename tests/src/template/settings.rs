//! The synthesized environments, read by the code that reads them when it is deployed.

use ikkai::config::Reader;
use ikkai::consumer::ConsumerSettings;
use serde_json::Value;

use super::environment;
use super::stack::{Stack, logical_id};

/// Every consumer starts with the environment that the template gives it: all settings are in their ranges and agree with each other, and no
/// variable goes unread.
#[must_use]
pub fn consumers_start(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for consumer in stack.consumers() {
        let name = consumer.function.name;
        let variables = consumer.function.at("/Environment/Variables").as_object().into_iter().flatten();
        let mut reader = Reader::from_pairs(variables.map(|(variable, value)| (variable.clone(), text(value))));
        let settings = ConsumerSettings::read(&mut reader);
        let unread = reader.unread("IKKAI_").into_iter().filter(|variable| !environment::is_read_elsewhere(variable));
        violations.extend(unread.map(|variable| format!("{name}: {variable} is not read")));
        if let Err(error) = reader.finish(settings) {
            violations.extend(error.problems().iter().map(|problem| format!("{name}: {} {}", problem.name, problem.message)));
        }
    }
    violations
}

/// A value as it arrives in the function; a reference to a resource arrives as some name.
fn text(value: &Value) -> String {
    value.as_str().or_else(|| logical_id(value)).map_or_else(|| value.to_string(), str::to_owned)
}
