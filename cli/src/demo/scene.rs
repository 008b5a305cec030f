//! A scene: jobs that are posted, what is measured meanwhile, and the promises that are checked against it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ikkai::idempotency::{DynamoStore, JobRecord, JobStore, Status};
use ikkai::job::JobId;
use serde_json::{Map, Value};

use super::findings::{Findings, Missed};
use super::live::Line;
use super::stage::{Stage, in_time};
use crate::local::objects::Bucket;
use crate::local::stack::Stack;

/// A scene while it plays.
pub(super) struct Scene<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) stack: &'a Stack,
    pub(super) name: &'static str,
    pub(super) line: Arc<Line>,
    store: DynamoStore,
    jobs: Mutex<Vec<JobId>>,
}

/// What a scene finds out.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Its promises.
    pub(super) findings: Findings,
    /// What was measured, for whoever reads the results.
    pub(super) figures: Map<String, Value>,
}

impl Notes {
    /// Notes a figure.
    pub(super) fn figure(&mut self, name: &str, value: impl Into<Value>) {
        self.figures.insert(name.to_owned(), value.into());
    }
}

/// What became of a scene.
#[derive(Debug)]
pub(super) struct SceneOutcome {
    pub(super) name: &'static str,
    pub(super) jobs: Vec<JobRecord>,
    pub(super) took: Duration,
    /// What happened, in a line.
    pub(super) story: String,
    pub(super) figures: Map<String, Value>,
    pub(super) findings: Findings,
}

impl<'a> Scene<'a> {
    pub(super) fn new(stage: &'a Stage<'a>, stack: &'a Stack, name: &'static str) -> Self {
        let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&stage.aws.sdk_config()), stack.jobs_table());
        Self { stage, stack, name, line: Arc::new(stage.live.line(name)), store, jobs: Mutex::default() }
    }

    /// Plays the scene; `play` tells its story in one line.
    pub(super) async fn play(self, play: impl AsyncFnOnce(&Self, &mut Notes) -> Result<String, Missed>) -> SceneOutcome {
        let mut notes = Notes::default();
        let mut story = match play(&self, &mut notes).await {
            Ok(story) => story,
            Err(missed) => {
                notes.findings.missed(&missed);
                String::new()
            }
        };
        let took = self.line.elapsed();
        let mut records = Vec::new();
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for job_id in jobs {
            records.extend(self.record(&job_id).await);
        }
        if let Some(broken) = notes.findings.broken().next() {
            story = format!("{}, but found {}", broken.promise, broken.found);
        }
        self.line.ended(notes.findings.all_kept(), None, &story);
        SceneOutcome { name: self.name, jobs: records, took, story, figures: notes.figures, findings: notes.findings }
    }

    /// Posts a job and makes sure that it was accepted.
    pub(super) async fn post(&self, key: &str, job: &Value) -> Result<JobId, Missed> {
        let missed = |found: String| Missed { what: format!("the API answers 202 to {key}"), found };
        let answer = self.stage.api(self.stack)?.post_job(&format!("demo:{key}"), job).await;
        let answer = answer.map_err(|error| missed(error.to_string()))?;
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let accepted = body["jobId"].as_str().filter(|_| answer.status() == 202);
        let job_id = accepted.and_then(|id| JobId::parse_stored(id).ok());
        let job_id = job_id.ok_or_else(|| missed(format!("{} {body}", answer.status().as_u16())))?;
        self.follow(&job_id);
        Ok(job_id)
    }

    /// Counts a job to this scene that somebody else made.
    pub(super) fn follow(&self, job_id: &JobId) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).push(job_id.clone());
    }

    /// A job's record as it is now, read past the proxy.
    pub(super) async fn record(&self, job_id: &JobId) -> Option<JobRecord> {
        let record = self.store.get(job_id).await.ok().flatten()?;
        self.line.record(&record);
        Some(record)
    }

    /// Waits until a job's record is as wanted.
    pub(super) async fn when(
        &self,
        job_id: &JobId,
        what: &str,
        wanted: impl Fn(&JobRecord) -> bool,
    ) -> Result<JobRecord, Missed> {
        let asking = self.stage.eventually(what, async || self.record(job_id).await.filter(|record| wanted(record)));
        match asking.await {
            Ok(record) => Ok(record),
            Err(missed) => {
                let state = self.record(job_id).await.map_or("not there".to_owned(), |record| state(&record));
                Err(Missed { found: format!("{}; it is {state}", missed.found), ..missed })
            }
        }
    }

    /// Waits until a job succeeds. One that ends otherwise is not waited for.
    pub(super) async fn succeeded(&self, job_id: &JobId) -> Result<JobRecord, Missed> {
        let what = format!("{} succeeds", job_id.job_type());
        let record = self.when(job_id, &what, |record| record.status.is_final()).await?;
        if record.status == Status::Succeeded { Ok(record) } else { Err(Missed { what, found: state(&record) }) }
    }

    /// Waits until a queue of the stack holds nothing any more.
    pub(super) async fn drained(&self, output: &'static str) -> Result<(), Missed> {
        let queue = self.output(output)?;
        let empty = async || self.stack.queue_counts(queue).await.is_ok_and(|counts| counts.all() == 0).then_some(());
        self.stage.eventually(&format!("{queue} is empty"), empty).await
    }

    /// One of the stack's outputs.
    pub(super) fn output(&self, name: &'static str) -> Result<&str, Missed> {
        let found = self.stack.outputs().get(name).map(String::as_str);
        found.ok_or_else(|| Missed { what: format!("the stack has an output {name}"), found: "none".into() })
    }

    /// A bucket by the output that names it.
    pub(super) fn bucket(&self, output: &'static str) -> Result<Bucket, Missed> {
        Ok(Bucket::new(self.stage.aws.address(), self.output(output)?))
    }

    /// What does not come in time is a broken promise.
    pub(super) async fn in_time<T>(&self, what: &str, coming: impl Future<Output = T>) -> Result<T, Missed> {
        in_time(what, coming).await
    }
}

/// Whatever should not fail on this machine.
pub(super) fn works<T, E: std::fmt::Display>(what: &str, tried: Result<T, E>) -> Result<T, Missed> {
    tried.map_err(|error| Missed { what: what.to_owned(), found: error.to_string() })
}

fn state(record: &JobRecord) -> String {
    match &record.last_error {
        Some(reason) => format!("{} ({})", record.status, reason.code),
        None => record.status.to_string(),
    }
}
