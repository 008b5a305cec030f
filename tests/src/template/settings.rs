//! The synthesized environments, read by the code that reads them when it is deployed.

use email_consumer::EmailSettings;
use ikkai::config::Reader;
use ikkai::consumer::ConsumerSettings;
use ikkai::observability::logs::LevelSetting;
use serde_json::Value;

use super::environment::beside_consumer;
use super::functions::binary;
use super::stack::{Stack, logical_id};

/// Read beside the settings.
const ELSEWHERE: [&str; 2] = ["IKKAI_EVENTS_QUEUE_NAME", "IKKAI_CALLBACKS"];

/// Every function starts with the environment that the template gives it: all settings are in their ranges and agree with each other, and no
/// variable goes unread.
#[must_use]
pub fn functions_start(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let name = function.name;
        let variables = function.at("/Environment/Variables").as_object().into_iter().flatten();
        let mut reader = Reader::from_pairs(variables.map(|(variable, value)| (variable.clone(), text(value))));
        LevelSetting::read(&mut reader);
        match binary(&function) {
            Some("producer-api") => drop(producer_api::Settings::read(&mut reader)),
            Some("email-consumer") => {
                ConsumerSettings::read(&mut reader);
                EmailSettings::read(&mut reader);
            }
            Some(other) => {
                if stack.consumers().iter().any(|consumer| consumer.function.name == name) {
                    ConsumerSettings::read(&mut reader);
                }
                beside_consumer(other).for_each(|variable| drop(reader.optional_text(variable)));
            }
            None => violations.push(format!("{name}: nobody knows which settings its code reads")),
        }
        ELSEWHERE.iter().for_each(|variable| drop(reader.optional_text(variable)));
        violations.extend(reader.unread("IKKAI_").into_iter().map(|variable| format!("{name}: {variable} is not read")));
        if let Err(error) = reader.finish(()) {
            violations.extend(error.problems().iter().map(|problem| format!("{name}: {} {}", problem.name, problem.message)));
        }
    }
    violations
}

/// A value as it arrives in the function; a reference to a resource arrives as some name, also inside a text.
pub(super) fn text(value: &Value) -> String {
    let text = value.as_str().or_else(|| value["Fn::Sub"].as_str()).or_else(|| logical_id(value));
    text.map_or_else(|| value.to_string(), str::to_owned)
}
