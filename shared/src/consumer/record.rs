//! One job through a consumer: a flat pipeline, one step a function.
//!
//! ```text
//! read → circuit → budget → claim → rate → run → classify → settle
//! ```
//!
//! Reading is in [`reading`], settling in [`settling`]. A step either hands on to the next or stops with what became of the job. Visibility and the report follow for the whole batch
//! (see [`batch`](super::batch)).

mod reading;
mod settling;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;

use self::reading::Understood;
use super::budget::Budget;
use super::circuit::Pass;
use super::claimed::Claimed;
use super::completion::Completion;
use super::context::JobContext;
use super::core::Core;
use super::entry::Entry;
use super::failure::{Done, Failure};
use super::handler::Handler;
use super::outcome::Outcome;
use super::received::Received;
use crate::clock::EpochMillis;
use crate::idempotency::{Claim, Decision, EffectPolicy, ErrorClass, JobRecord, LastError, StoreError, Takeover, Verdict};
use crate::job::{Job, JobId, payload_digest};
use crate::visibility::Heartbeat;

/// When a job is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// With the others. A job that a worker died of steps back.
    WithOthers,
    /// After the others, by itself: whatever it does to the process, the others are settled.
    LastAndAlone,
}

/// Why the pipeline stopped.
pub(super) enum Stop {
    /// The job is through.
    Ended(Outcome),
    /// Come back when the others are through.
    Postponed,
}

impl From<Outcome> for Stop {
    fn from(outcome: Outcome) -> Self {
        Self::Ended(outcome)
    }
}

/// A job whose lease is ours.
struct Started {
    claimed: Arc<Claimed>,
    record: JobRecord,
    /// The claim noted the first try of the effect itself.
    noted_first_effect: bool,
}

/// One job on its way.
pub(super) struct JobRun<'a, H: Handler> {
    core: &'a Core<H>,
    received: &'a Received,
    entry: &'a Entry,
    budget: Budget,
    heartbeat: Option<&'a Heartbeat>,
    turn: Turn,
    /// How it passed the circuit, until the circuit was told what came of it.
    passed: Option<Pass>,
    /// For logs and metrics, as far as known.
    pub(super) job_id: Option<JobId>,
    pub(super) attempt: u32,
    pub(super) created_at: Option<EpochMillis>,
    pub(super) handler_time: Option<Duration>,
    /// What the job's caller is told, if it has ended and its caller wants to know.
    pub(super) completion: Option<Completion>,
}

impl<'a, H: Handler> JobRun<'a, H> {
    pub(super) fn new(
        core: &'a Core<H>,
        received: &'a Received,
        entry: &'a Entry,
        budget: Budget,
        heartbeat: Option<&'a Heartbeat>,
        turn: Turn,
    ) -> Self {
        Self {
            core,
            received,
            entry,
            budget,
            heartbeat,
            turn,
            passed: None,
            job_id: None,
            attempt: 0,
            created_at: None,
            handler_time: None,
            completion: None,
        }
    }

    /// The whole way.
    pub(super) async fn work(&mut self) -> Result<Outcome, Stop> {
        let ended = self.steps().await;
        if let Some(pass) = self.passed.take() {
            self.core.circuit.give_back(pass, tokio::time::Instant::now());
        }
        ended
    }

    async fn steps(&mut self) -> Result<Outcome, Stop> {
        let mut job = self.read().await?;
        self.pass_circuit()?;
        self.check_budget()?;
        let started = self.claim(&mut job).await?;
        let answer = match self.wait_for_rate().await {
            Ok(()) => self.run(&job.job, &started).await,
            Err(failure) => Err(failure),
        };
        Ok(self.settle(&started, answer).await)
    }

    /// What becomes of a job that is not started. A FIFO message on its last receive cannot come back, so its job gets its reason
    /// now, unless it has ended before.
    pub(super) async fn leave(&mut self) -> Outcome {
        if !self.is_last_chance() {
            return Outcome::NotStarted;
        }
        match self.give_up().await {
            Ok(outcome) | Err(Stop::Ended(outcome)) => outcome,
            Err(Stop::Postponed) => Outcome::NotStarted,
        }
    }

    async fn give_up(&mut self) -> Result<Outcome, Stop> {
        self.turn = Turn::LastAndAlone;
        let mut job = self.read().await?;
        let started = self.claim(&mut job).await?;
        Ok(self.settle(&started, Err(Failure::not_started())).await)
    }

    // -- circuit and budget --------------------------------------------------------------------------------------------------

    fn pass_circuit(&mut self) -> Result<(), Stop> {
        // On its last receive a FIFO message runs whatever the circuit says: it cannot be renewed.
        if self.is_last_chance() {
            return Ok(());
        }
        match self.core.circuit.pass(tokio::time::Instant::now()) {
            Ok(pass) => self.passed = Some(pass),
            Err(closed_for) => {
                return Err(Outcome::CircuitOpen(closed_for + self.jitter(self.core.settings.backoff.base)).into());
            }
        }
        Ok(())
    }

    fn check_budget(&self) -> Result<(), Stop> {
        self.budget.handler_time(self.core.clock.now()).map(drop).ok_or(Stop::Ended(Outcome::NotStarted))
    }

    // -- claim ---------------------------------------------------------------------------------------------------------------

    async fn claim(&mut self, job: &mut Understood<H>) -> Result<Started, Stop> {
        let core = self.core;
        let token = crate::token::unique().to_string();
        let mut answer = self.ask(self.claim_of(job, &token)).await;
        if let Ok(Decision { verdict: Verdict::PayloadMismatch, record: Some(record) }) = &answer
            && self.adopt_recorded_payload(job, record)
        {
            answer = self.ask(self.claim_of(job, &token)).await;
        }
        let decision = answer.map_err(|error| self.unrecorded(&error))?;
        let record = match decision.verdict {
            Verdict::Started(record) => *record,
            Verdict::Postponed => return Err(Stop::Postponed),
            Verdict::PayloadMismatch => {
                let message =
                    "the job's record belongs to a request with another payload; use a new idempotency key for new content";
                let error = LastError::new(ErrorClass::Permanent, "payload_mismatch", message);
                return Err(self.record_poison(error).await.into());
            }
            verdict => return Err(self.stopped(verdict, decision.record.as_deref()).into()),
        };
        self.note(&record);
        let noted_first_effect =
            core.handler.effect_policy().notes_first_effect() && record.first_effect_at == Some(record.updated_at);
        let claimed = Arc::new(Claimed::new(core.ledger.clone(), token, record.clone()));
        let started = Started { claimed, record, noted_first_effect };
        // From the claim on, also while the job waits for the rate.
        self.start_heartbeat(&started).await;
        Ok(started)
    }

    fn claim_of(&self, understood: &Understood<H>, token: &str) -> Claim {
        let (core, job) = (self.core, &understood.job);
        Claim {
            job_id: job.id.clone(),
            job_type: job.job_type.clone(),
            schema_version: job.schema_version,
            caller: format!("direct:{}", core.settings.queue_name.as_str()),
            idempotency_key: job.idempotency_key.as_str().to_owned(),
            business_id: job.business_id.clone(),
            payload_digest: payload_digest(&understood.payload),
            payload: understood.payload.clone(),
            token: token.to_owned(),
            lease_until: self.budget.lease_until(core.clock.now(), &core.settings),
            sent_at: self.received.sent_at,
            takeover: if self.turn == Turn::LastAndAlone { Takeover::Now } else { Takeover::Postpone },
            rules: core.rules(),
        }
    }

    /// The first call after a freeze may fail, and an answer may get lost: one more try, which recognises what the first one wrote.
    async fn ask(&self, claim: Claim) -> Result<Decision, StoreError> {
        match self.in_time(self.core.ledger.claim(claim.clone())).await {
            Err(StoreError::Unreachable { .. }) => self.in_time(self.core.ledger.claim(claim)).await,
            answered => answered,
        }
    }

    /// A table that hangs for one record must not cost the others their answer.
    async fn in_time<T>(&self, asked: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let patience = self.budget.settling_end.since(self.core.clock.now());
        let late = |elapsed| StoreError::Unreachable {
            operation: "an answer in time",
            code: "timed out".to_owned(),
            source: Box::new(elapsed),
        };
        tokio::time::timeout(patience, asked).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
    }

    fn note(&mut self, record: &JobRecord) {
        self.attempt = record.attempts;
        self.created_at = Some(record.created_at);
    }

    // -- rate and run --------------------------------------------------------------------------------------------------------

    async fn wait_for_rate(&self) -> Result<(), Failure> {
        let Some(rate) = &self.core.rate else { return Ok(()) };
        let patience = self.budget.handler_time(self.core.clock.now()).ok_or_else(Failure::not_started)?;
        let wait = rate.reserve(tokio::time::Instant::now(), patience / 2).map_err(Failure::rate_reached)?;
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// Runs the handler, whatever it does: a panic, a missed deadline and a lost lease end this record only.
    async fn run(&mut self, job: &Job<H::Payload>, started: &Started) -> Result<Done, Failure> {
        if started.claimed.is_lost() {
            return Err(Failure::lease_lost());
        }
        let now = self.core.clock.now();
        let time = self.budget.handler_time(now).ok_or_else(Failure::not_started)?;
        let context = JobContext {
            claimed: started.claimed.clone(),
            clock: self.core.clock.clone(),
            data: started.record.data.clone(),
            progress: started.record.progress.clone(),
            created_at: started.record.created_at,
            attempt: started.record.attempts,
            generation: started.record.generation,
            first_effect_at: started.record.first_effect_at.filter(|_| !started.noted_first_effect),
            ends_at: now + time,
            skew: self.core.settings.lease_skew,
        };
        let began = tokio::time::Instant::now();
        let answer = {
            let handler = AssertUnwindSafe(async { self.core.handler.handle(job, &context).await }).catch_unwind();
            let lost_before_effect = async {
                started.claimed.lost().await;
                if started.claimed.effect_begun() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                biased;
                ended = handler => ended.unwrap_or_else(|_| Err(panicked(self.core.handler.effect_policy()))),
                () = lost_before_effect => Err(Failure::lease_lost()),
                () = tokio::time::sleep(time) => Err(timed_out(self.core.handler.effect_policy())),
            }
        };
        self.handler_time = Some(began.elapsed());
        answer
    }

    async fn start_heartbeat(&self, started: &Started) {
        if let Some(heartbeat) = self.heartbeat {
            heartbeat.hold(self.received.receipt_handle.clone(), started.claimed.clone()).await;
        }
    }

    // -- what a record answered ----------------------------------------------------------------------------------------------

    /// The verdicts that stop a job before its handler, and the record they are about. Of a job that had ended before its caller is told
    /// once more: the worker that ended it may have died before its event was out.
    fn stopped(&mut self, verdict: Verdict, record: Option<&JobRecord>) -> Outcome {
        self.completion = record.and_then(Completion::of_ended);
        match verdict {
            Verdict::AlreadySucceeded(_) => Outcome::Duplicate,
            Verdict::Cancelled => Outcome::Cancelled,
            Verdict::RunningElsewhere(until) | Verdict::NotDue(until) => {
                Outcome::Waits(until.since(self.core.clock.now()) + self.jitter(Duration::from_secs(1)))
            }
            Verdict::Dead(error) => Outcome::Died(error),
            Verdict::InDoubt(error) => Outcome::InDoubt(error),
            Verdict::WasDead(error) | Verdict::WasInDoubt(error) => Outcome::EndedBefore(error),
            // Anything else is not an answer to a claim. Not known to be done, so failed.
            other => {
                let message = format!("the record answered {}", verdict_name(&other));
                Outcome::Unrecorded(
                    self.core.settings.backoff.base,
                    LastError::new(ErrorClass::Transient, "unexpected_verdict", message),
                )
            }
        }
    }

    fn unrecorded(&self, error: &StoreError) -> Outcome {
        let delay = self.core.settings.backoff.delay(self.received.receive_count, fastrand::f64());
        Outcome::Unrecorded(delay, LastError::new(ErrorClass::Transient, error.code(), error.to_string()))
    }

    /// A FIFO message cannot be renewed: what wants to come back on its last receive is given up with a reason instead.
    fn is_last_chance(&self) -> bool {
        self.core.is_last_chance(self.received)
    }

    fn jitter(&self, most: Duration) -> Duration {
        most.mul_f64(fastrand::f64())
    }
}

/// As with a missed deadline, nobody knows about the effect. Where a repetition is harmless for ever that does not matter.
fn panicked(effect: EffectPolicy) -> Failure {
    let (code, message) = ("handler_panicked", "the handler panicked; its location is in the log");
    match effect {
        EffectPolicy::Rerun { idempotent_for: Some(_), .. } => Failure::ambiguous(code, message),
        _ => Failure::retry(code, message),
    }
}

/// Under `hold` it is the record that knows whether an effect had begun; under `rerun` nobody does.
fn timed_out(effect: EffectPolicy) -> Failure {
    let (code, message) = ("handler_timed_out", "the handler was stopped at its deadline");
    match effect {
        EffectPolicy::Hold => Failure::retry(code, message),
        EffectPolicy::Rerun { .. } => Failure::ambiguous(code, message),
    }
}

fn verdict_name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::LeaseLost => "lease lost",
        Verdict::Missing => "missing",
        _ => "something else",
    }
}
