//! The synthesized environments, read by the code that reads them when it is deployed.

use billing_consumer::BillingSettings;
use email_consumer::EmailSettings;
use ikkai::config::Reader;
use ikkai::consumer::ConsumerSettings;
use ikkai::observability::logs::LevelSetting;
use image_consumer::ImageSettings;
use report_consumer::ReportSettings;
use serde_json::Value;
use webhook_consumer::WebhookSettings;

use super::functions::binary;
use crate::template::stack::{Stack, logical_id};

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
        let of_consumer = |reader: &mut Reader| drop(ConsumerSettings::read(reader));
        match binary(&function) {
            Some("producer-api") => drop(producer_api::Settings::read(&mut reader)),
            Some("dlq-redrive") => drop(dlq_redrive::Settings::read(&mut reader)),
            Some("ses-feedback") => drop(ses_feedback::Settings::read(&mut reader)),
            Some("email-consumer") => {
                of_consumer(&mut reader);
                EmailSettings::read(&mut reader);
            }
            Some("image-consumer") => {
                of_consumer(&mut reader);
                ImageSettings::read(&mut reader);
            }
            Some("billing-consumer") => {
                of_consumer(&mut reader);
                BillingSettings::read(&mut reader);
            }
            Some("report-consumer") => {
                of_consumer(&mut reader);
                ReportSettings::read(&mut reader);
            }
            Some("webhook-consumer") => {
                of_consumer(&mut reader);
                WebhookSettings::read(&mut reader);
            }
            // ikkai new consumer: settings
            _ => violations.push(format!("{name}: nobody knows which settings its code reads")),
        }
        violations.extend(reader.unread("IKKAI_").into_iter().map(|variable| format!("{name}: {variable} is not read")));
        if let Err(error) = reader.finish(()) {
            violations.extend(error.problems().iter().map(|problem| format!("{name}: {} {}", problem.name, problem.message)));
        }
    }
    violations
}

/// A value as it arrives in the function; a reference to a resource arrives as some name, also inside a text.
pub(super) fn text(value: &Value) -> String {
    if let Some(text) = value["Fn::Sub"].as_str() {
        let mut parts = text.split("${");
        let start = parts.next().unwrap_or_default().to_owned();
        let named = |part: &str| match part.split_once('}') {
            Some((reference, rest)) => format!("{}{rest}", reference.split('.').next().unwrap_or_default()),
            None => part.to_owned(),
        };
        return start + &parts.map(named).collect::<String>();
    }
    value.as_str().or_else(|| logical_id(value)).map_or_else(|| value.to_string(), str::to_owned)
}
