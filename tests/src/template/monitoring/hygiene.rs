//! Alarms that are believed: they neither fire for one bad minute nor stay silent for want of data.

use std::collections::BTreeSet;

use super::alarm::{Alarm, alarms};
use crate::template::stack::{Resource, Stack};

/// The most alarms on one account's dashboard widget, and the longest description that CloudWatch takes.
const LONGEST_DESCRIPTION: usize = 1_024;

/// Each datapoint is about a minute.
const PERIOD_SECONDS: u64 = 60;

/// Of these one is enough: each is an event that somebody has to look at, and no other comes to confirm it.
const SINGLE_EVENTS: [&str; 5] = ["PoisonSeen", "JobsInDoubt", "RedriveQuarantined", "Duration", "Deploying"];

/// Calls of operators are so rare that a second one may never come.
const RARE_ERRORS: &str = "dlq-redrive-errors";

/// Every alarm looks at minutes, at several of them, and says what no data means; nothing is an average; each has a name of its own in the
/// stack's name; each tells those whom its severity says.
#[must_use]
pub fn alarms_are_kept_well(monitoring: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let mut names = BTreeSet::new();
    for alarm in alarms(monitoring) {
        let mut violation = |text: &str| violations.push(format!("{}: {text}", alarm.resource.name));
        if !alarm.periods_seconds.iter().all(|period| *period == Some(PERIOD_SECONDS)) {
            violation("does not look at minutes");
        }
        let minutes = alarm.resource.number("/EvaluationPeriods").unwrap_or_default();
        let bad_minutes = alarm.resource.number("/DatapointsToAlarm").unwrap_or_default();
        let least = if one_is_enough(&alarm) { 1 } else { 2 };
        if minutes < 3 || bad_minutes < least || bad_minutes > minutes {
            violation("fires for one minute, or never");
        }
        let silence = if is_heartbeat(&alarm) { "breaching" } else { "notBreaching" };
        if alarm.resource.at("/TreatMissingData") != silence {
            violation("takes silence for something else");
        }
        // The average hides the slow; of a share, it is computed from a sum and a number.
        if alarm.series.iter().any(|series| !["Sum", "Maximum", "SampleCount"].contains(&series.statistic.as_str())) {
            violation("looks at an average");
        }
        if !names.insert(alarm.name) || !alarm.name.starts_with("ikkai-") {
            violation("has no name of its own in the stack's");
        }
        if description(&alarm.resource).len() > LONGEST_DESCRIPTION {
            violation("says too much");
        }
    }
    violations.extend(alarms_tell_whom_they_should(monitoring));
    violations
}

/// Who is told: by severity, and pages also when they are over. Alarms under the composite alarm tell nobody by themselves, nor does the one
/// that only holds it back.
fn alarms_tell_whom_they_should(monitoring: &Stack) -> Vec<String> {
    let composite = monitoring.of_type("AWS::CloudWatch::CompositeAlarm").next();
    let under = |alarm: &Alarm<'_>| {
        composite.is_some_and(|composite| {
            let rule = composite.at("/AlarmRule")["Fn::Sub"].as_str().unwrap_or_default();
            rule.contains(&format!("${{{}}}", alarm.resource.name))
                || composite.at("/ActionsSuppressor")["Ref"] == alarm.resource.name
        })
    };
    let mut violations = Vec::new();
    for alarm in alarms(monitoring) {
        let (told, told_when_over) = (alarm.tells("/AlarmActions"), alarm.tells("/OKActions"));
        let text = description(&alarm.resource);
        let (expected, expected_when_over) = match (under(&alarm), text.contains(" · page · ")) {
            (true, _) => (None, None),
            (false, true) => (Some("Page"), Some("Page")),
            (false, false) => (Some("Ticket"), None),
        };
        let fits = |told: &[String], expected: Option<&str>| match (told, expected) {
            ([], None) => true,
            ([topic], Some(kind)) => *topic == format!("{kind}Topic") || topic.ends_with(&format!(":{}", kind.to_lowercase())),
            _ => false,
        };
        if !fits(&told, expected) || !fits(&told_when_over, expected_when_over) {
            violations.push(format!("{}: tells {told:?}, and {told_when_over:?} when it is over", alarm.resource.name));
        }
    }
    violations
}

fn description<'a>(resource: &Resource<'a>) -> &'a str {
    resource.at("/AlarmDescription").as_str().unwrap_or_default()
}

fn one_is_enough(alarm: &Alarm<'_>) -> bool {
    alarm.name.ends_with(RARE_ERRORS) || alarm.series.iter().all(|series| SINGLE_EVENTS.contains(&series.metric.as_str()))
}

fn is_heartbeat(alarm: &Alarm<'_>) -> bool {
    alarm.series.iter().any(|series| series.metric == "NumberOfMessagesSent")
}
