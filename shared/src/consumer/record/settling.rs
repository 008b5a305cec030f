//! How a run ends: classified, written down, and told to the circuit.

use std::time::Duration;

use super::super::completion::Completion;
use super::super::failure::{Done, Failure, FailureKind, Scope};
use super::super::handler::Handler;
use super::super::outcome::Outcome;
use super::{JobRun, Started};
use crate::idempotency::{Certainty, EffectPolicy, Ending, ErrorClass, Event, Failing, LastError, Status, StoreError, Verdict};
use crate::visibility::MAX_VISIBILITY;

impl<H: Handler> JobRun<'_, H> {
    /// The heartbeat stops first and is awaited, so that nothing it sends can overwrite what the settlement sets.
    pub(super) async fn settle(&mut self, started: &Started, answer: Result<Done, Failure>) -> Outcome {
        if let Some(heartbeat) = self.heartbeat {
            heartbeat.release(&started.claimed).await;
        }
        let outcome = match answer {
            Ok(done) => self.complete(started, done).await,
            Err(failure) if failure.kind == FailureKind::LeaseLost => self.give_back(started).await,
            Err(failure) if failure.kind == FailureKind::Unfinished && !started.claimed.has_progressed() => {
                self.fail(started, Failure::without_progress(failure)).await
            }
            Err(failure) => self.fail(started, failure).await,
        };
        self.completion = Completion::of_ending(&started.record, &outcome);
        outcome
    }

    /// Where only the receipt is lost, the lease is still ours: whoever has the message now shall not wait for it, nor take this for
    /// a crash. Where the lease is lost as well, the write is refused.
    async fn give_back(&self, started: &Started) -> Outcome {
        let certainty = match self.core.handler.effect_policy() {
            _ if self.handler_time.is_none() => Certainty::NotTried,
            EffectPolicy::Hold if started.claimed.effect_begun() => Certainty::Unstated,
            EffectPolicy::Hold => Certainty::NotTried,
            // It was cut off wherever it stood, as by its deadline.
            EffectPolicy::Rerun { .. } => Certainty::MayBeDone,
        };
        let event = Event::Fail(Failing {
            token: started.claimed.token().to_owned(),
            ending: Ending::Defer(self.core.clock.now()),
            certainty,
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
                FailureKind::Unfinished => Outcome::Continued,
                FailureKind::Release(_) | FailureKind::NoTime | FailureKind::Defer(_) => Outcome::Deferred(delay, error),
                _ if failure.scope == Scope::OneTarget => Outcome::RetriedForTarget(delay, error),
                _ => Outcome::Retried(delay, error),
            },
            Ok(Verdict::Dead(error)) => Outcome::Died(error),
            Ok(Verdict::InDoubt(error)) => Outcome::InDoubt(error),
            Ok(_) => Outcome::LeaseLost,
            Err(problem) => self.unsettled(started, &problem),
        };
        let now = tokio::time::Instant::now();
        match (failure.kind, failure.scope) {
            (FailureKind::Retry(_) | FailureKind::Defer(_), Scope::Provider) => self.core.circuit.failed(now),
            (FailureKind::Retry(_) | FailureKind::Defer(_), Scope::EveryJob) => self.core.circuit.open(now),
            // Whatever the job still lacks, its provider works.
            (FailureKind::Unfinished, _) => self.core.circuit.succeeded(),
            // Says nothing about the provider: the pass is given back.
            _ => return outcome,
        }
        self.passed = None;
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
            FailureKind::NoTime => settings.backoff.delay(self.received.receive_count, fastrand::f64()),
            FailureKind::Permanent | FailureKind::Unfinished | FailureKind::LeaseLost => Duration::ZERO,
        };
        // Whatever a provider asks for: no message can be invisible for longer, and no job waits for years.
        let delay = delay.min(MAX_VISIBILITY);
        let due = self.core.clock.now() + delay;
        let ending = match failure.kind {
            FailureKind::Permanent => Ending::Die,
            FailureKind::Unfinished => Ending::Continue { at: due, max_parts: settings.max_parts },
            FailureKind::Defer(_) | FailureKind::Release(_) | FailureKind::NoTime => Ending::Defer(due),
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

    /// The run is over and cannot be written down: the message comes back when the lease is over, and the record decides then.
    fn unsettled(&self, started: &Started, error: &StoreError) -> Outcome {
        let lease_left = started.claimed.lease_until().since(self.core.clock.now());
        Outcome::Unrecorded(
            lease_left + Duration::from_secs(1),
            LastError::new(ErrorClass::Transient, error.code(), error.to_string()),
        )
    }
}
