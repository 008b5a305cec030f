//! What an alarm says to somebody who was just woken.

use std::collections::BTreeSet;

use super::alarm::alarms;
use crate::template::stack::{Resource, Stack};

/// What stands between the parts of a description.
const BETWEEN: &str = " · ";

/// Every alarm says in a sentence what it means, whose it is, how urgent it is, and at which place of the runbook to go on.
#[must_use]
pub fn alarms_are_explained(monitoring: &Stack, runbook: &str) -> Vec<String> {
    let anchors = anchors(runbook);
    let mut violations = Vec::new();
    for resource in called(monitoring) {
        let text = description(&resource);
        match Said::read(text) {
            None => violations.push(format!("{}: {text:?} does not say all", resource.name)),
            Some(said) if !anchors.contains(&said.anchor) => {
                violations.push(format!("{}: the runbook has no #{}", resource.name, said.anchor));
            }
            Some(said) if !said.is_urgent_enough() => {
                violations.push(format!("{}: a {} within {} minutes", resource.name, said.severity, said.minutes));
            }
            Some(_) => {}
        }
    }
    violations
}

/// Every alarm has a row in the page's table, with the same severity, minutes and place of the runbook.
#[must_use]
pub fn alarms_are_listed(application: &Stack, monitoring: &Stack, page: &str) -> Vec<String> {
    let mut violations = Vec::new();
    for resource in called(monitoring) {
        let Some(said) = Said::read(description(&resource)) else { continue };
        let name = resource.at("/AlarmName").as_str().unwrap_or_default().replacen("ikkai-", "<stack>-", 1);
        let end = format!("| {} | {} | [", said.severity, said.minutes);
        let place = format!("(runbook.md#{})", said.anchor);
        let mut rows =
            page.lines().filter(|line| names(application, &name).iter().any(|name| line.starts_with(&format!("| `{name}` |"))));
        if !rows.any(|row| row.contains(&end) && row.contains(&place)) {
            violations.push(format!("{name}: has no row that says {end}…{place}"));
        }
    }
    violations
}

/// The anchors of a Markdown page, as GitHub and most others make them.
#[must_use]
pub fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()));
    headings
        .map(|heading| {
            let kept = heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
            kept.replace(' ', "-")
        })
        .collect()
}

/// An alarm's name as it may stand in the table: its own, or that of all queues, functions or tables.
fn names(application: &Stack, name: &str) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    let of = |kind: &'static str, property: &'static str, word: &'static str| {
        let known = application.of_type(kind).filter_map(move |resource| resource.at(property).as_str());
        let known = known.map(|known| known.replacen("ikkai-", "<stack>-", 1));
        known.filter_map(move |known| {
            let known = known.trim_end_matches(".fifo").trim_end_matches("-dlq").to_owned();
            name.strip_prefix(&format!("{known}-")).map(|rest| format!("<stack>-{word}-{rest}"))
        })
    };
    names.extend(of("AWS::SQS::Queue", "/QueueName", "<queue>"));
    names.extend(of("AWS::Lambda::Function", "/FunctionName", "<function>"));
    names.extend(of("AWS::DynamoDB::Table", "/TableName", "<table>"));
    names
}

struct Said {
    severity: String,
    minutes: u64,
    anchor: String,
}

impl Said {
    fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(BETWEEN).collect();
        let [meaning, owner, severity, time, runbook] = parts[..] else { return None };
        let is_sentence = meaning.ends_with('.') && meaning.starts_with(char::is_uppercase);
        let has_owner = owner.strip_prefix("Owner: ").is_some_and(|owner| !owner.is_empty());
        let minutes = time.strip_prefix("look within ")?.strip_suffix(" minutes")?.parse().ok()?;
        let (_, anchor) = runbook.split_once('#')?;
        let said = Self { severity: severity.to_owned(), minutes, anchor: anchor.to_owned() };
        (is_sentence && has_owner && ["page", "ticket"].contains(&severity)).then_some(said)
    }

    /// A page is looked at within the hour, a ticket within a working day.
    fn is_urgent_enough(&self) -> bool {
        match self.severity.as_str() {
            "page" => (1..=60).contains(&self.minutes),
            _ => (60..=480).contains(&self.minutes),
        }
    }
}

/// The alarms that call somebody: all but the one that only holds others back.
fn called(monitoring: &Stack) -> Vec<Resource<'_>> {
    let held_back_by = |name: &str| {
        monitoring.of_type("AWS::CloudWatch::CompositeAlarm").any(|alarm| alarm.at("/ActionsSuppressor")["Ref"] == name)
    };
    let simple = alarms(monitoring).into_iter().map(|alarm| alarm.resource);
    simple.filter(|alarm| !held_back_by(alarm.name)).chain(monitoring.of_type("AWS::CloudWatch::CompositeAlarm")).collect()
}

fn description<'a>(resource: &Resource<'a>) -> &'a str {
    resource.at("/AlarmDescription").as_str().unwrap_or_default()
}
