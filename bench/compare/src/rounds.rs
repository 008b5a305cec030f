//! All contenders in turn, round by round: what the machine does meanwhile falls on all of them.

use std::collections::BTreeMap;
use std::error::Error;

use crate::contender::Contender;
use crate::figures::{Figures, Machine};
use crate::measure::{Start, starts};
use crate::setup::{Field, Launch};
use crate::sitting::{Sitting, sitting};
use crate::stub::Stub;

/// Time that every call to AWS takes, besides what the stub needs: none, and that of a fast day.
pub(crate) const DELAYS_MS: [u64; 2] = [0, 5];

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) rounds: u32,
    pub(crate) batches: usize,
    /// Starts of a contender in a round.
    pub(crate) starts: u32,
}

/// What a contender showed in all rounds.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) starts: Vec<Start>,
    pub(crate) sittings: Vec<Sitting>,
}

pub(crate) async fn measure(field: &Field, effort: Effort) -> Result<Figures, Box<dyn Error>> {
    let stub = Stub::start().await?;
    let mut seen: BTreeMap<Contender, Seen> = BTreeMap::new();
    let load_before = Machine::load();
    for round in 1..=effort.rounds {
        for (contender, launch) in &field.launches {
            eprintln!("round {round} of {}: {}", effort.rounds, contender.name());
            let seen = seen.entry(*contender).or_default();
            seen.starts.extend(starts_without_network(*contender, launch, effort.starts).await?);
            for delay_ms in DELAYS_MS {
                // What waits for answers needs fewer batches for the same certainty.
                let batches = if delay_ms == 0 { effort.batches } else { effort.batches.div_ceil(4) };
                seen.sittings.push(sitting(*contender, launch, &stub, delay_ms, batches).await?);
            }
        }
    }
    Ok(Figures::new(&seen, field, effort, load_before))
}

async fn starts_without_network(contender: Contender, launch: &Launch, count: u32) -> Result<Vec<Start>, Box<dyn Error>> {
    let own = launch.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let variables: Vec<_> = own.chain(contender.without_network().iter().copied()).collect();
    starts(&launch.binary, &variables, count).await
}
