//! One log line and its metrics for everything that happens to a job. Nothing of the payload is ever in them.

use super::batch::Invocation;
use super::core::Core;
use super::handler::Handler;
use super::outcome::Outcome;
use super::received::Received;
use super::record::JobRun;
use crate::job::JobId;
use crate::observability::Metric;
use crate::queue::SendVerdict;

/// A job is through the pipeline.
pub(super) fn ended<H: Handler>(
    core: &Core<H>,
    received: &Received,
    run: &JobRun<'_, H>,
    outcome: &Outcome,
    invocation: &Invocation,
) {
    count(core, received, run, outcome);
    log(core, received, run, outcome, invocation);
}

fn count<H: Handler>(core: &Core<H>, received: &Received, run: &JobRun<'_, H>, outcome: &Outcome) {
    let job_type = core.kind.job_type;
    let metric = match outcome {
        Outcome::Succeeded => Some(Metric::JobsSucceeded),
        Outcome::Duplicate | Outcome::Cancelled => Some(Metric::JobsDuplicate),
        Outcome::Retried(..) | Outcome::RetriedForTarget(..) | Outcome::Unrecorded(..) => Some(Metric::JobsRetried),
        Outcome::Continued => Some(Metric::JobsContinued),
        Outcome::Deferred(..) | Outcome::CircuitOpen(_) | Outcome::SchemaHeld(_) => Some(Metric::JobsDeferred),
        Outcome::Died(_) => Some(Metric::JobsDead),
        Outcome::InDoubt(_) => Some(Metric::JobsInDoubt),
        Outcome::Poison(_) => Some(Metric::PoisonSeen),
        Outcome::LeaseLost => Some(Metric::LeaseLost),
        Outcome::Waits(_) | Outcome::EndedBefore(_) | Outcome::NotStarted | Outcome::Skipped(_) => None,
    };
    if let Some(metric) = metric {
        core.metrics.count(metric, job_type, 1);
    }
    // The age metric of a queue leaves out messages received three times and more, so poison is counted here as well.
    if received.receive_count == 3 && !outcome.is_done() && !matches!(outcome, Outcome::Continued | Outcome::Poison(_)) {
        core.metrics.count(Metric::PoisonSeen, job_type, 1);
    }
    if let Some(failed) = outcome.attempt_failed() {
        core.metrics.sample(Metric::AttemptsFailed, job_type, f64::from(u8::from(failed)));
    }
    if let Some(took) = run.handler_time {
        core.metrics.sample(Metric::HandlerDuration, job_type, milliseconds(took));
    }
    if *outcome == Outcome::Succeeded {
        core.metrics.sample(Metric::AttemptsUsed, job_type, f64::from(run.attempt));
        if let Some(created_at) = run.created_at {
            core.metrics.sample(Metric::JobLatency, job_type, milliseconds(core.clock.now().since(created_at)));
        }
    }
}

#[allow(clippy::cast_precision_loss)] // Durations of interest are far below 2^52 ms.
fn milliseconds(time: std::time::Duration) -> f64 {
    time.as_millis() as f64
}

fn log<H: Handler>(core: &Core<H>, received: &Received, run: &JobRun<'_, H>, outcome: &Outcome, invocation: &Invocation) {
    let job_id = run.job_id.as_ref().map(JobId::as_str);
    let (job_type, attempt) = (core.kind.job_type, run.attempt);
    let message_id = received.message_id.as_str();
    let request_id = invocation.request_id.as_str();
    let duration_ms = run.handler_time.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    let class = outcome.error().map(|error| error.class.as_str());
    let code = outcome.error().map(|error| error.code.as_str());
    let reason = outcome.error().map(|error| error.message.as_str());
    let trace = received.trace.as_ref().filter(|_| class.is_some()).map(crate::observability::TraceHeader::root);
    let outcome_name = outcome.as_str();
    macro_rules! line {
        ($level:ident, $message:literal) => {
            tracing::$level!(
                job_id,
                job_type,
                attempt,
                message_id,
                request_id,
                outcome = outcome_name,
                duration_ms,
                error_class = class,
                error_code = code,
                error = reason,
                trace_id = trace,
                $message
            )
        };
    }
    match outcome {
        Outcome::Succeeded => line!(info, "job succeeded"),
        Outcome::Duplicate | Outcome::Cancelled => line!(info, "job duplicate"),
        Outcome::Retried(..) | Outcome::RetriedForTarget(..) | Outcome::Unrecorded(..) => line!(warn, "job retried"),
        Outcome::Continued => line!(info, "job continued"),
        Outcome::Deferred(..) | Outcome::CircuitOpen(_) | Outcome::SchemaHeld(_) => line!(info, "job deferred"),
        Outcome::Waits(_) | Outcome::NotStarted => line!(info, "job not started"),
        Outcome::Skipped(reason) => {
            tracing::info!(job_type, message_id, request_id, outcome = outcome_name, reason, "event skipped");
        }
        Outcome::Died(_) | Outcome::EndedBefore(_) => line!(error, "job dead"),
        Outcome::InDoubt(_) => line!(error, "job in doubt"),
        Outcome::Poison(_) => line!(error, "message unparseable"),
        Outcome::LeaseLost => line!(warn, "lease lost"),
    }
}

/// A done job's message goes, and its caller was never told.
pub(super) fn untold<H: Handler>(core: &Core<H>, received: &Received, job_id: Option<&JobId>, invocation: &Invocation) {
    let (job_type, message_id, request_id) = (core.kind.job_type, received.message_id.as_str(), invocation.request_id.as_str());
    let job_id = job_id.map(JobId::as_str);
    tracing::error!(job_id, job_type, message_id, request_id, receives = received.receive_count, "completion event given up");
}

/// A fresh copy of a message was sent, or was not.
pub(super) fn renewed<H: Handler>(core: &Core<H>, received: &Received, verdict: &SendVerdict, invocation: &Invocation) {
    let (job_type, message_id, request_id) = (core.kind.job_type, received.message_id.as_str(), invocation.request_id.as_str());
    match verdict {
        Ok(()) => {
            core.metrics.count(Metric::JobsRenewed, job_type, 1);
            tracing::info!(job_type, message_id, request_id, receives = received.receive_count, "job renewed");
        }
        Err(error) => tracing::warn!(job_type, message_id, request_id, error = %error, "renewal failed"),
    }
}
