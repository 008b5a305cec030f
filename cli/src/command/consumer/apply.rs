//! Makes a change at consumers: looks, asks, changes, waits until it has taken effect.

use std::time::Duration;

use super::change::Change;
use super::control::Control;
use super::show::{self, Applied};
use crate::command::consent::Asker;
use crate::command::ending::Ending;
use crate::deployment::DeployedConsumer;
use crate::doctor::facts::{ConsumerFacts, MappingFacts};
use crate::operator::Interrupt;
use crate::screen::Screen;

/// How often a change is asked after.
const EVERY: Duration = Duration::from_secs(1);

/// Lambda changes a mapping within a minute or so; what takes this long will not come.
const LONGEST: Duration = Duration::from_secs(300);

/// A consumer with the mapping that is changed.
struct Found<'a> {
    consumer: &'a DeployedConsumer,
    facts: ConsumerFacts,
    mapping: MappingFacts,
}

/// Makes a change at each of the consumers.
pub(super) async fn apply(
    screen: &Screen,
    stack: &str,
    control: &impl Control,
    consumers: &[DeployedConsumer],
    change: Change,
    asker: &mut Asker,
    listen: impl FnOnce() -> Interrupt,
) -> Ending {
    let mut found = Vec::new();
    for consumer in consumers {
        match find(control, consumer).await {
            Ok(mapping) => found.push(mapping),
            Err(reason) => {
                screen.note(format!("error: {}: {reason}; nothing was changed", consumer.name));
                return Ending::Failed;
            }
        }
    }
    let open: Vec<&Found<'_>> = found.iter().filter(|found| !change.was_asked_for(&found.mapping)).collect();
    if !open.is_empty() {
        explain(screen, &open, change);
        let names: Vec<&str> = open.iter().map(|found| found.consumer.name.as_str()).collect();
        if let Err(ending) = asker.consent(screen, &format!("{} {}?", change.verb(), names.join(", "))).await {
            return ending;
        }
    }
    let (mut interrupt, mut applied) = (listen(), Vec::new());
    for found in &found {
        applied.push(make(screen, control, found, change, &mut interrupt).await);
    }
    show::applied(screen, stack, change, &applied);
    if applied.iter().all(|applied| applied.failure.is_none()) { Ending::Done } else { Ending::Failed }
}

async fn find<'a>(control: &impl Control, consumer: &'a DeployedConsumer) -> Result<Found<'a>, String> {
    let facts = control.look(consumer).await;
    let mapping = mapping(&facts)?;
    Ok(Found { consumer, facts, mapping })
}

/// The mapping from the consumer's own queue, or why there is none to be seen.
fn mapping(facts: &ConsumerFacts) -> Result<MappingFacts, String> {
    if let Some(gap) = facts.mappings.gap() {
        return Err(gap.to_string());
    }
    facts.mapping().cloned().ok_or_else(|| format!("no mapping from {} to {}", facts.queue_name, facts.function_name))
}

fn explain(screen: &Screen, open: &[&Found<'_>], change: Change) {
    for found in open {
        screen.note(format!("{} ({} ← {})", found.consumer.name, found.consumer.function, found.consumer.queue));
        for line in change.meaning(found.consumer, &found.facts, &found.mapping) {
            screen.note(format!("  - {line}"));
        }
    }
}

async fn make(screen: &Screen, control: &impl Control, found: &Found<'_>, change: Change, interrupt: &mut Interrupt) -> Applied {
    let name = found.consumer.name.clone();
    if change.is_done(&found.mapping) {
        return Applied { name, mapping: found.mapping.clone(), changed: false, failure: None };
    }
    let changed = !change.was_asked_for(&found.mapping);
    if changed && interrupt.is_wanted() {
        let failure = Some("interrupted; it was not touched".to_owned());
        return Applied { name, mapping: found.mapping.clone(), changed: false, failure };
    }
    if changed && let Err(reason) = control.begin(&found.mapping.uuid, change).await {
        return Applied { name, mapping: found.mapping.clone(), changed: false, failure: Some(reason) };
    }
    let (mapping, failure) = wait(screen, control, found, change, interrupt).await;
    Applied { name, mapping, changed, failure }
}

/// Waits until the change has taken effect. Returns how the mapping is then, or why nobody waits any longer.
async fn wait(
    screen: &Screen,
    control: &impl Control,
    found: &Found<'_>,
    change: Change,
    interrupt: &mut Interrupt,
) -> (MappingFacts, Option<String>) {
    let progress = screen.progress();
    let step = progress.begin(format!("{} {}", change.verb(), found.consumer.name));
    let mut last = found.mapping.clone();
    let waiting = async {
        loop {
            // A look that fails says nothing about the change.
            if let Ok(seen) = mapping(&control.look(found.consumer).await) {
                last = seen;
            }
            if change.is_done(&last) {
                return;
            }
            step.detail(&last.state);
            tokio::time::sleep(EVERY).await;
        }
    };
    let failure = tokio::select! {
        outcome = tokio::time::timeout(LONGEST, waiting) => outcome.is_err().then(|| "it has not taken effect yet".to_owned()),
        () = interrupt.wanted() => Some("interrupted; the change goes on".to_owned()),
    };
    match failure {
        None => {
            step.done();
            (last, None)
        }
        Some(reason) => (last, Some(format!("{reason}; `ikkai consumer list` shows how it goes"))),
    }
}

#[cfg(test)]
mod tests;
