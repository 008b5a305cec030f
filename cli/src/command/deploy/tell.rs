//! What a deployment shows: what would change, and what happens.

use std::time::Instant;

use aws_sdk_cloudformation::types::{ResourceStatus, StackEvent};
use serde_json::{Value, json};

use super::Proposal;
use crate::deploying::changes;
use crate::screen::{Format, Screen, Tone, seconds};

/// What would change, for a person. Next to the result where that is a document.
pub(super) fn proposals(screen: &Screen, proposals: &[Proposal]) {
    for Proposal { stack, change_set } in proposals {
        let Some(set) = change_set else {
            note(screen, format!("{}: nothing changes", stack.name()));
            continue;
        };
        note(screen, format!("{}: {}", stack.name(), changes::summary(&set.changes)));
        if screen.format() == Format::Text {
            screen.table(&["", "resource", "kind", "what changes"], changes::rows(&set.changes));
        }
        for warning in set.changes.iter().filter_map(changes::Change::warning) {
            note(screen, screen.paint(Tone::Bad, format!("!!! {warning}")));
        }
    }
}

/// The same for programs.
pub(super) fn document(proposals: &[Proposal]) -> Value {
    let stack = |proposal: &Proposal| {
        let changes = proposal.change_set.as_ref().map(|set| set.changes.as_slice()).unwrap_or_default();
        json!({"stack": proposal.stack.name(), "changes": changes})
    };
    proposals.iter().map(stack).collect()
}

fn note(screen: &Screen, text: String) {
    match screen.format() {
        Format::Text => screen.line(text),
        Format::Json => screen.note(text),
    }
}

/// Tells what happens to resources while it happens.
pub(in super::super) struct Teller<'a> {
    screen: &'a Screen,
    stack: String,
    expected: usize,
    done: usize,
    began: Instant,
}

impl<'a> Teller<'a> {
    /// Of how many resources something is expected.
    pub(in super::super) fn new(screen: &'a Screen, stack: &str, expected: usize) -> Self {
        Self { screen, stack: stack.to_owned(), expected, done: 0, began: Instant::now() }
    }

    /// Tells an event: what is done and what has failed. That something begins is no news.
    pub(in super::super) fn event(&mut self, event: &StackEvent) {
        let status = event.resource_status().map(ResourceStatus::as_str).unwrap_or_default();
        let (name, kind) = (event.logical_resource_id().unwrap_or("?"), event.resource_type().unwrap_or("?"));
        let is_stack = name == self.stack;
        let time = seconds(self.began.elapsed());
        if status.ends_with("_FAILED") || (is_stack && status.contains("ROLLBACK")) {
            let reason = event.resource_status_reason().unwrap_or("no reason given");
            let line = format!("{time:>6}  {status}  {name} ({kind}): {reason}");
            self.screen.note(self.screen.paint(Tone::Bad, line));
        } else if status.ends_with("_COMPLETE") && !is_stack {
            self.done += 1;
            let kind = kind.strip_prefix("AWS::").unwrap_or(kind);
            self.screen.note(format!("{time:>6}  {:>3}/{}  {status}  {name} ({kind})", self.done, self.expected.max(self.done)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_counted_and_what_fails_is_told_with_its_reason() {
        let (screen, memory) = Screen::remembering(Format::Text);
        let mut teller = Teller::new(&screen, "ikkai", 2);
        let event = |name: &str, status, reason: Option<&str>| {
            let event = StackEvent::builder().logical_resource_id(name).resource_type("AWS::SQS::Queue").resource_status(status);
            event.set_resource_status_reason(reason.map(str::to_owned)).build()
        };
        teller.event(&event("EmailQueue", ResourceStatus::CreateInProgress, None));
        teller.event(&event("EmailQueue", ResourceStatus::CreateComplete, None));
        teller.event(&event("ImageQueue", ResourceStatus::CreateFailed, Some("it exists")));
        teller.event(&event("ikkai", ResourceStatus::CreateComplete, None));
        let said: Vec<String> =
            memory.notes().lines().map(|line| line.split("s  ").last().unwrap_or_default().trim().to_owned()).collect();
        assert_eq!(
            said,
            ["1/2  CREATE_COMPLETE  EmailQueue (SQS::Queue)", "CREATE_FAILED  ImageQueue (AWS::SQS::Queue): it exists"]
        );
    }
}
