//! The results: what is printed, and what the JSON file holds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ikkai::idempotency::{JobRecord, Status};
use serde::Serialize;
use serde_json::{Map, Value};

use super::calls::NormalJob;
use super::cost::{CostLine, bill, total};
use super::findings::Findings;
use super::job::JobOutcome;
use super::operators::StepOutcome;
use super::prices::REGION;
use super::scene::SceneOutcome;
use super::stage::EMAIL;
use crate::local::proxy::Totals;

/// How many jobs a batch of the mapping holds at most, in the template.
pub(super) const BATCH: u32 = 10;

/// Everything that came of a run.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// Name and version of the engine.
    pub(super) engine: String,
    /// From the command's beginning to the end of the last check.
    pub(super) elapsed_seconds: f64,
    /// The part of it that went by before the first job.
    pub(super) set_up_seconds: f64,
    /// The jobs, in the order of the scenes.
    pub(super) jobs: Vec<JobReport>,
    /// The scenes of the consumers, in their order.
    pub(super) consumers: Vec<SceneReport>,
    /// The operators' story, step by step.
    pub(super) operators: Vec<StepReport>,
    /// Visible messages of each dead-letter queue.
    pub(super) dlq: BTreeMap<String, usize>,
    /// Calls of all functions by operation.
    pub(super) calls: BTreeMap<String, OperationTotals>,
    /// A normal job and its price.
    pub(super) normal_job: Option<NormalJobReport>,
    /// What was checked for all jobs together.
    pub(super) checks: Findings,
    /// Whether every promise was kept.
    pub(super) ok: bool,
    /// The engine's log, for who wants to know why a promise was not kept.
    #[serde(skip)]
    pub(super) log: PathBuf,
    /// Why there are no results, if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// One job.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobReport {
    pub(super) name: &'static str,
    pub(super) job_id: String,
    #[serde(rename = "type")]
    pub(super) job_type: &'static str,
    /// `none` if there is no record.
    pub(super) status: &'static str,
    pub(super) attempts: u32,
    /// Mails that the provider took.
    pub(super) effects: u64,
    /// The code of the reason, for a job that did not end well.
    pub(super) reason: Option<String>,
    /// The reason in words.
    pub(super) message: Option<String>,
    pub(super) seconds: f64,
    /// What happened, in a line.
    pub(super) story: String,
    pub(super) checks: Findings,
    pub(super) ok: bool,
}

/// One scene of the consumers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SceneReport {
    pub(super) name: &'static str,
    pub(super) jobs: Vec<SceneJob>,
    pub(super) seconds: f64,
    /// What happened, in a line.
    pub(super) story: String,
    /// What was measured.
    pub(super) figures: Map<String, Value>,
    pub(super) checks: Findings,
    pub(super) ok: bool,
}

/// One step of the operators' story.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepReport {
    pub(super) step: &'static str,
    pub(super) ok: bool,
    /// What happened, in a line.
    pub(super) detail: String,
    pub(super) seconds: f64,
    pub(super) checks: Findings,
}

/// One job of such a scene.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SceneJob {
    pub(super) job_id: String,
    #[serde(rename = "type")]
    pub(super) job_type: String,
    pub(super) status: &'static str,
    pub(super) attempts: u32,
    pub(super) result: Option<Value>,
}

/// Sums over the calls of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OperationTotals {
    pub(super) calls: u64,
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
}

impl From<Totals> for OperationTotals {
    fn from(totals: Totals) -> Self {
        Self { calls: totals.calls, request_bytes: totals.request_bytes, response_bytes: totals.response_bytes }
    }
}

/// A normal job and its price.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NormalJobReport {
    #[serde(flatten)]
    pub(super) measured: NormalJob,
    pub(super) region: &'static str,
    /// For a million jobs, each alone in its batch.
    pub(super) bill: Vec<CostLine>,
    pub(super) dollars_per_million_jobs: f64,
    /// The same in full batches.
    pub(super) dollars_per_million_jobs_in_batches: f64,
}

impl From<NormalJob> for NormalJobReport {
    fn from(measured: NormalJob) -> Self {
        let alone = bill(&measured.usage, 1);
        Self {
            region: REGION,
            dollars_per_million_jobs: total(&alone),
            dollars_per_million_jobs_in_batches: total(&bill(&measured.usage, BATCH)),
            bill: alone,
            measured,
        }
    }
}

impl From<JobOutcome> for JobReport {
    fn from(outcome: JobOutcome) -> Self {
        let record = outcome.record.as_ref();
        let status = record.map(|record| record.status);
        // A job that ended well may still tell of an attempt that did not.
        let reason = record.and_then(|record| record.last_error.as_ref()).filter(|_| status != Some(Status::Succeeded));
        Self {
            name: outcome.name,
            job_id: outcome.job_id.to_string(),
            job_type: EMAIL,
            status: status.map_or("none", Status::as_str),
            attempts: record.map_or(0, |record| record.attempts),
            effects: outcome.mails,
            reason: reason.map(|reason| reason.code.clone()),
            message: reason.map(|reason| reason.message.clone()),
            seconds: rounded(outcome.took),
            ok: outcome.findings.all_kept(),
            story: outcome.story,
            checks: outcome.findings,
        }
    }
}

impl From<StepOutcome> for StepReport {
    fn from(outcome: StepOutcome) -> Self {
        Self {
            step: outcome.step,
            ok: outcome.findings.all_kept(),
            detail: outcome.detail,
            seconds: rounded(outcome.took),
            checks: outcome.findings,
        }
    }
}

impl From<SceneOutcome> for SceneReport {
    fn from(outcome: SceneOutcome) -> Self {
        Self {
            name: outcome.name,
            jobs: outcome.jobs.into_iter().map(SceneJob::from).collect(),
            seconds: rounded(outcome.took),
            story: outcome.story,
            figures: outcome.figures,
            ok: outcome.findings.all_kept(),
            checks: outcome.findings,
        }
    }
}

impl From<JobRecord> for SceneJob {
    fn from(record: JobRecord) -> Self {
        Self {
            job_id: record.job_id.to_string(),
            job_type: record.job_type.to_string(),
            status: record.status.as_str(),
            attempts: record.attempts,
            result: record.result,
        }
    }
}

impl Report {
    /// The results of a run that gave up.
    pub(super) fn of_failure(error: String, took: Duration) -> Self {
        Self { error: Some(error), elapsed_seconds: rounded(took), ..Self::default() }
    }

    /// Decides whether all is well. A run that played nothing is not.
    pub(super) fn judge(&mut self) {
        let played = !self.jobs.is_empty() || !self.consumers.is_empty() || !self.operators.is_empty();
        let kept = self.jobs.iter().all(|job| job.ok)
            && self.consumers.iter().all(|scene| scene.ok)
            && self.operators.iter().all(|step| step.ok);
        self.ok = self.error.is_none() && played && kept && self.checks.all_kept();
    }

    /// Every promise that was not kept, with the job it belongs to.
    pub(super) fn broken(&self) -> Vec<(&'static str, &super::findings::Finding)> {
        let of_jobs = self.jobs.iter().flat_map(|job| job.checks.broken().map(|finding| (job.name, finding)));
        let of_scenes = self.consumers.iter().flat_map(|scene| scene.checks.broken().map(|finding| (scene.name, finding)));
        let of_steps = self.operators.iter().flat_map(|step| step.checks.broken().map(|finding| (step.step, finding)));
        of_jobs.chain(of_scenes).chain(of_steps).chain(self.checks.broken().map(|finding| ("all jobs", finding))).collect()
    }

    /// How many promises were checked.
    pub(super) fn checked(&self) -> usize {
        let of_jobs: usize = self.jobs.iter().map(|job| job.checks.count()).sum();
        let of_scenes: usize = self.consumers.iter().map(|scene| scene.checks.count()).sum();
        let of_steps: usize = self.operators.iter().map(|step| step.checks.count()).sum();
        of_jobs + of_scenes + of_steps + self.checks.count()
    }
}

/// Milliseconds are as exact as the waiting is.
pub(super) fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use ikkai::clock::EpochMillis;
    use ikkai::idempotency::{ErrorClass, LastError};
    use serde_json::json;

    use super::*;
    use crate::demo::cost::Usage;
    use crate::demo::stage::{email_type, job_id_of};

    fn kept() -> Findings {
        let mut findings = Findings::default();
        findings.equal("mails", 1, 1);
        findings
    }

    fn outcome(status: Status, findings: Findings) -> JobOutcome {
        let job_id = job_id_of("demo:test");
        let mut record = JobRecord::new(job_id.clone(), email_type(), 1, "local:demo", status, EpochMillis::from_i64(0));
        record.attempts = 2;
        record.last_error = Some(LastError::new(ErrorClass::Permanent, "unknown_user", "there is no such contact"));
        let took = Duration::from_micros(1_234_567);
        JobOutcome {
            name: "test",
            job_id,
            record: Some(record),
            mails: 1,
            dead_letter_queue: None,
            took,
            story: "told".into(),
            findings,
        }
    }

    fn report(jobs: Vec<JobOutcome>) -> Report {
        let jobs = jobs.into_iter().map(JobReport::from).collect();
        let dlq = BTreeMap::from([("ikkai-email-dlq".to_owned(), 1)]);
        let mut report = Report { engine: "engine 1.0".into(), jobs, dlq, checks: kept(), ..Report::default() };
        report.judge();
        report
    }

    #[test]
    fn the_json_holds_what_is_documented() {
        let json = serde_json::to_value(report(vec![outcome(Status::Dead, kept())])).unwrap();
        assert_eq!(
            (&json["engine"], &json["ok"], &json["dlq"]),
            (&json!("engine 1.0"), &json!(true), &json!({"ikkai-email-dlq": 1}))
        );
        assert!(json["elapsedSeconds"].is_number());
        let job = &json["jobs"][0];
        let documented = json!({
            "name": "test", "jobId": job_id_of("demo:test").as_str(), "type": "email.send", "status": "dead", "attempts": 2,
            "effects": 1, "reason": "unknown_user",
        });
        for (name, value) in documented.as_object().unwrap() {
            assert_eq!(job[name], *value, "{name}");
        }
        assert_eq!(job["seconds"], 1.235);
        assert_eq!(job["checks"][0], json!({"promise": "mails: 1", "found": "1", "kept": true}));
    }

    #[test]
    fn a_job_that_ended_well_has_no_reason_even_if_an_attempt_failed() {
        let job = JobReport::from(outcome(Status::Succeeded, kept()));
        assert_eq!((job.reason, job.message), (None, None));
    }

    #[test]
    fn one_broken_promise_spoils_the_verdict_and_is_named() {
        let mut findings = kept();
        findings.equal("mails", 2, 1);
        let report = report(vec![outcome(Status::Succeeded, kept()), outcome(Status::Succeeded, findings)]);
        assert!(!report.ok);
        assert_eq!((report.broken().len(), report.broken()[0].0, report.checked()), (1, "test", 4));
    }

    #[test]
    fn a_promise_about_all_jobs_counts_too() {
        let mut report = report(vec![outcome(Status::Succeeded, kept())]);
        assert!(report.ok);
        report.checks.equal("messages left", 1, 0);
        report.judge();
        assert!(!report.ok);
    }

    #[test]
    fn scenes_of_the_consumers_count_like_jobs() {
        let scene = |findings| SceneOutcome {
            name: "scene",
            jobs: vec![outcome(Status::Succeeded, kept()).record.unwrap()],
            took: Duration::from_secs(1),
            story: "told".into(),
            figures: Map::from_iter([("bytes".to_owned(), json!(7))]),
            findings,
        };
        let mut report = Report { checks: kept(), consumers: vec![scene(kept()).into()], ..Report::default() };
        report.judge();
        assert!(report.ok && report.checked() == 2);
        let json = serde_json::to_value(&report.consumers[0]).unwrap();
        assert_eq!((&json["jobs"][0]["type"], &json["figures"]["bytes"]), (&json!("email.send"), &json!(7)));
        let mut broken = kept();
        broken.equal("pictures", 5, 6);
        report.consumers.push(scene(broken).into());
        report.judge();
        assert!(!report.ok);
        assert_eq!(report.broken()[0].0, "scene");
    }

    #[test]
    fn steps_of_the_operators_count_too() {
        let step = |findings| StepOutcome { step: "dry run", detail: "told".into(), took: Duration::from_secs(1), findings };
        let mut report = Report { checks: kept(), operators: vec![step(kept()).into()], ..Report::default() };
        report.judge();
        assert!(report.ok && report.checked() == 2);
        let json = serde_json::to_value(&report.operators[0]).unwrap();
        assert_eq!((&json["step"], &json["ok"], &json["detail"]), (&json!("dry run"), &json!(true), &json!("told")));
        let mut broken = kept();
        broken.equal("messages", 5, 6);
        report.operators.push(step(broken).into());
        report.judge();
        assert!(!report.ok);
        assert_eq!(report.broken()[0].0, "dry run");
    }

    #[test]
    fn a_run_that_gave_up_or_played_nothing_is_not_ok() {
        assert!(!report(Vec::new()).ok);
        let mut failed = Report::of_failure("no Python".into(), Duration::from_secs(1));
        failed.judge();
        let json = serde_json::to_value(failed).unwrap();
        assert_eq!((&json["ok"], &json["error"], &json["jobs"]), (&json!(false), &json!("no Python"), &json!([])));
    }

    #[test]
    fn a_normal_job_is_priced_alone_and_in_full_batches() {
        let usage = Usage { writes: 4, sends: 1, visibility_calls: 1, mails: 1, ..Usage::default() };
        let measured =
            NormalJob { calls: BTreeMap::from([("sqs.SendMessage".into(), 1)]), start_up_calls: 3, reads_of_jobs: 0, usage };
        let priced = NormalJobReport::from(measured);
        assert!((priced.dollars_per_million_jobs - 104.5).abs() < 1e-9, "{priced:?}");
        assert!((priced.dollars_per_million_jobs_in_batches - 103.24).abs() < 1e-9, "{priced:?}");
        let json = serde_json::to_value(priced).unwrap();
        assert_eq!((&json["calls"]["sqs.SendMessage"], &json["usage"]["writes"]), (&json!(1), &json!(4)));
        assert_eq!(json["bill"][0]["asOf"], json!("2026-11"));
    }
}
