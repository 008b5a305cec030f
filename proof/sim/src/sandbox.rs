//! A worker's sandbox: the real batch processor with a clock of its own.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsMessage};
use futures::FutureExt;
use futures::future::BoxFuture;
use ikkai::clock::{Clock, EpochMillis};
use ikkai::consumer::{BatchError, BatchProcessor, IncomingEvent, Invocation};
use ikkai::idempotency::JobStore;
use ikkai::job::{BillingCharge, EmailSend};
use ikkai::queue::Queue;
use ikkai::testing::TokioClock;

use crate::actor::Actor;
use crate::fault::Fault;
use crate::handler::{NewerMail, OfLine, Scripted};
use crate::laws::Deletes;
use crate::mutated;
use crate::stage::{self, Line};
use crate::troubled_queue::TroubledQueue;
use crate::world::World;

/// A sandbox.
pub(crate) struct Sandbox {
    pub(crate) actor: Arc<Actor>,
    /// Whether it runs the program from before the newer schema version.
    pub(crate) is_old: bool,
    clock: TokioClock,
    function: Arc<dyn Function>,
}

/// What an invocation answers.
pub(crate) type Answer = Result<SqsBatchResponse, BatchError>;

trait Function: Send + Sync {
    fn invoke(self: Arc<Self>, event: IncomingEvent, invocation: Invocation) -> BoxFuture<'static, Answer>;
}

impl<P: OfLine> Function for BatchProcessor<Scripted<P>> {
    fn invoke(self: Arc<Self>, event: IncomingEvent, invocation: Invocation) -> BoxFuture<'static, Answer> {
        async move { self.process(event, &invocation, &mut std::io::sink()).await }.boxed()
    }
}

/// A clock of a machine: right, or wrong by up to what the run allows.
pub(crate) fn some_clock(world: &World) -> TokioClock {
    let skew = world.plan.skew;
    if skew.is_zero() || !world.is_troubled() || !world.plan.allows(Fault::ClockSkew) {
        return world.clock.clone();
    }
    world.happened(Fault::ClockSkew);
    let off = world.some_time(Duration::ZERO, skew);
    if world.roll(fastrand::Rng::bool) { world.clock.ahead(off) } else { world.clock.behind(off) }
}

impl Sandbox {
    /// A fresh sandbox, of the old program or of the new one.
    pub(crate) fn start(world: &Arc<World>, line: Line, name: String) -> Self {
        let actor = Actor::new(name);
        let is_old = world.plan.mixed_versions && world.is_troubled() && world.roll(fastrand::Rng::bool);
        let clock = some_clock(world);
        let function: Arc<dyn Function> = match line {
            Line::Charge => processor::<BillingCharge>(world, &actor, &clock),
            Line::Mail if is_old || !world.plan.mixed_versions => processor::<EmailSend>(world, &actor, &clock),
            Line::Mail => processor::<NewerMail>(world, &actor, &clock),
        };
        Self { actor, is_old, clock, function }
    }

    /// Runs an invocation.
    pub(crate) fn invoke(&self, world: &World, messages: Vec<SqsMessage>) -> BoxFuture<'static, Answer> {
        let deadline = self.clock.now() + world.plan.timeout;
        // Some local runtimes send a constant.
        let deadline = if world.strikes(Fault::DeadlineUnknown, 3) { EpochMillis::from_i64(600_000) } else { deadline };
        let invocation = Invocation { request_id: "request".to_owned(), deadline: Some(deadline) };
        self.function.clone().invoke(IncomingEvent { records: Some(messages) }, invocation)
    }
}

fn processor<P: OfLine>(world: &Arc<World>, actor: &Arc<Actor>, clock: &TokioClock) -> Arc<dyn Function> {
    let handler = Scripted::<P> { world: world.clone(), actor: actor.clone(), payload: PhantomData };
    let store: Arc<dyn JobStore> = mutated::workers_table(world, actor);
    let queue = TroubledQueue::new(world, actor, P::LINE.queue(), Deletes::Acknowledged);
    let queue: Arc<dyn Queue> = mutated::workers_queue(world, Arc::new(queue));
    let settings = stage::consumer_settings(world, P::LINE);
    Arc::new(BatchProcessor::new(handler, settings, store, queue, Arc::new(clock.clone())))
}
