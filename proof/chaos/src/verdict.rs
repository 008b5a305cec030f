//! The reckoning: what was promised, held against what was counted. Pure, so that each way to fail can be tried.

use std::collections::{BTreeMap, BTreeSet};

use ikkai::idempotency::Status;
use serde::Serialize;

use crate::book::{Heard, Kind};
use crate::fault::Fault;

/// What the table says about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Where it stands.
    pub status: Status,
    /// Handler starts since it was last put back.
    pub attempts: u32,
    /// Workers that died or outlived their lease with it since it was last put back.
    pub crashes: u32,
    /// How often it was put back.
    pub generation: u32,
    /// Why it last failed.
    pub reason: Option<String>,
}

/// What was counted about a job that somebody posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// What it asks for.
    pub kind: Kind,
    /// What its client knows.
    pub heard: Heard,
    /// Its record, where there is one.
    pub record: Option<Recorded>,
    /// Mails or payments that its provider has taken, by the provider's own books.
    pub effects: u64,
    /// How often its success was told, where somebody wanted to be told.
    pub told: Option<u64>,
}

/// What was counted about a delivery: a job that the kit makes itself, of the end of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id.
    pub id: String,
    /// Its record.
    pub record: Recorded,
    /// How often the receiver was told of that end.
    pub told: u64,
}

/// A message in a dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Which queue.
    pub queue: String,
    /// The job in it.
    pub job: Option<String>,
}

/// Everything that was counted when all was over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// What was posted.
    pub jobs: Vec<Job>,
    /// What the kit made of it.
    pub deliveries: Vec<Delivery>,
    /// Mails in the provider's box, of whatever job.
    pub mails: u64,
    /// Payments in the provider's books, of whatever job.
    pub payments: u64,
    /// What is left in the dead-letter queues.
    pub dead_letters: Vec<DeadLetter>,
    /// How many messages are left in the queues, of those that hold any.
    pub waiting: BTreeMap<String, usize>,
    /// How often each kind of fault has happened that was to happen.
    pub faults: BTreeMap<Fault, u64>,
}

impl Evidence {
    /// The records of all jobs.
    fn records(&self) -> impl Iterator<Item = &Recorded> {
        let of_jobs = self.jobs.iter().filter_map(|job| job.record.as_ref());
        of_jobs.chain(self.deliveries.iter().map(|delivery| &delivery.record))
    }

    /// Jobs, deliveries among them, whose worker died or outlived its lease.
    #[must_use]
    pub fn crashes(&self) -> u64 {
        self.records().filter(|record| record.crashes > 0).count() as u64
    }

    /// Jobs, deliveries among them, that took more than one attempt.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.records().filter(|record| record.attempts > 1).count() as u64
    }
}

/// The most handler starts of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of a mail.
    pub mail: u32,
    /// Of a charge.
    pub charge: u32,
    /// Of a delivery.
    pub delivery: u32,
}

/// What kind of promise was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Broken {
    /// A client heard 202, and there is no record.
    Vanished,
    /// It has not ended, although nothing goes wrong any more.
    NeverEnded,
    /// It can be done, was put back, and is dead.
    StaysDead,
    /// It is in doubt, although somebody has looked at its provider and said what they saw.
    StaysInDoubt,
    /// It is done by its record, and its provider knows nothing of it.
    NotDone,
    /// Its effect happened more than once.
    Doubled,
    /// Its handler was started more often than allowed.
    TooManyAttempts,
    /// Somebody wanted to hear of its success and did not.
    Untold,
    /// A message lies in a dead-letter queue for no reason.
    UnexplainedDeadLetter,
    /// A queue still holds messages.
    QueueNotEmpty,
    /// The provider has effects that belong to no job.
    StrayEffects,
    /// Something was not there to be counted, so its promises were not tried.
    NothingCounted,
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which.
    pub broken: Broken,
    /// By what became of which job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// What was found.
    pub found: String,
}

/// A job of which nobody knows whether its effect happened; an operator looks at the provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// Which.
    pub job: String,
    /// Why it is in doubt.
    pub reason: Option<String>,
    /// How often it was put back before: an operator says whose doubt is meant.
    pub generation: u32,
    /// What its provider has taken: what the operator would find.
    pub effects: u64,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Promises that were broken.
    pub violations: Vec<Violation>,
    /// Jobs in doubt.
    pub doubts: Vec<Doubt>,
}

impl Verdict {
    /// The same where every doubt was settled: one that is left is a promise broken.
    #[must_use]
    pub fn without_doubt(mut self) -> Self {
        let left = self.doubts.drain(..).map(|doubt| Violation {
            broken: Broken::StaysInDoubt,
            job: Some(doubt.job),
            found: doubt.reason.unwrap_or_else(|| "no reason".to_owned()),
        });
        self.violations.extend(left);
        self
    }

    /// Whether every promise was kept.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.violations.is_empty()
    }
}

/// Holds the promises against what was counted.
#[must_use]
pub fn judge(evidence: &Evidence, limits: Limits) -> Verdict {
    let mut verdict = Verdict { doubts: doubts(evidence), ..Verdict::default() };
    verdict.violations.extend(evidence.jobs.iter().flat_map(|job| of_job(job, limits)));
    verdict.violations.extend(evidence.deliveries.iter().flat_map(|delivery| of_delivery(delivery, limits)));
    verdict.violations.extend(of_queues(evidence));
    verdict.violations.extend(of_strays(evidence));
    verdict.violations.extend(of_nothing(evidence));
    verdict
}

/// The jobs in doubt, deliveries among them.
#[must_use]
pub fn doubts(evidence: &Evidence) -> Vec<Doubt> {
    let jobs = evidence.jobs.iter().filter_map(|job| doubt(&job.id, job.record.as_ref()?, job.effects));
    let deliveries = evidence.deliveries.iter().filter_map(|delivery| doubt(&delivery.id, &delivery.record, delivery.told));
    jobs.chain(deliveries).collect()
}

fn doubt(id: &str, record: &Recorded, effects: u64) -> Option<Doubt> {
    let (reason, generation) = (record.reason.clone(), record.generation);
    (record.status == Status::InDoubt).then(|| Doubt { job: id.to_owned(), reason, generation, effects })
}

fn of_job(job: &Job, limits: Limits) -> Vec<Violation> {
    let most = match job.kind {
        Kind::Mail => limits.mail,
        Kind::Charge => limits.charge,
    };
    let mut broken = Vec::new();
    let mut add = |what, found: String| broken.push(Violation { broken: what, job: Some(job.id.clone()), found });
    // Whatever its client heard: nothing may happen twice.
    if job.effects > 1 {
        add(Broken::Doubled, format!("{} effects", job.effects));
    }
    let Some(record) = &job.record else {
        if job.heard == Heard::Accepted {
            add(Broken::Vanished, "no record".to_owned());
        }
        if job.effects > 0 {
            add(Broken::StrayEffects, format!("{} effects of a job without a record", job.effects));
        }
        return broken;
    };
    match record.status {
        Status::Succeeded if job.effects == 0 => add(Broken::NotDone, "succeeded, and no effect".to_owned()),
        Status::Succeeded | Status::InDoubt | Status::Cancelled => {}
        Status::Dead => add(Broken::StaysDead, reason(record)),
        // Its message may never have been sent, and nobody was promised anything.
        Status::Accepted if job.heard == Heard::Nothing => {}
        status => add(Broken::NeverEnded, format!("{status}{}", in_brackets(record))),
    }
    if record.attempts > most {
        add(Broken::TooManyAttempts, format!("{} attempts of {most}", record.attempts));
    }
    if record.status == Status::Succeeded && job.told == Some(0) {
        add(Broken::Untold, "succeeded, and nobody was told".to_owned());
    }
    broken
}

fn of_delivery(delivery: &Delivery, limits: Limits) -> Vec<Violation> {
    let record = &delivery.record;
    let mut broken = Vec::new();
    let mut add = |what, found: String| broken.push(Violation { broken: what, job: Some(delivery.id.clone()), found });
    match record.status {
        Status::Succeeded if delivery.told == 0 => add(Broken::NotDone, "succeeded, and nobody was told".to_owned()),
        Status::Succeeded | Status::InDoubt | Status::Cancelled => {}
        Status::Dead => add(Broken::StaysDead, reason(record)),
        status => add(Broken::NeverEnded, format!("{status}{}", in_brackets(record))),
    }
    if record.attempts > limits.delivery {
        add(Broken::TooManyAttempts, format!("{} attempts of {}", record.attempts, limits.delivery));
    }
    broken
}

/// What is in doubt lies in a dead-letter queue until an operator has looked; nothing else does.
fn of_queues(evidence: &Evidence) -> Vec<Violation> {
    let in_doubt: BTreeSet<String> = doubts(evidence).into_iter().map(|doubt| doubt.job).collect();
    let unexplained = evidence.dead_letters.iter().filter(|letter| letter.job.as_ref().is_none_or(|job| !in_doubt.contains(job)));
    let unexplained = unexplained.map(|letter| Violation {
        broken: Broken::UnexplainedDeadLetter,
        job: letter.job.clone(),
        found: format!("a message in {}", letter.queue),
    });
    let waiting = evidence.waiting.iter().filter(|(_, count)| **count > 0);
    let waiting = waiting.map(|(queue, count)| Violation {
        broken: Broken::QueueNotEmpty,
        job: None,
        found: format!("{count} messages in {queue}"),
    });
    unexplained.chain(waiting).collect()
}

/// The providers' books as a whole agree with what was counted job by job: else the counting is wrong.
fn of_strays(evidence: &Evidence) -> Vec<Violation> {
    let of = |kind: Kind| evidence.jobs.iter().filter(|job| job.kind == kind).map(|job| job.effects).sum::<u64>();
    let compared = [("mails", evidence.mails, of(Kind::Mail)), ("payments", evidence.payments, of(Kind::Charge))];
    let differs = compared.into_iter().filter(|(_, all, by_job)| all != by_job);
    differs
        .map(|(what, all, by_job)| Violation {
            broken: Broken::StrayEffects,
            job: None,
            found: format!("{all} {what} in all, {by_job} counted job by job"),
        })
        .collect()
}

/// What was not there was not tried.
fn of_nothing(evidence: &Evidence) -> Vec<Violation> {
    let accepted = evidence.jobs.iter().filter(|job| job.heard == Heard::Accepted).count() as u64;
    let succeeded = |job: &&Job| job.record.as_ref().is_some_and(|record| record.status == Status::Succeeded);
    let done = evidence.jobs.iter().filter(succeeded).count() as u64;
    let told: u64 = evidence.jobs.iter().filter_map(|job| job.told).sum();
    let counts = [
        ("accepted jobs", accepted),
        ("jobs that succeeded", done),
        ("mails", evidence.mails),
        ("payments", evidence.payments),
        ("deliveries", told),
        ("kinds of faults", evidence.faults.len() as u64),
    ];
    let counts = counts.into_iter().chain(evidence.faults.iter().map(|(fault, count)| (fault.name(), *count)));
    // Who dies, or stands still for longer than the lease, with nothing in hand tries nothing.
    let someone_dies = [Fault::Kill, Fault::Freeze].iter().any(|fault| evidence.faults.contains_key(fault));
    let crashes = someone_dies.then(|| ("jobs that their worker left", evidence.crashes()));
    let counts = counts.chain(crashes);
    let nothing = counts.filter(|(_, count)| *count == 0);
    nothing.map(|(what, _)| Violation { broken: Broken::NothingCounted, job: None, found: format!("no {what}") }).collect()
}

fn reason(record: &Recorded) -> String {
    record.reason.clone().unwrap_or_else(|| "no reason".to_owned())
}

fn in_brackets(record: &Recorded) -> String {
    record.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"))
}
