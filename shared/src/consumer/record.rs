//! One record through a consumer: a flat pipeline, one step a function.
//!
//! ```text
//! parse → circuit → budget → claim → rate → run → classify → settle
//! ```
//!
//! A step either hands on to the next or stops with what became of the record. Visibility and the report follow for the whole batch
//! (see [`batch`](super::batch)).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use uuid::Uuid;

use super::budget::Budget;
use super::circuit::Pass;
use super::claimed::Claimed;
use super::context::JobContext;
use super::core::Core;
use super::failure::{Done, Failure, FailureKind};
use super::handler::Handler;
use super::outcome::Outcome;
use super::received::Received;
use crate::clock::EpochMillis;
use crate::idempotency::{
    Certainty, Claim, Created, EffectPolicy, Ending, ErrorClass, Event, Failing, JobRecord, LastError, Status, StoreError,
    Takeover, Verdict,
};
use crate::job::{Envelope, EnvelopeError, Header, Job, JobId, Parsed, decode, payload_digest};
use crate::visibility::Heartbeat;

/// When a record is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// With the others. A job whose last worker died steps back.
    WithOthers,
    /// After the others, by itself: whatever it does to the process, the others are settled.
    LastAndAlone,
}

/// Why the pipeline stopped.
pub(super) enum Stop {
    /// The record is through.
    Ended(Outcome),
    /// Come back when the others are through, with the claim if it is held already.
    Postponed(Option<Box<Started>>),
}

impl From<Outcome> for Stop {
    fn from(outcome: Outcome) -> Self {
        Self::Ended(outcome)
    }
}

/// A job whose lease is ours.
pub(super) struct Started {
    claimed: Arc<Claimed>,
    record: JobRecord,
    /// The claim noted the first try of the effect itself.
    noted_first_effect: bool,
}

/// One record on its way.
pub(super) struct RecordRun<'a, H: Handler> {
    core: &'a Core<H>,
    received: &'a Received,
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
}

impl<'a, H: Handler> RecordRun<'a, H> {
    pub(super) fn new(
        core: &'a Core<H>,
        received: &'a Received,
        budget: Budget,
        heartbeat: Option<&'a Heartbeat>,
        turn: Turn,
    ) -> Self {
        Self {
            core,
            received,
            budget,
            heartbeat,
            turn,
            passed: None,
            job_id: None,
            attempt: 0,
            created_at: None,
            handler_time: None,
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
        let envelope = self.parse().await?;
        let (job, payload) = self.understand(envelope).await?;
        self.pass_circuit()?;
        self.check_budget()?;
        let started = self.claim(&job, payload).await?;
        self.finish(job, started).await
    }

    /// The rest of the way for a job whose claim was held back.
    pub(super) async fn resume(&mut self, started: Box<Started>) -> Result<Outcome, Stop> {
        let envelope = self.parse().await?;
        let (job, _) = self.understand(envelope).await?;
        self.note(&started.record);
        self.finish(job, *started).await
    }

    /// What becomes of a record that was not started. A FIFO message on its last receive cannot come back, so its job gets its reason
    /// now, unless it has ended before.
    pub(super) async fn leave(&mut self) -> Outcome {
        if !self.is_last_chance() {
            return Outcome::NotStarted;
        }
        match self.give_up().await {
            Ok(outcome) | Err(Stop::Ended(outcome)) => outcome,
            Err(Stop::Postponed(_)) => Outcome::NotStarted,
        }
    }

    async fn give_up(&mut self) -> Result<Outcome, Stop> {
        self.turn = Turn::LastAndAlone;
        let envelope = self.parse().await?;
        let (job, payload) = self.understand(envelope).await?;
        let started = self.claim(&job, payload).await?;
        Ok(self.settle(&started, Err(Failure::not_started())).await)
    }

    async fn finish(&mut self, job: Job<H::Payload>, started: Started) -> Result<Outcome, Stop> {
        let answer = match self.wait_for_rate().await {
            Ok(()) => self.run(&job, &started).await,
            Err(failure) => Err(failure),
        };
        let settled = self.settle(&started, answer).await;
        Ok(settled)
    }

    // -- parse ---------------------------------------------------------------------------------------------------------------

    async fn parse(&mut self) -> Result<Envelope, Stop> {
        match guarded(|| Envelope::parse(self.received.body(), &self.core.kind)) {
            Ok(Ok(Parsed::Job(envelope))) => Ok(envelope),
            Ok(Ok(Parsed::TooNew(header))) => Err(self.hold_schema(&header).await.into()),
            Ok(Err(error)) => Err(self.reject(&error).await.into()),
            Err(panicked) => Err(self.record_poison(panicked).await.into()),
        }
    }

    /// A body that cannot be understood: recorded dead under its message id, with the reason and without the body.
    async fn reject(&mut self, error: &EnvelopeError) -> Outcome {
        self.record_poison(LastError::new(ErrorClass::Poison, error.code(), error.to_string())).await
    }

    async fn record_poison(&mut self, error: LastError) -> Outcome {
        let job_type = self.core.kind.job_type();
        let job_id = JobId::for_message(&job_type, &self.received.message_id);
        let now = self.core.clock.now();
        let caller = format!("direct:{}", self.core.settings.queue_name.as_str());
        let record = JobRecord {
            last_error: Some(error.clone()),
            died_at: Some(now),
            // So that a write which is repeated because its first answer was lost recognises itself.
            accept_token: Some(Uuid::new_v4().to_string()),
            ..JobRecord::new(job_id.clone(), job_type, self.core.kind.schema_version, &caller, Status::Dead, now)
        };
        self.job_id = Some(job_id);
        match self.in_time(self.core.ledger.create(&record)).await {
            Ok(Created::New) => Outcome::Poison(error),
            Ok(Created::Exists(_)) => Outcome::EndedBefore(error),
            // Without a record the reason would be lost, so the message comes back for another try at writing it.
            Err(problem) => self.unrecorded(&problem),
        }
    }

    async fn hold_schema(&mut self, header: &Header) -> Outcome {
        let settings = &self.core.settings;
        let job_id = match (&header.job_id, &header.idempotency_key) {
            (Some(job_id), _) => job_id.clone(),
            (None, Some(key)) => JobId::for_direct_sender(settings.queue_name.as_str(), &header.job_type, key),
            (None, None) => JobId::for_message(&header.job_type, &self.received.message_id),
        };
        let now = self.core.clock.now();
        let caller = format!("direct:{}", settings.queue_name.as_str());
        let blank =
            JobRecord::new(job_id.clone(), header.job_type.clone(), header.schema_version, &caller, Status::Accepted, now);
        let hold = |hold| Event::HoldSchema {
            blank: Box::new(blank.clone()),
            sent_at: self.received.sent_at,
            hold,
            max_generations: settings.max_generations,
        };
        self.job_id = Some(job_id.clone());
        let mut held = self.in_time(self.core.ledger.apply(&job_id, &hold(settings.schema_hold))).await;
        if matches!(held, Ok(Verdict::SchemaHeld)) && self.is_last_chance() {
            // A FIFO message cannot be renewed: it has waited as long as it could.
            held = self.in_time(self.core.ledger.apply(&job_id, &hold(Duration::ZERO))).await;
        }
        match held {
            Ok(Verdict::SchemaHeld) => Outcome::SchemaHeld(settings.schema_defer),
            Ok(verdict) => self.stopped(verdict),
            Err(error) => self.unrecorded(&error),
        }
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

    async fn understand(&mut self, envelope: Envelope) -> Result<(Job<H::Payload>, serde_json::Value), Stop> {
        let payload = match guarded(|| decode::<H::Payload>(&envelope.payload)) {
            Ok(Ok(payload)) => payload,
            Ok(Err(fields)) => return Err(self.reject(&EnvelopeError::InvalidPayload(fields)).await.into()),
            Err(panicked) => return Err(self.record_poison(panicked).await.into()),
        };
        let queue = self.core.settings.queue_name.as_str();
        let id =
            envelope.job_id.unwrap_or_else(|| JobId::for_direct_sender(queue, &envelope.job_type, &envelope.idempotency_key));
        self.job_id = Some(id.clone());
        let job = Job {
            id,
            job_type: envelope.job_type,
            schema_version: envelope.schema_version,
            business_id: envelope.business_id,
            idempotency_key: envelope.idempotency_key,
            payload,
        };
        Ok((job, envelope.payload))
    }

    async fn claim(&mut self, job: &Job<H::Payload>, payload: serde_json::Value) -> Result<Started, Stop> {
        let core = self.core;
        let token = Uuid::new_v4().to_string();
        let claim = Claim {
            job_id: job.id.clone(),
            job_type: job.job_type.clone(),
            schema_version: job.schema_version,
            caller: format!("direct:{}", core.settings.queue_name.as_str()),
            idempotency_key: job.idempotency_key.as_str().to_owned(),
            business_id: job.business_id.clone(),
            payload_digest: payload_digest(&payload),
            payload,
            token: token.clone(),
            lease_until: self.budget.lease_until(core.clock.now(), &core.settings),
            sent_at: self.received.sent_at,
            takeover: if self.turn == Turn::LastAndAlone { Takeover::Now } else { Takeover::Postpone },
            rules: core.rules(),
        };
        let record = match self.ask(claim).await {
            Ok(Verdict::Started(record)) => *record,
            Ok(Verdict::Postponed) => return Err(Stop::Postponed(None)),
            Ok(Verdict::PayloadMismatch) => {
                let message =
                    "the job's record belongs to a request with another payload; use a new idempotency key for new content";
                let error = LastError::new(ErrorClass::Permanent, "payload_mismatch", message);
                return Err(self.record_poison(error).await.into());
            }
            Ok(verdict) => return Err(self.stopped(verdict).into()),
            Err(error) => return Err(self.unrecorded(&error).into()),
        };
        self.note(&record);
        let noted_first_effect =
            core.handler.effect_policy().notes_first_effect() && record.first_effect_at == Some(record.updated_at);
        let claimed = Arc::new(Claimed::new(core.ledger.clone(), token, record.clone()));
        let started = Started { claimed, record, noted_first_effect };
        // From the claim on, also while the job waits for its turn.
        self.start_heartbeat(&started).await;
        if started.record.crashes > 0 && self.turn == Turn::WithOthers {
            return Err(Stop::Postponed(Some(Box::new(started))));
        }
        Ok(started)
    }

    /// The first call after a freeze may fail, and an answer may get lost: one more try, which recognises what the first one wrote.
    async fn ask(&self, claim: Claim) -> Result<Verdict, StoreError> {
        match self.in_time(self.core.ledger.claim(claim.clone())).await {
            Err(StoreError::Unreachable { .. }) => self.in_time(self.core.ledger.claim(claim)).await,
            answered => answered,
        }
    }

    /// A table that hangs for one record must not cost the others their answer.
    async fn in_time<T>(&self, asked: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let patience = self.budget.settling_end.since(self.core.clock.now());
        let late = |elapsed| StoreError::Unreachable { operation: "an answer in time", source: Box::new(elapsed) };
        tokio::time::timeout(patience, asked).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
    }

    fn note(&mut self, record: &JobRecord) {
        self.attempt = record.attempts;
        self.created_at = Some(record.created_at);
    }

    // -- rate and run --------------------------------------------------------------------------------------------------------

    async fn wait_for_rate(&self) -> Result<(), Failure> {
        let Some(rate) = &self.core.rate else { return Ok(()) };
        let patience = self.budget.handler_time(self.core.clock.now()).ok_or_else(Failure::no_time)?;
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
        let time = self.budget.handler_time(now).ok_or_else(Failure::no_time)?;
        let context = JobContext {
            claimed: started.claimed.clone(),
            clock: self.core.clock.clone(),
            data: started.record.data.clone(),
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

    // -- classify and settle -------------------------------------------------------------------------------------------------

    /// The heartbeat stops first and is awaited, so that nothing it sends can overwrite what the settlement sets.
    async fn settle(&mut self, started: &Started, answer: Result<Done, Failure>) -> Outcome {
        if let Some(heartbeat) = self.heartbeat {
            heartbeat.release(&started.claimed).await;
        }
        match answer {
            Ok(done) => self.complete(started, done).await,
            Err(failure) if failure.kind == FailureKind::LeaseLost => self.give_back(started).await,
            Err(failure) => self.fail(started, failure).await,
        }
    }

    /// Where only the receipt is lost, the lease is still ours: whoever has the message now shall not wait for it, nor take this for
    /// a crash. Where the lease is lost as well, the write is refused.
    async fn give_back(&self, started: &Started) -> Outcome {
        let begun = started.claimed.effect_begun();
        let event = Event::Fail(Failing {
            token: started.claimed.token().to_owned(),
            ending: Ending::Defer(self.core.clock.now()),
            certainty: if begun { Certainty::Unstated } else { Certainty::NotDone },
            max_attempts: self.core.settings.max_attempts,
            effect: self.core.handler.effect_policy(),
            first_effect_noted_by_claim: started.noted_first_effect,
            error: LastError::new(ErrorClass::Transient, "lease_lost", "the message came out again while the handler ran"),
        });
        match self.in_time(started.claimed.apply(&event)).await {
            Ok(Verdict::InDoubt(error)) => Outcome::InDoubt(error),
            _ => Outcome::LeaseLost,
        }
    }

    async fn complete(&mut self, started: &Started, done: Done) -> Outcome {
        self.core.circuit.succeeded();
        self.passed = None;
        let done = done.fitting();
        let event = Event::Complete {
            token: started.claimed.token().to_owned(),
            result: done.result,
            provider_ref: done.provider_ref,
            keep_for: self.core.settings.record_retention,
        };
        match self.write(started, &event).await {
            Ok(Verdict::Done(Status::Succeeded)) => Outcome::Succeeded,
            Ok(_) => Outcome::LeaseLost,
            Err(error) => self.unsettled(started, &error),
        }
    }

    async fn fail(&mut self, started: &Started, failure: Failure) -> Outcome {
        let (ending, delay) = self.classify(started, &failure);
        let class = match (failure.kind, failure.certainty) {
            (_, Certainty::MayBeDone) => ErrorClass::Ambiguous,
            (FailureKind::Permanent, _) => ErrorClass::Permanent,
            (FailureKind::Defer(_), _) => ErrorClass::Deferred,
            _ => ErrorClass::Transient,
        };
        let mut error = LastError::new(class, failure.code, failure.message);
        if self.is_last_chance() && ending != Ending::Die {
            error = LastError::new(
                ErrorClass::Exhausted,
                "receives_exhausted",
                format!("the queue's receives are used up; the last failure was {}", error.code),
            );
        }
        let event = Event::Fail(Failing {
            token: started.claimed.token().to_owned(),
            ending: if self.is_last_chance() { Ending::Die } else { ending },
            certainty: failure.certainty,
            max_attempts: self.core.settings.max_attempts,
            effect: self.core.handler.effect_policy(),
            first_effect_noted_by_claim: started.noted_first_effect,
            error: error.clone(),
        });
        let outcome = match self.write(started, &event).await {
            Ok(Verdict::Done(Status::RetryScheduled)) => match failure.kind {
                FailureKind::Release(Duration::ZERO) => Outcome::NotStarted,
                FailureKind::Release(_) | FailureKind::Defer(_) => Outcome::Deferred(delay, error),
                _ => Outcome::Retried(delay, error),
            },
            Ok(Verdict::Dead(error)) => Outcome::Died(error),
            Ok(Verdict::InDoubt(error)) => Outcome::InDoubt(error),
            Ok(_) => Outcome::LeaseLost,
            Err(problem) => self.unsettled(started, &problem),
        };
        if matches!(failure.kind, FailureKind::Retry(_) | FailureKind::Defer(_)) {
            self.core.circuit.failed(tokio::time::Instant::now());
            self.passed = None;
        }
        outcome
    }

    /// How a failure shall end, and when its message comes back.
    fn classify(&self, started: &Started, failure: &Failure) -> (Ending, Duration) {
        let settings = &self.core.settings;
        let delay = match failure.kind {
            FailureKind::Retry(after) => {
                after.unwrap_or_else(|| settings.backoff.delay(started.record.attempts, fastrand::f64()))
            }
            FailureKind::Defer(after) => after.unwrap_or(settings.defer),
            FailureKind::Release(after) => after,
            FailureKind::Permanent | FailureKind::LeaseLost => Duration::ZERO,
        };
        let due = self.core.clock.now() + delay;
        let ending = match failure.kind {
            FailureKind::Permanent => Ending::Die,
            FailureKind::Defer(_) | FailureKind::Release(_) => Ending::Defer(due),
            FailureKind::Retry(_) | FailureKind::LeaseLost => Ending::Retry(due),
        };
        (ending, delay)
    }

    /// Settling is worth some patience: without it a job that is done looks abandoned.
    async fn write(&self, started: &Started, event: &Event) -> Result<Verdict, StoreError> {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.in_time(started.claimed.apply(event)).await {
                Err(StoreError::Throttled { .. } | StoreError::Unreachable { .. })
                    if self.core.clock.now() + pause < self.budget.settling_end && pause < Duration::from_secs(1) =>
                {
                    tokio::time::sleep(pause).await;
                    pause *= 3;
                }
                answered => return answered,
            }
        }
    }

    // -- what a record answered ----------------------------------------------------------------------------------------------

    /// The verdicts that stop a record before its handler.
    fn stopped(&self, verdict: Verdict) -> Outcome {
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

    /// The run is over and cannot be written down: the message comes back when the lease is over, and the record decides then.
    fn unsettled(&self, started: &Started, error: &StoreError) -> Outcome {
        let lease_left = started.claimed.lease_until().since(self.core.clock.now());
        Outcome::Unrecorded(
            lease_left + Duration::from_secs(1),
            LastError::new(ErrorClass::Transient, error.code(), error.to_string()),
        )
    }

    /// A FIFO message cannot be renewed: what wants to come back on its last receive is given up with a reason instead.
    fn is_last_chance(&self) -> bool {
        self.core.is_fifo() && self.received.receive_count >= self.core.settings.max_receive_count
    }

    fn jitter(&self, most: Duration) -> Duration {
        most.mul_f64(fastrand::f64())
    }
}

/// Reads a body with the payload type's own code, whose panics end this record only.
fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, LastError> {
    std::panic::catch_unwind(AssertUnwindSafe(read)).map_err(|_| {
        let message = "the check of the payload panicked; its location is in the log";
        LastError::new(ErrorClass::Poison, "payload_check_panicked", message)
    })
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
