//! One seed, one run: trouble, then calm, then the reckoning.

use std::sync::Arc;
use std::time::Duration;

use ikkai::idempotency::{ErrorClass, JobRecord, Status};
use ikkai::testing::seed_tokens;
use serde_json::json;
use tokio::runtime::Builder;

use crate::clients::{self, Door, Wish};
use crate::fault::{Fault, Tally};
use crate::mapping::Poller;
use crate::mutant::Mutant;
use crate::operators::{Books, NOTHING_IS_ON_ITS_WAY, Operator};
use crate::oracle;
use crate::plan::Sweeping;
use crate::stage::{self, Line};
use crate::world::World;

/// What came out of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// Calls to the table, the queues, the provider, the journal and the API.
    pub calls: u64,
    /// What went wrong.
    pub faults: Tally,
    /// The laws that were broken. None: all is well.
    pub violations: Vec<String>,
    /// What happened, line by line, where that was asked for.
    pub timeline: Vec<String>,
}

/// Plays the run of a seed. The same seed is the same run, on every machine.
///
/// # Panics
/// When there can be no runtime.
#[must_use]
pub fn play(seed: u64, mutant: Option<Mutant>, with_timeline: bool) -> Outcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    seed_tokens(Some(seed));
    let world = runtime.block_on(async {
        let world = World::new(seed, mutant, with_timeline);
        world.tell("plan", || format!("{:?}", world.plan));
        whole_run(&world).await;
        world
    });
    seed_tokens(None);
    for law in world.table.broken() {
        world.broken(law);
    }
    Outcome { seed, calls: world.calls(), faults: world.faults(), violations: world.violations(), timeline: world.timeline() }
}

async fn whole_run(world: &Arc<World>) {
    stage::set_up(world);
    for line in Line::ALL {
        for number in 0..world.plan.concurrency {
            tokio::spawn(Poller::new(world, line, number).run());
        }
    }
    let doors: Arc<Vec<Door>> = Arc::new((0..2).map(|number| Door::open(world, number)).collect());
    let books = Books::default();
    trouble(world, &doors, &books).await;
    world.calm_down();
    world.tell("run", || "nothing goes wrong any more".to_owned());
    let mut operator = Operator::new(world, &books, 9);
    settle(world, &mut operator).await;
    if !world.is_broken() {
        oracle::reckon(world);
    }
    if let (Some(sweeping), false) = (world.plan.late_life, world.is_broken()) {
        live_again(world, &doors, sweeping).await;
    }
}

/// Clients, strays and operators, all at once, while calls fail and workers die.
async fn trouble(world: &Arc<World>, doors: &Arc<Vec<Door>>, books: &Books) {
    let clients = (0..world.plan.jobs).map(|number| {
        let line = if world.roll(fastrand::Rng::bool) { Line::Mail } else { Line::Charge };
        tokio::spawn(clients::client(world.clone(), doors.clone(), Wish { line, name: format!("{}-{number}", line.name()) }))
    });
    let clients: Vec<_> = clients.collect();
    let strays = tokio::spawn(clients::strays(world.clone()));
    let operators = (0..world.plan.operators).map(|number| tokio::spawn(Operator::new(world, books, number).work()));
    let operators: Vec<_> = operators.collect();
    tokio::time::sleep(world.plan.troubled_for).await;
    for client in clients {
        drop(client.await);
    }
    drop(strays.await);
    world.calm_down();
    for operator in operators {
        drop(operator.await);
    }
}

/// An operator who is willing, on services that work: until every job has ended.
async fn settle(world: &Arc<World>, operator: &mut Operator) {
    const ROUNDS: u32 = 12;
    for _ in 0..ROUNDS {
        quiet(world).await;
        if world.is_broken() || is_settled(world) {
            return;
        }
        let records = world.table.all();
        let accepted = world.all_accepted();
        if records.iter().any(|record| record.status == Status::InDoubt) {
            tokio::time::sleep(NOTHING_IS_ON_ITS_WAY).await;
        }
        for record in records.iter().filter(|record| record.status == Status::InDoubt) {
            operator.resolve(record).await;
        }
        for line in Line::ALL.into_iter().filter(|line| world.sqs.next_due(line.dead_letters()).is_some()) {
            let is_poison =
                |record: &JobRecord| record.last_error.as_ref().is_some_and(|error| error.class == ErrorClass::Poison);
            if records.iter().any(is_poison) {
                operator.discard(line, json!({"classes": ["poison"]})).await;
            }
            let strays: Vec<&str> = records
                .iter()
                .filter(|record| record.status == Status::Dead && Line::of_job(record.job_id.as_str()) == line)
                .filter(|record| record.schema_version == 9 && !accepted.iter().any(|(job_id, _)| *job_id == record.job_id))
                .map(|record| record.job_id.as_str())
                .collect();
            if !strays.is_empty() {
                operator.discard(line, json!({"jobIds": strays})).await;
            }
            operator.redrive(line, json!({"overrideQuarantine": true, "max": 1000})).await;
        }
        // What an operator who died has looked at is hidden for a while.
        tokio::time::sleep(Duration::from_secs(200)).await;
    }
    quiet(world).await;
    if !is_settled(world) {
        let left: Vec<_> = world.table.all().iter().map(|record| format!("{} {}", record.job_id, record.status)).collect();
        world.broken(format!("putting back does not end: {}", left.join(", ")));
    }
}

/// Waits until no consumer's queue holds anything.
async fn quiet(world: &World) {
    const LONGEST: Duration = Duration::from_secs(86_400);
    let begun = tokio::time::Instant::now();
    while Line::ALL.iter().any(|line| world.sqs.next_due(line.queue()).is_some()) {
        if begun.elapsed() > LONGEST {
            world.broken("a queue does not become empty in a day");
            return;
        }
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
}

/// Whether nothing is left to be done by anybody.
fn is_settled(world: &World) -> bool {
    let in_doubt = || world.table.all().iter().any(|record| record.status == Status::InDoubt);
    Line::ALL.iter().all(|line| world.sqs.next_due(line.dead_letters()).is_none()) && !in_doubt()
}

/// A client makes a request once more, long after its job has ended: the key is free again, and the job runs once more.
async fn live_again(world: &Arc<World>, doors: &[Door], sweeping: Sweeping) {
    let ended = |status| matches!(status, Some(Status::Succeeded));
    let Some((job_id, name)) = world.all_accepted().into_iter().find(|(job_id, _)| ended(world.table.status(job_id))) else {
        return;
    };
    tokio::time::sleep(stage::RECORD_RETENTION + Duration::from_secs(86_400)).await;
    match sweeping {
        Sweeping::InTime => world.table.records.remove(&job_id),
        Sweeping::Late => world.happened(Fault::LateExpiry),
    }
    world.tell("run", || format!("{job_id} has expired, and is posted once more"));
    let line = Line::of_job(job_id.as_str());
    world.provider(line).forget(&job_id);
    clients::post(world, &doors[0], &Wish { line, name }).await;
    quiet(world).await;
    oracle::lived_again(world, line, &job_id);
}
