//! Sequence diagrams (Mermaid) of paths through the model.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::book::Kept;
use crate::moves::{Move, Protocol};
use crate::property::{Property, beginning};
use crate::times::NOW;
use crate::token::Token;
use crate::words::Party;
use crate::world::World;

/// The path as a diagram, with what the record says after each change of it, and what is wrong in the end.
pub fn diagram(protocol: &Protocol, path: &[Move], property: Property) -> String {
    let lines: Vec<_> = path.iter().map(|step| step.what.words()).collect();
    let parties: BTreeSet<Party> = lines.iter().flat_map(|line| [line.from, line.to]).chain([Party::Table]).collect();
    let mut text = "sequenceDiagram\n".to_owned();
    for party in &parties {
        let _ = writeln!(text, "    participant {} as {}", id(*party), name(*party));
    }
    let mut before = beginning(protocol);
    for (step, line) in path.iter().zip(lines) {
        let arrow = if line.from == line.to { "-->>" } else { "->>" };
        let _ = writeln!(text, "    {}{arrow}{}: {}", id(line.from), id(line.to), line.text);
        for record in changed(&before, &step.next) {
            let _ = writeln!(text, "    Note over {}: {record}", id(Party::Table));
        }
        before = step.next;
    }
    let (first, last) = (parties.first().copied().unwrap_or(Party::Table), parties.last().copied().unwrap_or(Party::Table));
    let _ = writeln!(text, "    Note over {},{}: broken: {}", id(first), id(last), property.sentence());
    text
}

/// The records that the step changed, in words.
fn changed(before: &World, after: &World) -> Vec<String> {
    let told = |record: Option<Kept>| record.map_or_else(|| "no record".to_owned(), facts);
    let both = after.records.iter().flatten().count() > 1;
    let pairs = before.records.into_iter().zip(after.records).enumerate();
    pairs
        .filter(|(_, (before, after))| told(*before) != told(*after))
        .map(|(number, (_, after))| if both { format!("record {}: {}", number + 1, told(after)) } else { told(after) })
        .collect()
}

fn facts(kept: Kept) -> String {
    let record = kept.record();
    let mut facts = vec![record.status.as_str().to_owned()];
    if let (false, Some(Token::Worker(number))) = (record.status.is_final(), kept.owner()) {
        facts.push(format!("worker {}", number + 1));
    }
    facts.push(format!("attempts {}", record.attempts));
    if record.generation > 0 {
        facts.push(format!("generation {}", record.generation));
    }
    if record.status == ikkai::idempotency::Status::Running && record.lease_is_over(NOW) {
        facts.push("lease over".to_owned());
    }
    if record.effect_begun {
        facts.push("effect announced".to_owned());
    }
    if record.is_expired(NOW) {
        facts.push("counts as absent".to_owned());
    }
    facts.join(", ")
}

fn id(party: Party) -> String {
    match party {
        Party::Client => "C".to_owned(),
        Party::Producer => "P".to_owned(),
        Party::Queue => "Q".to_owned(),
        Party::DeadLetters => "D".to_owned(),
        Party::Worker(number) => format!("W{}", number + 1),
        Party::Table => "T".to_owned(),
        Party::Provider => "E".to_owned(),
        Party::Operator => "O".to_owned(),
    }
}

fn name(party: Party) -> String {
    match party {
        Party::Client => "Client".to_owned(),
        Party::Producer => "Producer".to_owned(),
        Party::Queue => "Queue".to_owned(),
        Party::DeadLetters => "Dead-letter queue".to_owned(),
        Party::Worker(number) => format!("Worker {}", number + 1),
        Party::Table => "Jobs table".to_owned(),
        Party::Provider => "Provider".to_owned(),
        Party::Operator => "Operator".to_owned(),
    }
}
