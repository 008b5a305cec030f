//! What has to hold in every state.

use ikkai::idempotency::Status;

use crate::moves::Protocol;
use crate::world::{Breach, Operator, Request, Step, World};

/// A property, by the sentence that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
    /// At most one effect, and one more for each time that an operator resolved to run the job again.
    OneEffect,
    /// Whoever does not own the job changes nothing about it.
    StrangersChangeNothing,
    /// No wish about a former life changes a newer one.
    StaleWishesChangeNothing,
    /// A handler starts only on a job that its worker runs.
    HandlersOwnTheirJob,
    /// A dead job runs only if somebody put it back after its death.
    DeadStayDead,
    /// A worker knows its own settlement.
    SettlementsAreRecognised,
    /// What was not given up is not dead-lettered, unless something was faulty besides the provider.
    NothingUntriedIsDeadLettered,
    /// Attempts never exceed the maximum.
    AttemptsAreBounded,
    /// A job that was taken has a record or a message; while it is unfinished, a message.
    NothingDisappears,
    /// Private data stay until the job has ended well.
    DataStay,
    /// A job that was put back runs before everything is quiet again.
    PutBackRuns,
    /// A job is put back so often and no oftener.
    RedriveEnds,
    /// From every state, with faults off and an operator willing, an end can be reached. The one property that is no property of a state: see
    /// [`search`](crate::search).
    EndIsReachable,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::OneEffect,
        Self::StrangersChangeNothing,
        Self::StaleWishesChangeNothing,
        Self::HandlersOwnTheirJob,
        Self::DeadStayDead,
        Self::SettlementsAreRecognised,
        Self::NothingUntriedIsDeadLettered,
        Self::AttemptsAreBounded,
        Self::NothingDisappears,
        Self::DataStay,
        Self::PutBackRuns,
        Self::RedriveEnds,
        Self::EndIsReachable,
    ];

    /// The sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::OneEffect => "the effect happens at most once, unless an operator resolved to run the job again",
            Self::StrangersChangeNothing => "a stale worker changes nothing",
            Self::StaleWishesChangeNothing => "an operator's wish about a former life of the job changes nothing",
            Self::HandlersOwnTheirJob => "a handler starts only on a job that its worker runs",
            Self::DeadStayDead => "a dead job runs only if somebody put it back",
            Self::SettlementsAreRecognised => "a worker recognises its own settlement",
            Self::NothingUntriedIsDeadLettered => "what was not given up is not dead-lettered while only the provider fails",
            Self::AttemptsAreBounded => "attempts never exceed the maximum",
            Self::NothingDisappears => "a job that was taken does not disappear",
            Self::DataStay => "private data stay until the job is done",
            Self::PutBackRuns => "a job that was put back runs",
            Self::RedriveEnds => "redrive ends",
            Self::EndIsReachable => "from every state an end can be reached",
        }
    }

    /// The name, for machines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneEffect => "one_effect",
            Self::StrangersChangeNothing => "strangers_change_nothing",
            Self::StaleWishesChangeNothing => "stale_wishes_change_nothing",
            Self::HandlersOwnTheirJob => "handlers_own_their_job",
            Self::DeadStayDead => "dead_stay_dead",
            Self::SettlementsAreRecognised => "settlements_are_recognised",
            Self::NothingUntriedIsDeadLettered => "nothing_untried_is_dead_lettered",
            Self::AttemptsAreBounded => "attempts_are_bounded",
            Self::NothingDisappears => "nothing_disappears",
            Self::DataStay => "data_stay",
            Self::PutBackRuns => "put_back_runs",
            Self::RedriveEnds => "redrive_ends",
            Self::EndIsReachable => "end_is_reachable",
        }
    }

    /// Whether it holds in this state.
    pub fn holds(self, protocol: &Protocol, world: &World) -> bool {
        let is_unbroken = |breach: Breach| world.memory.breach != Some(breach);
        let scope = &protocol.scope;
        let mut records = world.records.iter().flatten().map(|kept| kept.record());
        match self {
            Self::OneEffect => is_unbroken(Breach::SecondEffect),
            Self::StrangersChangeNothing => is_unbroken(Breach::StrangerWrote),
            Self::StaleWishesChangeNothing => is_unbroken(Breach::StaleWish),
            Self::HandlersOwnTheirJob => is_unbroken(Breach::StartedUnowned),
            Self::DeadStayDead => is_unbroken(Breach::RanUnasked),
            Self::SettlementsAreRecognised => is_unbroken(Breach::DeniedItself),
            Self::NothingUntriedIsDeadLettered => is_unbroken(Breach::DeadLetteredUntried),
            Self::AttemptsAreBounded => records.all(|record| record.attempts <= scope.max_attempts),
            Self::NothingDisappears => !has_disappeared(world),
            Self::DataStay => {
                let has_ended = |status| matches!(status, Status::Succeeded | Status::Cancelled);
                !world.memory.has_data || records.all(|record| record.data.is_some() || has_ended(record.status))
            }
            Self::PutBackRuns => {
                let waits_for_somebody = world.records[0].is_none_or(|kept| kept.status() != Status::Running);
                !(world.memory.is_awaited && world.is_quiet() && waits_for_somebody)
            }
            Self::RedriveEnds => {
                let expired = u32::from(scope.budget.expiries - world.left.expiries);
                records.all(|record| record.generation <= scope.max_generations + expired)
            }
            Self::EndIsReachable => true,
        }
    }
}

fn has_disappeared(world: &World) -> bool {
    let is_open = world.live_record(0).is_none_or(crate::book::Kept::is_unfinished);
    let is_on_its_way = matches!(world.operator, Operator::Sending { message: None, .. });
    world.memory.was_told && !world.memory.is_orphaned && is_open && !world.has_message() && !is_on_its_way
}

/// Whether the job has come to an end: nothing is under way, and it is done, taken back, or was put back as often as it may. What is only dead or in
/// doubt is no end: an operator can do something about it. Neither is a request that nobody was told 202 about, unless nothing is left of it.
pub fn has_ended(protocol: &Protocol, world: &World) -> bool {
    if !world.is_quiet() {
        return false;
    }
    let Some(kept) = world.record(0) else {
        // A message that was purged before anybody had received it has left nothing.
        return !world.has_message() && (!world.memory.was_told || world.memory.is_orphaned);
    };
    match kept.status() {
        Status::Succeeded | Status::Cancelled => true,
        Status::Dead => kept.record().generation >= protocol.scope.max_generations || !protocol.scope.redrive,
        Status::InDoubt => !protocol.scope.resolve,
        _ => false,
    }
}

/// The state in which everything begins.
pub fn beginning(protocol: &Protocol) -> World {
    let scope = &protocol.scope;
    let mut messages = [None; crate::scope::MOST_MESSAGES];
    for (number, place) in messages.iter_mut().enumerate().take(usize::from(scope.deliveries)) {
        *place = Some(crate::world::Message {
            place: crate::world::Place::Source,
            is_visible: true,
            receives: 0,
            holder: None,
            is_late: false,
            is_put_back: false,
            key: u8::from(number > 0 && protocol.lacks(crate::Variant::KeyByMessageId)),
        });
    }
    let mut requests = [Request::Answered; crate::scope::MOST_REQUESTS];
    requests.iter_mut().take(usize::from(scope.requests)).for_each(|request| *request = Request::New);
    World {
        records: [None; 2],
        messages,
        workers: [crate::world::Worker { step: Step::Idle, message: 0 }; crate::scope::MOST_WORKERS],
        requests,
        operator: Operator::Idle,
        memory: crate::world::Memory {
            effects_left: 1,
            key_is_known: false,
            was_told: scope.deliveries > 0,
            has_data: false,
            is_awaited: false,
            is_orphaned: false,
            breach: None,
        },
        left: scope.budget,
    }
}
