//! What a seed decides before its run begins: how large the scene is, and what may go wrong in it.

use std::time::Duration;

use crate::fault::Fault;

/// The terms of one run. Every other decision is rolled while it goes on.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Jobs that clients post.
    pub(crate) jobs: u32,
    /// Messages that no client has posted: poison, and copies of what is there.
    pub(crate) strays: u32,
    /// So many of a thousand calls to a service go wrong.
    pub(crate) calls_in_trouble: u32,
    /// So many of a hundred handler runs or provider calls go wrong.
    pub(crate) handlers_in_trouble: u32,
    /// So many of a hundred invocations die.
    pub(crate) crashes: u32,
    /// So many of a hundred invocations stand still for a while.
    pub(crate) freezes: u32,
    /// Clocks of machines differ by so much at most, either way.
    pub(crate) skew: Duration,
    /// Messages of a batch.
    pub(crate) batch_size: usize,
    /// The mapping's maximum concurrency.
    pub(crate) concurrency: u32,
    /// The queue's redrive limit.
    pub(crate) max_receives: u32,
    /// Handler starts of a job.
    pub(crate) max_attempts: u32,
    /// Lambda's timeout of the workers. Above a minute leases are renewed by the heartbeat.
    pub(crate) timeout: Duration,
    /// Some sandboxes run a program that knows a newer schema version, and clients use it.
    pub(crate) mixed_versions: bool,
    /// Past its provider's memory a charge is looked up, instead of ending in doubt.
    pub(crate) looks_up: bool,
    /// How long the provider of charges remembers keys, as far as its consumer counts on it.
    pub(crate) key_window: Duration,
    /// Operators at work while things go wrong.
    pub(crate) operators: u32,
    /// For so long things go wrong.
    pub(crate) troubled_for: Duration,
    /// A request is made once more when its record has expired, and whether the record is still there then.
    pub(crate) late_life: Option<Sweeping>,
    /// The kinds of faults of this run, as bits: a run with few kinds finds what a run with all of them hides.
    kinds: u64,
}

/// Whether the table's time to live has removed an expired record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sweeping {
    /// It is gone.
    InTime,
    /// It is still there: it may be for two days.
    Late,
}

impl Plan {
    pub(crate) fn of(dice: &mut fastrand::Rng) -> Self {
        let seldom = |dice: &mut fastrand::Rng, of: u32| dice.u32(0..of) == 0;
        let all_kinds = seldom(dice, 4);
        let kinds = if all_kinds { u64::MAX } else { dice.u64(..) | dice.u64(..) };
        Self {
            jobs: dice.u32(1..=4),
            strays: dice.u32(0..=2),
            calls_in_trouble: [8, 20, 40, 80][dice.usize(0..4)],
            handlers_in_trouble: [5, 15, 30, 60][dice.usize(0..4)],
            crashes: [0, 5, 15, 30][dice.usize(0..4)],
            freezes: [0, 2, 10][dice.usize(0..3)],
            skew: if dice.bool() { Duration::from_millis(dice.u64(500..=5_000)) } else { Duration::ZERO },
            batch_size: [1, 3, 10][dice.usize(0..3)],
            concurrency: dice.u32(1..=3),
            max_receives: dice.u32(5..=8),
            max_attempts: dice.u32(2..=3),
            timeout: Duration::from_secs([15, 30, 90][dice.usize(0..3)]),
            mixed_versions: seldom(dice, 4),
            looks_up: seldom(dice, 3),
            key_window: Duration::from_secs([300, 900, 3_600][dice.usize(0..3)]),
            operators: dice.u32(0..=2),
            troubled_for: Duration::from_secs(dice.u64(300..=2_400)),
            late_life: seldom(dice, 8).then(|| if dice.bool() { Sweeping::Late } else { Sweeping::InTime }),
            kinds,
        }
    }

    /// Whether this kind of fault happens in this run.
    pub(crate) const fn allows(&self, fault: Fault) -> bool {
        self.kinds & (1 << fault as u32) != 0
    }
}
