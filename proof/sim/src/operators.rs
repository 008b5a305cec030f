//! Operators at their desk: the real redrive function, on the run's services.

mod journal;
mod moving;

use std::sync::Arc;
use std::time::Duration;

use dlq_redrive::archive::MemoryArchive;
use dlq_redrive::{Invocation, Limits, StackQueue, StackQueues, SweepRules, Workbench};
use ikkai::clock::Clock;
use ikkai::idempotency::{JobRecord, Ledger, Status};
use ikkai::job::find;
use ikkai::observability::Metrics;
use ikkai::queue::QueueName;
use ikkai::testing::TokioClock;
use serde_json::{Value, json};

pub(crate) use self::journal::Books;
use self::journal::TroubledJournal;
use self::moving::NativeMoves;
use crate::actor::Actor;
use crate::fault::Fault;
use crate::interrupted::{Fate, Interrupted};
use crate::laws::Deletes;
use crate::mutated::{self, Stash};
use crate::sandbox::some_clock;
use crate::stage::{self, Line};
use crate::troubled_queue::TroubledQueue;
use crate::world::World;

/// How long an invocation of the operators' function may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// So long after a doubt nothing can be on its way to the provider any more: neither a slow request, nor one of a worker that stood still. Whoever
/// looks earlier may see no effect, say that the job shall run again, and have two.
pub(crate) const NOTHING_IS_ON_ITS_WAY: Duration = Duration::from_secs(720);

/// An operator, with the function's sandbox that answers them.
pub(crate) struct Operator {
    world: Arc<World>,
    actor: Arc<Actor>,
    clock: TokioClock,
    workbench: Workbench,
    runs: u32,
}

impl Operator {
    pub(crate) fn new(world: &Arc<World>, books: &Books, number: u32) -> Self {
        let actor = Actor::new(format!("operator.{number}"));
        let stash = Stash::default();
        let clock = some_clock(world);
        let table = mutated::operators_table(world, &actor, &stash);
        let queue = |name: &str| {
            let queue = TroubledQueue::new(world, &actor, name, Deletes::PutBack);
            mutated::operators_queue(world, Arc::new(queue), &stash)
        };
        let queues = Line::ALL.map(|line| StackQueue {
            name: line.name().to_owned(),
            kind: find(line.job_type()).expect("a registered type"),
            queue_name: QueueName::new(line.queue()),
            dead_letter_queue_name: QueueName::new(line.dead_letters()),
            queue: queue(line.queue()),
            dead_letters: queue(line.dead_letters()),
        });
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let workbench = Workbench {
            queues: StackQueues::new(queues.to_vec()),
            records: table.clone(),
            ledger: Ledger::new(table, shared.clone()),
            journal: Arc::new(TroubledJournal { world: world.clone(), inner: books.clone() }),
            archive: Arc::new(MemoryArchive::new()),
            stuck: Arc::new(ikkai::testing::MemoryStore::new()),
            move_tasks: Arc::new(NativeMoves { world: world.clone() }),
            clock: shared,
            metrics: Metrics::new("Ikkai", "dlq-redrive"),
            limits: Limits {
                max_generations: 10,
                record_retention: stage::RECORD_RETENTION,
                sweep: SweepRules { hidden_for: TIMEOUT * 2, wait: Duration::ZERO, empties: 2 },
                reserve: Duration::from_secs(20),
                lock_between_parts: Duration::from_secs(120),
            },
        };
        Self { world: world.clone(), actor, clock, workbench, runs: 0 }
    }

    /// Asks the function. `None`: it died, and nobody answers.
    async fn ask(&self, request: Value) -> Option<Value> {
        let world = &self.world;
        world.called();
        let invocation = Invocation { deadline: self.clock.now() + TIMEOUT, caller: None, request_id: "request".to_owned() };
        let told = request["action"].as_str().unwrap_or_default().to_owned();
        world.tell(&self.actor.name, || format!("asks for {request}"));
        let fate = Fate::mortal(world, Fault::OperatorCrashed, world.plan.crashes * 2, 40);
        let answer = Interrupted::new(world, &self.actor, fate, self.workbench.answer(request, &invocation));
        let answer = tokio::time::timeout(TIMEOUT, answer).await.ok().flatten()?.to_json();
        world.tell(&self.actor.name, || format!("{told} answered: {answer}"));
        Some(answer)
    }

    /// Puts back what a filter means, part by part until the run is over. Whoever hears nothing asks again.
    pub(crate) async fn redrive(&mut self, line: Line, terms: Value) {
        self.runs += 1;
        let run_id = format!("{}-{}", self.actor.name, self.runs);
        let mut request = json!({
            "action": "redrive", "queue": line.name(), "reason": "simulated", "runId": run_id, "ratePerSecond": 100,
            "stopAtReturnedPercent": 100
        });
        if let (Some(request), Value::Object(terms)) = (request.as_object_mut(), terms) {
            request.extend(terms);
        }
        for _ in 0..6 {
            let answer = self.ask(request.clone()).await;
            let answer = answer.unwrap_or_default();
            if answer["state"] == "continues" {
                request["cursor"] = answer["cursor"].clone();
            } else if answer["ok"] == true {
                return;
            }
            let pause = answer["continueAfterSeconds"].as_u64().or(answer["error"]["retryAfterSeconds"].as_u64()).unwrap_or(5);
            tokio::time::sleep(Duration::from_secs(pause + 1)).await;
        }
    }

    /// Removes what a filter means.
    pub(crate) async fn discard(&mut self, line: Line, filter: Value) {
        let request = json!({"action": "discard", "deadLetterQueue": line.dead_letters(), "reason": "simulated", "filter": filter, "max": 1000});
        self.ask(request).await;
    }

    /// Looks at the provider, and says what became of a job in doubt.
    pub(crate) async fn resolve(&mut self, doubtful: &JobRecord) {
        let world = &self.world;
        let line = Line::of_job(doubtful.job_id.as_str());
        let is_done = world.provider(line).effects(&doubtful.job_id) > 0;
        if !is_done {
            // What is said may be written although nobody answers.
            world.allow_again(&doubtful.job_id);
        }
        let word = if is_done { "done" } else { "runAgain" };
        let request = json!({
            "action": "resolve", "jobId": doubtful.job_id.as_str(), "as": word, "generation": doubtful.generation, "reason": "simulated"
        });
        self.ask(request).await;
    }

    /// Does one thing after the other while things go wrong.
    pub(crate) async fn work(mut self) {
        let world = self.world.clone();
        loop {
            tokio::time::sleep(world.some_time(Duration::from_secs(60), Duration::from_secs(900))).await;
            if !world.is_troubled() {
                return;
            }
            let line = if world.roll(fastrand::Rng::bool) { Line::Mail } else { Line::Charge };
            match world.roll(|dice| dice.u8(0..10)) {
                0..=3 => {
                    let canary = u32::from(world.chance(20));
                    self.redrive(
                        line,
                        json!({"max": world.roll(|dice| dice.u32(1..20)), "canary": canary, "canaryTimeoutSeconds": 60}),
                    )
                    .await;
                }
                4..=5 => moving::native(&world, line).await,
                6..=7 => {
                    let doubtful = world.table.all().into_iter().find(|record| {
                        record.status == Status::InDoubt && record.updated_at + NOTHING_IS_ON_ITS_WAY < world.now()
                    });
                    if let Some(doubtful) = doubtful {
                        self.resolve(&doubtful).await;
                    }
                }
                8 if world.chance(30) => self.discard(line, json!({"classes": ["permanent"]})).await,
                _ => {
                    let dead = world.table.all().into_iter().find(|record| record.status == Status::Dead);
                    if let Some(dead) = dead {
                        let named = json!({"filter": {"jobIds": [dead.job_id.as_str()]}});
                        self.redrive(Line::of_job(dead.job_id.as_str()), named).await;
                    }
                }
            }
        }
    }
}
