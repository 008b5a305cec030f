//! Where effects happen, and are counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ikkai::clock::EpochMillis;
use ikkai::job::JobId;

use crate::actor::{Actor, Step};
use crate::fault::Fault;
use crate::laws;
use crate::stage::Line;
use crate::world::World;

/// A provider.
pub(crate) struct Provider {
    /// How long it remembers the key of an effect. `None`: it has no keys, every request is an effect.
    remembers: Option<Duration>,
    effects: Mutex<BTreeMap<JobId, Effects>>,
}

#[derive(Default)]
struct Effects {
    count: usize,
    last: Option<EpochMillis>,
}

/// What its caller hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Done.
    Done,
    /// Come back later; nothing was done.
    Busy,
    /// Failed; surely nothing was done.
    Refused,
    /// Failed in a way that says nothing about the effect.
    Unclear,
}

impl Provider {
    /// A provider remembers keys for so much longer than its consumer counts on: a request may be on its way for a while, from a sandbox that
    /// stood still, by a clock that is late.
    pub(crate) const MARGIN: Duration = Duration::from_secs(1_500);

    pub(crate) fn plain() -> Self {
        Self { remembers: None, effects: Mutex::default() }
    }

    pub(crate) fn keyed(remembers: Duration) -> Self {
        Self { remembers: Some(remembers), effects: Mutex::default() }
    }

    /// How many distinct effects a job had.
    pub(crate) fn effects(&self, job_id: &JobId) -> usize {
        self.locked().get(job_id).map_or(0, |effects| effects.count)
    }

    /// The job's record is forgotten, and what comes now is another life of it.
    pub(crate) fn forget(&self, job_id: &JobId) {
        self.locked().remove(job_id);
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<JobId, Effects>> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn perform(&self, world: &World, job_id: &JobId) {
        let now = world.now();
        let count = {
            let mut all = self.locked();
            let effects = all.entry(job_id.clone()).or_default();
            let known = self.remembers.is_some_and(|memory| effects.last.is_some_and(|last| last + memory > now));
            if known {
                return;
            }
            effects.count += 1;
            effects.last = Some(now);
            effects.count
        };
        world.tell("provider", || format!("effect {count} of {job_id}"));
        laws::effect(world, job_id, count);
    }
}

/// Asks the provider of `line` for the effect of a job, under the job's id as its key.
pub(crate) async fn ask(world: &Arc<World>, actor: &Actor, line: Line, job_id: &JobId) -> Heard {
    world.called();
    let trouble = trouble(world);
    let provider = world.provider(line);
    actor.begin(Step::EffectSent);
    tokio::time::sleep(world.some_time(Duration::from_millis(20), Duration::from_millis(300))).await;
    if trouble == Some(Fault::ProviderSlow) {
        let (late, job_id) = (world.clone(), job_id.clone());
        let arrives_in = world.some_time(Duration::from_millis(100), Duration::from_secs(30));
        tokio::spawn(async move {
            tokio::time::sleep(arrives_in).await;
            late.provider(line).perform(&late, &job_id);
        });
        tokio::time::sleep(world.some_time(Duration::from_secs(5), Duration::from_secs(60))).await;
        actor.end(Step::EffectSent);
        return Heard::Unclear;
    }
    actor.end(Step::EffectSent);
    match trouble {
        Some(Fault::ProviderBusy) => return Heard::Busy,
        Some(Fault::ProviderRefused) => return Heard::Refused,
        Some(Fault::ProviderFailed) => return Heard::Unclear,
        _ => {}
    }
    provider.perform(world, job_id);
    actor.begin(Step::EffectDone);
    tokio::time::sleep(world.some_time(Duration::from_millis(1), Duration::from_millis(200))).await;
    actor.end(Step::EffectDone);
    if trouble == Some(Fault::ProviderAnswerLost) { Heard::Unclear } else { Heard::Done }
}

fn trouble(world: &World) -> Option<Fault> {
    const KINDS: [Fault; 5] =
        [Fault::ProviderBusy, Fault::ProviderRefused, Fault::ProviderFailed, Fault::ProviderAnswerLost, Fault::ProviderSlow];
    if !world.is_troubled() || !world.chance(world.plan.handlers_in_trouble) {
        return None;
    }
    let kind = KINDS[world.roll(|dice| dice.usize(0..KINDS.len()))];
    world.plan.allows(kind).then(|| {
        world.happened(kind);
        kind
    })
}
