//! A future that may die at any of its awaits, or stand still for a while: what happens to a sandbox.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::actor::Actor;
use crate::fault::Fault;
use crate::world::World;

/// A lease holds so much longer than its invocation.
const LEASE_SKEW: Duration = Duration::from_secs(10);

/// What will happen to a future, by the number of the poll at which it does.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fate {
    /// It is dropped here.
    pub(crate) dies_at: Option<u32>,
    /// It is not polled here, nor for so long.
    pub(crate) freezes_at: Option<(u32, Duration)>,
    /// What its death counts as; where nothing stands here, by what it was at.
    pub(crate) death: Option<Fault>,
}

impl Fate {
    /// Draws the fate of an invocation.
    pub(crate) fn of_worker(world: &World) -> Self {
        let plan = &world.plan;
        if !world.is_troubled() {
            return Self::default();
        }
        let dies_at = world.chance(plan.crashes).then(|| world.roll(|dice| dice.u32(2..40)));
        let may_freeze = world.allows(Fault::SandboxFrozen) && world.chance(plan.freezes);
        let freezes_at = may_freeze.then(|| {
            let long = world.some_time(Duration::from_secs(5), Duration::from_secs(600));
            (world.roll(|dice| dice.u32(2..30)), long)
        });
        Self { dies_at, freezes_at, death: None }
    }

    /// Draws the fate of a call that dies so many times in a hundred, within so many polls.
    pub(crate) fn mortal(world: &World, death: Fault, percent: u32, most_polls: u32) -> Self {
        let dies = world.allows(death) && world.chance(percent);
        let dies_at = dies.then(|| world.roll(|dice| dice.u32(2..most_polls)));
        Self { dies_at, freezes_at: None, death: Some(death) }
    }
}

/// The future, in its sandbox.
pub(crate) struct Interrupted<F> {
    inner: Option<Pin<Box<F>>>,
    fate: Fate,
    polls: u32,
    frozen: Option<Pin<Box<Sleep>>>,
    began: Instant,
    world: Arc<World>,
    actor: Arc<Actor>,
}

impl<F: Future> Interrupted<F> {
    pub(crate) fn new(world: &Arc<World>, actor: &Arc<Actor>, fate: Fate, inner: F) -> Self {
        actor.revive();
        Self {
            inner: Some(Box::pin(inner)),
            fate,
            polls: 0,
            frozen: None,
            began: Instant::now(),
            world: world.clone(),
            actor: actor.clone(),
        }
    }
}

impl<F: Future> Future for Interrupted<F> {
    /// `None`: it died.
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(frozen) = &mut this.frozen {
            if frozen.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            this.world.tell(&this.actor.name, || "wakes up".to_owned());
            if this.began.elapsed() > this.world.plan.timeout + LEASE_SKEW {
                this.world.happened(Fault::WokeUpPastLease);
            }
            this.frozen = None;
        }
        this.polls += 1;
        if this.fate.dies_at == Some(this.polls) {
            this.world.tell(&this.actor.name, || "dies".to_owned());
            match this.fate.death {
                Some(death) => this.world.happened(death),
                None => this.actor.dies(&this.world),
            }
            this.inner = None;
            return Poll::Ready(None);
        }
        if let Some((at, long)) = this.fate.freezes_at
            && at == this.polls
        {
            this.world.happened(Fault::SandboxFrozen);
            // It may wake up after its time, with no call left to it.
            this.actor.meets_trouble();
            this.world.tell(&this.actor.name, || format!("stands still for {} s", long.as_secs()));
            let mut frozen = Box::pin(tokio::time::sleep(long));
            if frozen.as_mut().poll(context).is_pending() {
                this.frozen = Some(frozen);
                return Poll::Pending;
            }
        }
        match &mut this.inner {
            Some(inner) => inner.as_mut().poll(context).map(Some),
            None => Poll::Ready(None),
        }
    }
}
