//! How consumers are shown.

use serde_json::{Value, json};

use super::change::Change;
use crate::doctor::facts::{ConsumerFacts, Fact, Gap, MappingFacts};
use crate::screen::{Format, Screen, Tone};

/// Stands for what is not known.
const NOT_KNOWN: &str = "–";

/// What came of a change at one consumer.
#[derive(Debug, Clone)]
pub(super) struct Applied {
    /// The consumer.
    pub(super) name: String,
    /// Its mapping, as it was seen last.
    pub(super) mapping: MappingFacts,
    /// Whether this command changed it.
    pub(super) changed: bool,
    /// Why it did not get there.
    pub(super) failure: Option<String>,
}

/// The list of consumers. `site` names the stack as options, for a command that goes on.
pub(super) fn list(screen: &Screen, stack: &str, site: &str, consumers: &[ConsumerFacts]) {
    if screen.format() == Format::Json {
        let consumers: Vec<Value> = consumers.iter().map(document).collect();
        return screen.json(&json!({ "stack": stack, "consumers": consumers }));
    }
    let header = ["consumer", "at most", "reserved", "batch", "waiting", "in flight", "dead letters", "state"];
    screen.table(&header, consumers.iter().map(|consumer| row(screen, consumer)));
    for consumer in consumers {
        gaps(consumer).into_iter().for_each(|gap| screen.note(format!("{}: {gap}", consumer.name)));
        if consumer.reserved == Fact::Known(Some(0)) {
            screen.note(format!(
                "{}: a reserved concurrency of 0 is no pause: messages go on using up their receives; `ikkai consumer pause {}{site}`",
                consumer.name, consumer.name
            ));
        }
    }
}

fn row(screen: &Screen, consumer: &ConsumerFacts) -> Vec<String> {
    let (mapping, queue, dead_letters) = (consumer.mapping(), consumer.queue.known(), consumer.dead_letter_queue.known());
    let text = |number: Option<u64>| number.map_or_else(|| NOT_KNOWN.to_owned(), |number| number.to_string());
    let reserved = consumer
        .reserved
        .known()
        .map_or(NOT_KNOWN.to_owned(), |reserved| reserved.map_or("no".to_owned(), |most| most.to_string()));
    let most = mapping
        .map_or(NOT_KNOWN.to_owned(), |mapping| mapping.max_concurrency.map_or("unbounded".to_owned(), |most| most.to_string()));
    let state = mapping.map_or(NOT_KNOWN, |mapping| mapping.state.as_str());
    vec![
        consumer.name.clone(),
        most,
        reserved,
        text(mapping.map(|mapping| mapping.batch_size)),
        text(queue.map(|queue| queue.visible)),
        text(queue.map(|queue| queue.in_flight)),
        text(dead_letters.map(|queue| queue.visible)),
        screen.paint(tone(state), state),
    ]
}

fn document(consumer: &ConsumerFacts) -> Value {
    let (mapping, queue, dead_letters) = (consumer.mapping(), consumer.queue.known(), consumer.dead_letter_queue.known());
    json!({
        "name": consumer.name,
        "function": consumer.function_name,
        "queue": consumer.queue_name,
        "deadLetterQueue": consumer.dead_letter_queue_name,
        "mapping": mapping.map(|mapping| mapping.uuid.as_str()),
        "state": mapping.map(|mapping| mapping.state.as_str()),
        "maximumConcurrency": mapping.and_then(|mapping| mapping.max_concurrency),
        "reservedConcurrency": consumer.reserved.known().copied().flatten(),
        "batchSize": mapping.map(|mapping| mapping.batch_size),
        "waiting": queue.map(|queue| queue.visible),
        "inFlight": queue.map(|queue| queue.in_flight),
        "deadLetters": dead_letters.map(|queue| queue.visible),
        "notKnown": gaps(consumer).iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// Why something is not known.
fn gaps(consumer: &ConsumerFacts) -> Vec<&Gap> {
    let all = [consumer.mappings.gap(), consumer.reserved.gap(), consumer.queue.gap(), consumer.dead_letter_queue.gap()];
    let mut gaps: Vec<&Gap> = Vec::new();
    for gap in all.into_iter().flatten() {
        if !gaps.contains(&gap) {
            gaps.push(gap);
        }
    }
    gaps
}

fn tone(state: &str) -> Tone {
    match state {
        "Enabled" => Tone::Good,
        "Disabled" => Tone::Bad,
        _ => Tone::Open,
    }
}

/// What came of a change.
pub(super) fn applied(screen: &Screen, stack: &str, change: Change, all: &[Applied]) {
    if screen.format() == Format::Json {
        let consumers: Vec<Value> = all.iter().map(applied_document).collect();
        return screen.json(&json!({ "stack": stack, "consumers": consumers }));
    }
    for applied in all {
        let state = screen.paint(tone(&applied.mapping.state), &applied.mapping.state);
        let most = applied.mapping.max_concurrency.map_or("unbounded".to_owned(), |most| format!("at most {most} at a time"));
        let before = if applied.changed || applied.failure.is_some() { "" } else { ", as before" };
        screen.line(format!("{}  {most}  {state}{before}", applied.name));
        if let Some(failure) = &applied.failure {
            screen.note(format!("error: {} {}: {failure}", change.verb(), applied.name));
        }
    }
}

fn applied_document(applied: &Applied) -> Value {
    json!({
        "name": applied.name,
        "mapping": applied.mapping.uuid,
        "state": applied.mapping.state,
        "maximumConcurrency": applied.mapping.max_concurrency,
        "changed": applied.changed,
        "error": applied.failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_is_advised_names_the_stack_that_was_looked_at() {
        let unknown = || Gap::Missing;
        let consumer = ConsumerFacts {
            name: "email".to_owned(),
            function_name: "shop-email-consumer".to_owned(),
            function: Fact::Unknown(unknown()),
            reserved: Fact::Known(Some(0)),
            loops: Fact::Unknown(unknown()),
            mappings: Fact::Unknown(unknown()),
            queue_name: "shop-email".to_owned(),
            queue: Fact::Unknown(unknown()),
            dead_letter_queue_name: "shop-email-dlq".to_owned(),
            dead_letter_queue: Fact::Unknown(unknown()),
            alarms: Fact::Unknown(unknown()),
            oldest_dead_letter_seconds: Fact::Unknown(unknown()),
        };
        for (site, advised) in
            [(" --stack shop", "`ikkai consumer pause email --stack shop`"), ("", "`ikkai consumer pause email`")]
        {
            let (screen, memory) = Screen::remembering(Format::Text);
            list(&screen, "shop", site, std::slice::from_ref(&consumer));
            assert!(memory.notes().contains(advised), "{}", memory.notes());
        }
    }
}
