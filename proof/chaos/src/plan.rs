//! What goes wrong when: drawn from the seed before anything runs.
//!
//! The plan is the same for the same seed. What it meets is not: which call comes next, and which process is at what, is the machine's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;

use crate::fault::Fault;

/// Which way a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// From a function to AWS.
    Aws,
    /// From the billing consumer to the payment provider.
    Payments,
    /// From the webhook consumer to the receiver.
    Receiver,
}

/// Something that is done to the processes or their calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// One process dies. `draw` chooses among those that there are then.
    Kill {
        /// Its remainder is the place in the list.
        draw: u32,
    },
    /// One process stands still.
    Freeze {
        /// Its remainder is the place in the list.
        draw: u32,
        /// For how long.
        time: Duration,
    },
    /// The next calls of an operation go wrong.
    Calls {
        /// How.
        fault: Fault,
        /// Where they pass.
        door: Door,
        /// `service.Operation`, as the proxy names it.
        operation: &'static str,
        /// How many of them.
        count: u32,
        /// By how much a call or its answer is late, where it is.
        late: Duration,
    },
    /// Nobody comes through a door.
    Away {
        /// Which of its kinds it is.
        fault: Fault,
        /// Which door.
        door: Door,
        /// For how long.
        time: Duration,
    },
}

impl Deed {
    /// Its kind.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Kill { .. } => Fault::Kill,
            Self::Freeze { .. } => Fault::Freeze,
            Self::Calls { fault, .. } | Self::Away { fault, .. } => *fault,
        }
    }
}

/// A deed and its moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Counted from the moment that the first job goes in.
    pub at: Duration,
    /// What is done.
    pub deed: Deed,
}

/// Everything that is going to be done, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What it was drawn from.
    pub seed: u64,
    /// In the order of time.
    pub steps: Vec<Step>,
}

/// Time between two deaths.
const KILL_EVERY: Duration = Duration::from_secs(2);

/// Longer than the lease of [`crate::stage`]'s consumers, shorter than their timeout: the process has to wake up, and not to be
/// ended by the engine before.
const FROZEN_MS: std::ops::Range<u64> = 4_500..7_000;

/// Longer than any function waits for an answer.
const TOO_LATE: Duration = Duration::from_millis(3_500);

/// What the functions ask of AWS and others, and how many calls in a row go wrong at most; what stands more often is drawn more often.
///
/// The SDK asks a service up to three times: more than that must fail before a function sees an error. A mail whose answer is lost is in doubt, so of
/// those fewer are lost.
const OPERATIONS: &[(Door, &str, u32)] = &[
    (Door::Aws, "dynamodb.UpdateItem", 12),
    (Door::Aws, "dynamodb.UpdateItem", 12),
    (Door::Aws, "dynamodb.UpdateItem", 12),
    (Door::Aws, "dynamodb.PutItem", 12),
    (Door::Aws, "dynamodb.PutItem", 12),
    (Door::Aws, "dynamodb.GetItem", 12),
    (Door::Aws, "sqs.SendMessage", 12),
    (Door::Aws, "sqs.SendMessageBatch", 8),
    (Door::Aws, "sqs.ChangeMessageVisibilityBatch", 8),
    (Door::Aws, "secretsmanager.GetSecretValue", 3),
    (Door::Aws, "ses.SendEmail", 3),
    (Door::Payments, "http.POST /v1/payment_intents", 4),
    (Door::Payments, "http.POST /v1/payment_intents", 4),
    (Door::Payments, "http.GET /v1/customers/*", 4),
    (Door::Receiver, "http.POST /told", 4),
];

/// What says "slow down", and how many calls in a row hear it at most.
const THROTTLING: &[(Door, &str, u32)] = &[
    (Door::Aws, "dynamodb.UpdateItem", 60),
    (Door::Aws, "dynamodb.PutItem", 30),
    (Door::Aws, "dynamodb.GetItem", 30),
    (Door::Aws, "ses.SendEmail", 6),
    (Door::Payments, "http.POST /v1/payment_intents", 6),
    (Door::Receiver, "http.POST /told", 4),
];

impl Plan {
    /// Draws a plan. Each kind has dice of its own: leaving one out changes nothing about the others.
    #[must_use]
    pub fn draw(seed: u64, length: Duration, kinds: &BTreeSet<Fault>) -> Self {
        let mut steps: Vec<Step> = kinds.iter().flat_map(|kind| of_kind(*kind, seed, length)).collect();
        steps.sort_by_key(|step| step.at);
        Self { seed, steps }
    }

    /// How many steps there are of each kind.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<Fault, usize> {
        let mut counts = BTreeMap::new();
        for step in &self.steps {
            *counts.entry(step.deed.fault()).or_default() += 1;
        }
        counts
    }
}

/// The dice for one kind of thing, of which no two share any.
#[must_use]
pub fn dice(seed: u64, of: u64) -> Rng {
    // Neighbouring seeds must not draw neighbouring numbers: the first draw is thrown away.
    let mut dice = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(of));
    let _ = dice.u64(..);
    dice
}

/// The steps of one kind.
fn of_kind(kind: Fault, seed: u64, length: Duration) -> Vec<Step> {
    let mut dice = dice(seed, kind as u64);
    let period = match kind {
        Fault::Kill => {
            let times = 1..=u32::try_from(length.as_millis() / KILL_EVERY.as_millis()).unwrap_or(u32::MAX);
            return times.map(|time| Step { at: KILL_EVERY * time, deed: Deed::Kill { draw: dice.u32(..) } }).collect();
        }
        Fault::Freeze => Duration::from_secs(6),
        Fault::ServerError | Fault::ConnectionReset | Fault::AnswerLost => Duration::from_secs(1),
        Fault::Throttled | Fault::Delayed | Fault::AnswerLate => Duration::from_secs(2),
        Fault::AwsAway => Duration::from_secs(30),
        Fault::ProviderAway | Fault::ReceiverAway => Duration::from_secs(25),
        // The clients' own doing.
        Fault::DuplicateMessage | Fault::RepeatedRequest => return Vec::new(),
    };
    let mut steps = Vec::new();
    let mut begin = Duration::ZERO;
    while begin < length {
        // Anywhere in its share of the time, the last share cut off at the end.
        let share = period.min(length - begin).as_millis();
        let at = begin + Duration::from_millis(dice.u64(0..u64::try_from(share).unwrap_or(1).max(1)));
        steps.push(Step { at, deed: deed(kind, &mut dice) });
        begin += period;
    }
    steps
}

fn deed(fault: Fault, dice: &mut Rng) -> Deed {
    let millis = |dice: &mut Rng, range: std::ops::Range<u64>| Duration::from_millis(dice.u64(range));
    match fault {
        Fault::Kill => Deed::Kill { draw: dice.u32(..) },
        Fault::Freeze => Deed::Freeze { draw: dice.u32(..), time: millis(dice, FROZEN_MS) },
        Fault::AwsAway => Deed::Away { fault, door: Door::Aws, time: millis(dice, 300..2_000) },
        Fault::ProviderAway => Deed::Away { fault, door: Door::Payments, time: millis(dice, 1_000..5_000) },
        Fault::ReceiverAway => Deed::Away { fault, door: Door::Receiver, time: millis(dice, 1_000..5_000) },
        Fault::Throttled => {
            let (door, operation, most) = THROTTLING[dice.usize(..THROTTLING.len())];
            Deed::Calls { fault, door, operation, count: dice.u32(1..=most), late: Duration::ZERO }
        }
        _ => {
            let (door, operation, most) = OPERATIONS[dice.usize(..OPERATIONS.len())];
            let late = match fault {
                Fault::Delayed => millis(dice, 200..2_500),
                Fault::AnswerLate => TOO_LATE,
                _ => Duration::ZERO,
            };
            Deed::Calls { fault, door, operation, count: dice.u32(1..=most), late }
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (at, kind) = (self.at.as_secs_f64(), self.deed.fault().name());
        write!(out, "{at:>8.1} s  {kind:<17}")?;
        match &self.deed {
            Deed::Kill { .. } => Ok(()),
            Deed::Freeze { time, .. } | Deed::Away { time, .. } => write!(out, "for {:.1} s", time.as_secs_f64()),
            Deed::Calls { operation, count, late, .. } => {
                write!(out, "the next {count} of {operation}")?;
                if late.is_zero() { Ok(()) } else { write!(out, ", by {:.1} s", late.as_secs_f64()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE_MINUTES: Duration = Duration::from_secs(300);

    fn of_all(seed: u64) -> Plan {
        Plan::draw(seed, FIVE_MINUTES, &Fault::ALL.into())
    }

    #[test]
    fn the_same_seed_is_the_same_plan_and_another_one_is_not() {
        assert_eq!(of_all(7), of_all(7));
        assert_ne!(of_all(7).steps, of_all(8).steps);
    }

    #[test]
    fn a_process_dies_every_two_seconds_to_the_end() {
        let plan = of_all(1);
        let deaths: Vec<_> = plan.steps.iter().filter(|step| step.deed.fault() == Fault::Kill).map(|step| step.at).collect();
        assert_eq!(deaths.len(), 150);
        assert!(deaths.windows(2).all(|pair| pair[1] - pair[0] == KILL_EVERY), "{deaths:?}");
    }

    #[test]
    fn every_kind_that_is_planned_comes_and_nothing_comes_after_the_end() {
        for seed in 0..20 {
            let plan = of_all(seed);
            let planned =
                Fault::ALL.into_iter().filter(|fault| !matches!(fault, Fault::DuplicateMessage | Fault::RepeatedRequest));
            assert_eq!(plan.counts().into_keys().collect::<Vec<_>>(), planned.collect::<Vec<_>>());
            assert!(plan.steps.iter().all(|step| step.at <= FIVE_MINUTES));
            assert!(plan.steps.is_sorted_by_key(|step| step.at));
        }
    }

    #[test]
    fn leaving_a_kind_out_changes_nothing_about_the_others() {
        let mut kinds: BTreeSet<_> = Fault::ALL.into();
        kinds.remove(&Fault::Freeze);
        let without = Plan::draw(3, FIVE_MINUTES, &kinds);
        let mut all = of_all(3);
        all.steps.retain(|step| step.deed.fault() != Fault::Freeze);
        assert_eq!(without, all);
    }
}
