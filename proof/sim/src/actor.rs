//! Somebody who calls services: a worker, the API, an operator, the mapping.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ikkai::clock::EpochMillis;
use ikkai::job::JobId;

use crate::fault::Fault;
use crate::world::World;

/// Where a caller's calls stand, so that its death can be told apart.
#[derive(Debug)]
pub(crate) struct Actor {
    pub(crate) name: String,
    writes_sent: AtomicU32,
    writes_done: AtomicU32,
    effects_sent: AtomicU32,
    effects_done: AtomicU32,
    troubles: AtomicU32,
    /// Jobs that it has given back in this life, and when.
    given_back: Mutex<Vec<(JobId, EpochMillis)>>,
}

/// Which part of a call is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    WriteSent,
    WriteDone,
    EffectSent,
    EffectDone,
}

impl Actor {
    pub(crate) fn new(name: String) -> Arc<Self> {
        let zero = || AtomicU32::new(0);
        Arc::new(Self {
            name,
            writes_sent: zero(),
            writes_done: zero(),
            effects_sent: zero(),
            effects_done: zero(),
            troubles: zero(),
            given_back: Mutex::default(),
        })
    }

    fn step(&self, step: Step) -> &AtomicU32 {
        match step {
            Step::WriteSent => &self.writes_sent,
            Step::WriteDone => &self.writes_done,
            Step::EffectSent => &self.effects_sent,
            Step::EffectDone => &self.effects_done,
        }
    }

    /// A call has got this far.
    pub(crate) fn begin(&self, step: Step) {
        self.step(step).fetch_add(1, Ordering::Relaxed);
    }

    /// And further.
    pub(crate) fn end(&self, step: Step) {
        self.step(step).fetch_sub(1, Ordering::Relaxed);
    }

    /// Draws the fault of the call that it makes now, one of these kinds or none.
    pub(crate) fn draw(&self, world: &World, kinds: &[Fault]) -> Option<Fault> {
        world.called();
        if !world.is_troubled() || world.roll(|dice| dice.u32(0..1_000)) >= world.plan.calls_in_trouble {
            return None;
        }
        let kind = kinds[world.roll(|dice| dice.usize(0..kinds.len()))];
        world.plan.allows(kind).then(|| {
            world.happened(kind);
            self.meets_trouble();
            kind
        })
    }

    /// Something has kept it from what it wanted to do.
    pub(crate) fn meets_trouble(&self) {
        self.troubles.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether any of its calls has gone wrong in this life, or it stood still.
    pub(crate) fn met_trouble(&self) -> bool {
        self.troubles.load(Ordering::Relaxed) > 0
    }

    /// It gives a job back.
    pub(crate) fn gives_back(&self, job_id: &JobId, now: EpochMillis) {
        self.given_back.lock().unwrap_or_else(PoisonError::into_inner).push((job_id.clone(), now));
    }

    /// Whether it has just given a job back.
    pub(crate) fn has_just_given_back(&self, job_id: &JobId, now: EpochMillis) -> bool {
        let given_back = self.given_back.lock().unwrap_or_else(PoisonError::into_inner);
        given_back.iter().any(|(given, at)| given == job_id && now.since(*at) < Duration::from_secs(2))
    }

    /// Dies, and says in what.
    pub(crate) fn dies(&self, world: &World) {
        let is_at = |step| self.step(step).load(Ordering::Relaxed) > 0;
        world.happened(if is_at(Step::EffectDone) {
            Fault::CrashAfterEffect
        } else if is_at(Step::EffectSent) {
            Fault::CrashBeforeEffect
        } else if is_at(Step::WriteDone) {
            Fault::CrashAfterWrite
        } else if is_at(Step::WriteSent) {
            Fault::CrashBeforeWrite
        } else {
            Fault::CrashBetweenCalls
        });
    }

    /// Begins anew: nothing of an earlier life is out.
    pub(crate) fn revive(&self) {
        for step in [Step::WriteSent, Step::WriteDone, Step::EffectSent, Step::EffectDone] {
            self.step(step).store(0, Ordering::Relaxed);
        }
        self.troubles.store(0, Ordering::Relaxed);
        self.given_back.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
