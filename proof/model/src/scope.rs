//! How much happens in a check: bounds, because a search has to end.

use crate::asking::Policy;

/// Most workers of any scope.
pub const MOST_WORKERS: usize = 3;
/// Most messages of the job at one time, of any scope.
pub const MOST_MESSAGES: usize = 3;
/// Most requests for the job, of any scope.
pub const MOST_REQUESTS: usize = 2;

/// The bounds of one check. Whatever is not bounded here may happen at any time and as often as it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// What a repeated effect does.
    pub policy: Policy,
    /// Workers that run the job's type.
    pub workers: u8,
    /// Deliveries that are in the queue at the start, of a sender that records nothing.
    pub deliveries: u8,
    /// Requests of one client for the job. The job has private data then.
    pub requests: u8,
    /// Messages that there can be at one time.
    pub slots: u8,
    /// Most handler starts in one generation.
    pub max_attempts: u32,
    /// Most put-backs.
    pub max_generations: u32,
    /// After so many receives SQS moves a message to the dead-letter queue.
    pub max_receives: u8,
    /// Whether operators use the kit's redrive.
    pub redrive: bool,
    /// Whether an operator resolves doubts.
    pub resolve: bool,
    /// Whether a handler may say that its provider is busy, which gives the attempt back.
    pub defers: bool,
    /// How often each of the bounded things may happen.
    pub budget: Budget,
}

/// How often bounded things may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Budget {
    /// Processes that die, at any step.
    pub crashes: u8,
    /// Writes and sends that happen, or not, and whose answer does not come.
    pub lost_answers: u8,
    /// Leases and visibilities that end while their owner is still at it.
    pub overruns: u8,
    /// Effects of which the provider does not say whether they happened.
    pub unclear_effects: u8,
    /// SQS's own redrives of a message.
    pub native_redrives: u8,
    /// Messages that are purged, or that a retention ends.
    pub purges: u8,
    /// Jobs that are taken back.
    pub cancels: u8,
    /// Provider's keys that are forgotten.
    pub windows: u8,
    /// Records that expire.
    pub expiries: u8,
}

/// Nothing bounded happens at all.
pub(crate) const NOTHING: Budget = Budget {
    crashes: 0,
    lost_answers: 0,
    overruns: 0,
    unclear_effects: 0,
    native_redrives: 0,
    purges: 0,
    cancels: 0,
    windows: 0,
    expiries: 0,
};

pub(crate) const BASE: Scope = Scope {
    name: "",
    about: "",
    policy: Policy::Hold,
    workers: 2,
    deliveries: 2,
    requests: 0,
    slots: 2,
    max_attempts: 2,
    max_generations: 1,
    max_receives: 3,
    redrive: true,
    resolve: true,
    defers: false,
    budget: NOTHING,
};

/// The scopes of a full check, together under a minute on two cores.
pub const FULL: [Scope; 8] = [
    Scope {
        name: "hold",
        about: "an effect that must not be repeated: two deliveries, a crash at every step, leases and visibilities that end, redrive, resolve",
        budget: Budget { crashes: 1, overruns: 1, unclear_effects: 1, ..NOTHING },
        ..BASE
    },
    Scope {
        name: "keyed",
        about: "an effect under a provider's key that is forgotten: one delivery, for two workers where its visibility ends",
        policy: Policy::Keyed,
        deliveries: 1,
        budget: Budget { crashes: 1, overruns: 1, windows: 1, ..NOTHING },
        ..BASE
    },
    Scope {
        name: "lost answers",
        about: "writes and sends whose answers are lost, with leases and visibilities that end, on one delivery",
        deliveries: 1,
        budget: Budget { lost_answers: 2, overruns: 1, ..NOTHING },
        ..BASE
    },
    Scope {
        name: "native redrive",
        about: "the kit's redrive, SQS's own and resolutions, two put-backs, a crash at every step",
        deliveries: 1,
        max_generations: 2,
        budget: Budget { crashes: 1, unclear_effects: 1, native_redrives: 2, ..NOTHING },
        ..BASE
    },
    Scope {
        name: "requests",
        about: "two requests for one job with private data, a crash at every step and a lost answer",
        policy: Policy::Keyed,
        workers: 1,
        deliveries: 0,
        requests: 2,
        redrive: false,
        budget: Budget { crashes: 1, lost_answers: 1, ..NOTHING },
        ..BASE
    },
    Scope {
        name: "put back, posted",
        about: "two requests for a job that operators put back, with a crash at every step",
        policy: Policy::Keyed,
        workers: 1,
        deliveries: 0,
        requests: 2,
        budget: Budget { crashes: 1, ..NOTHING },
        ..BASE
    },
    Scope {
        name: "purge",
        about: "a message that is purged, a job that is taken back, a record that expires",
        policy: Policy::Hold,
        deliveries: 0,
        requests: 1,
        budget: Budget { unclear_effects: 1, purges: 1, cancels: 1, expiries: 1, ..NOTHING },
        ..BASE
    },
    Scope {
        name: "crash loop",
        about: "a job that kills every worker, and a provider that is busy",
        deliveries: 1,
        slots: 1,
        defers: true,
        budget: Budget { crashes: 4, unclear_effects: 1, ..NOTHING },
        ..BASE
    },
];

/// Smaller ones, for every change.
pub const QUICK: [Scope; 3] = [
    Scope {
        name: "quick hold",
        about: "one delivery, a crash, a lease or visibility that ends, an unclear effect, redrive, resolve",
        deliveries: 1,
        budget: Budget { crashes: 1, overruns: 1, unclear_effects: 1, ..NOTHING },
        ..BASE
    },
    Scope {
        name: "quick keyed",
        about: "the same under a provider's key that is forgotten",
        policy: Policy::Keyed,
        deliveries: 1,
        budget: Budget { crashes: 1, unclear_effects: 1, windows: 1, ..NOTHING },
        ..BASE
    },
    Scope {
        name: "quick requests",
        about: "a request whose answers are lost",
        deliveries: 0,
        requests: 1,
        budget: Budget { crashes: 1, lost_answers: 1, ..NOTHING },
        ..BASE
    },
];

/// A long run: a third worker.
pub const LONG: [Scope; 1] = [Scope {
    name: "three workers",
    about: "three workers, two deliveries, a crash at every step, a lease or visibility that ends, redrive, resolve",
    workers: 3,
    budget: Budget { crashes: 1, overruns: 1, ..NOTHING },
    ..BASE
}];
