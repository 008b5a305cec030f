//! One job of the demo: it is posted, watched, and at the end compared with what was promised.

use std::sync::Arc;
use std::time::Duration;

use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::JobId;
use serde_json::Value;
use tokio::sync::watch;

use super::findings::{Findings, Missed};
use super::live::Line;
use super::stage::{MAX_RECEIVES, Stage, in_time, job_id_of, welcome};
use crate::local::stack::Stack;

/// A job on the stage.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) stack: &'a Stack,
    pub(super) name: &'static str,
    pub(super) key: String,
    pub(super) job_id: JobId,
    pub(super) line: Arc<Line>,
    records: watch::Receiver<Option<JobRecord>>,
    /// The text by which its messages are found in a queue.
    mark: String,
    /// Whether it came through the API, which then knows it.
    posted: bool,
}

/// What a job is promised to end as.
#[derive(Debug, Clone, Copy)]
pub(super) struct Promise {
    /// Its last status.
    pub(super) status: Status,
    /// Handler starts.
    pub(super) attempts: u32,
    /// Mails.
    pub(super) mails: u64,
    /// The reason's code; a job that ended well has none.
    pub(super) reason: Option<&'static str>,
    /// Whose mailbox the mails lie in. Each user has one job only, so that they can be counted there too.
    pub(super) address: Option<&'static str>,
}

impl Promise {
    /// Done with one mail to `address`.
    pub(super) fn mailed_once(address: &'static str) -> Self {
        Self { status: Status::Succeeded, attempts: 1, mails: 1, reason: None, address: Some(address) }
    }

    /// Whether its message ends in the dead-letter queue.
    fn is_dead_letter(&self) -> bool {
        matches!(self.status, Status::Dead | Status::InDoubt)
    }
}

/// What became of a job.
#[derive(Debug)]
pub(super) struct JobOutcome {
    pub(super) name: &'static str,
    pub(super) job_id: JobId,
    pub(super) record: Option<JobRecord>,
    pub(super) mails: u64,
    /// Where its message was promised to end, if it was.
    pub(super) dead_letter_queue: Option<String>,
    pub(super) took: Duration,
    pub(super) story: String,
    pub(super) findings: Findings,
}

impl<'a> Job<'a> {
    /// A job that will be posted: a welcome mail to a user, under a key that names both.
    pub(super) fn new(stage: &'a Stage<'a>, stack: &'a Stack, name: &'static str) -> Self {
        let key = format!("demo:{}", name.replace(' ', "-"));
        let job_id = job_id_of(&key);
        let mark = job_id.to_string();
        Self::on(stage, stack, name, key, job_id, mark, true)
    }

    /// The job that stands for a message nobody posted; `mark` is a text in its body.
    pub(super) fn of_message(stage: &'a Stage<'a>, stack: &'a Stack, name: &'static str, job_id: JobId, mark: &str) -> Self {
        Self::on(stage, stack, name, String::new(), job_id, mark.to_owned(), false)
    }

    fn on(
        stage: &'a Stage<'a>,
        stack: &'a Stack,
        name: &'static str,
        key: String,
        job_id: JobId,
        mark: String,
        posted: bool,
    ) -> Self {
        let line = Arc::new(stage.live.line(name));
        let records = stage.observer.watch(stage.aws, stack, &job_id, &line);
        Self { stage, stack, name, key, job_id, line, records, mark, posted }
    }

    /// Posts it and makes sure that it was accepted under the id that it was known to get.
    pub(super) async fn post(&self, user: &str) -> Result<(), Missed> {
        self.line.note("POST /v1/jobs");
        let (status, body) = self.post_once(user).await?;
        if status == 202 && body["jobId"] == self.job_id.as_str() {
            return Ok(());
        }
        Err(Missed { what: format!("the API answers 202 and {}", self.job_id), found: format!("{status} {body}") })
    }

    /// Posts it, whatever comes of that.
    pub(super) async fn post_once(&self, user: &str) -> Result<(u16, Value), Missed> {
        let answer = self.stage.api(self.stack)?.post_job(&self.key, &welcome(user, &self.key)).await;
        let answer = answer.map_err(|error| Missed { what: "the API answers".into(), found: error.to_string() })?;
        Ok((answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap_or_default()))
    }

    /// Waits until its record is as wanted.
    pub(super) async fn when(&self, what: &str, wanted: impl Fn(&JobRecord) -> bool) -> Result<JobRecord, Missed> {
        let mut records = self.records.clone();
        let coming = async {
            // The sender lives as long as the stage.
            let seen = records.wait_for(|record| record.as_ref().is_some_and(&wanted)).await;
            seen.ok().and_then(|record| record.clone())
        };
        let found = in_time(what, coming).await.map_err(|missed| match self.record() {
            Some(record) => Missed { found: format!("{}; it is {}", missed.found, record.status), ..missed },
            None => missed,
        })?;
        found.ok_or_else(|| Missed { what: what.to_owned(), found: "nobody watches any more".into() })
    }

    /// Waits until nothing happens to it any more by itself.
    pub(super) async fn ended(&self) -> Result<JobRecord, Missed> {
        self.when("the job ends", |record| record.status.is_final()).await
    }

    /// Waits until its message is in the dead-letter queue, and returns how often it was received.
    pub(super) async fn dead_lettered(&self) -> Result<u32, Missed> {
        let queue = self.stack.email_dead_letter_queue();
        self.stage
            .eventually("its message reaches the dead-letter queue", async || {
                let found = self.stage.messages_with(self.stack, queue, &self.mark).await;
                found.first().map(|message| message.receive_count)
            })
            .await
    }

    /// Waits until the queue holds no message of it any more.
    pub(super) async fn queue_has_let_go(&self) -> Result<(), Missed> {
        let queue = self.stack.email_queue();
        self.stage
            .eventually("the queue lets go of its message", async || {
                self.stage.messages_with(self.stack, queue, &self.mark).await.is_empty().then_some(())
            })
            .await
    }

    /// The record as it was last read.
    pub(super) fn record(&self) -> Option<JobRecord> {
        self.records.borrow().clone()
    }

    /// Mails that the engine took for it, as the proxy counts them.
    pub(super) fn mails(&self) -> u64 {
        self.stage.aws.proxy().effects_of(self.job_id.as_str())
    }

    /// Plays the job, then compares what is measured with what was promised. `play` tells the job's story in one line.
    pub(super) async fn play(
        self,
        promise: Promise,
        play: impl AsyncFnOnce(&Self, &mut Findings) -> Result<String, Missed>,
    ) -> JobOutcome {
        let mut findings = Findings::default();
        let mut story = match play(&self, &mut findings).await {
            Ok(story) => story,
            Err(missed) => {
                findings.missed(&missed);
                String::new()
            }
        };
        let took = self.line.elapsed();
        if let Err(missed) = self.compare(promise, &mut findings).await {
            findings.missed(&missed);
        }
        let record = self.record();
        if let Some(broken) = findings.broken().next() {
            story = format!("{}, but found {}", broken.promise, broken.found);
        }
        self.line.ended(findings.all_kept(), record.as_ref().map(|record| record.status), &story);
        JobOutcome {
            name: self.name,
            job_id: self.job_id.clone(),
            record,
            mails: self.mails(),
            dead_letter_queue: promise.is_dead_letter().then(|| self.stack.email_dead_letter_queue().to_owned()),
            took,
            story,
            findings,
        }
    }

    async fn compare(&self, promise: Promise, findings: &mut Findings) -> Result<(), Missed> {
        if promise.is_dead_letter() {
            findings.at_least("receives before the dead-letter queue", self.dead_lettered().await?, MAX_RECEIVES);
        } else {
            let dead = self.stage.messages_with(self.stack, self.stack.email_dead_letter_queue(), &self.mark).await;
            findings.equal("its messages in the dead-letter queue", dead.len(), 0);
        }
        self.queue_has_let_go().await?;
        let Some(record) = self.record() else {
            findings.check("there is a record", "none", false);
            return Ok(());
        };
        findings.equal("status", record.status.as_str(), promise.status.as_str());
        findings.equal("attempts", record.attempts, promise.attempts);
        let reason = record.last_error.as_ref().map(|reason| reason.code.as_str());
        findings.equal("reason", reason.filter(|_| record.status != Status::Succeeded), promise.reason);
        findings.equal("its record expires", record.expires_at.is_some(), promise.status == Status::Succeeded);
        findings.equal("mails, counted by the proxy", self.mails(), promise.mails);
        if let Some(address) = promise.address {
            let held = self.stage.mailbox(Some(address)).await? as u64;
            findings.equal(&format!("mails in the mailbox of {address}"), held, promise.mails);
        }
        if self.posted {
            findings.equal("status, asked for through the API", self.status_by_api().await?, promise.status.as_str().to_owned());
        }
        Ok(())
    }

    async fn status_by_api(&self) -> Result<String, Missed> {
        let answer = self.stage.api(self.stack)?.job(self.job_id.as_str()).await;
        let answer = answer.map_err(|error| Missed { what: "the API tells the status".into(), found: error.to_string() })?;
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        Ok(body["status"].as_str().unwrap_or("none").to_owned())
    }
}
