//! Handlers that follow a script, and what tests ask of a run.

use std::collections::{HashMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ikkai::clock::{Clock, EpochMillis};
use ikkai::consumer::{ConsumerSettings, Done, Failure, Handler, JobContext, ObjectEvent, ObjectVerdict};
use ikkai::idempotency::{EffectPolicy, JobRecord, Status};
use ikkai::job::{EmailSend, Job, JobId, JobType, ReferenceId};
use ikkai::observability::logs::capture::Captured;
use ikkai::observability::logs::{LevelSetting, LogSetup};
use ikkai::testing::{BatchRun, Bench, MessageBuilder};
use serde_json::Value;

/// One thing a handler does.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// `begin_effect`, for a provider that takes up to this long; a refusal ends the handler.
    Begin(Duration),
    /// The irreversible step, counted.
    Effect,
    /// `save_progress`; a refusal ends the handler.
    Save(Value),
    Sleep(Duration),
    Hang,
    /// A panic whose payload is a `&str`.
    Panic(&'static str),
    /// A panic whose payload is a `String`.
    PanicOwned(String),
    Fail(Failure),
    Done(Done),
}

/// Follows the script of the job's delivery id: one list of steps a start, the last list for all later starts. A job without a script has
/// its effect and is done. A list that ends without an answer is done.
#[derive(Clone)]
pub(crate) struct Scripted {
    scripts: Arc<Mutex<HashMap<String, VecDeque<Vec<Step>>>>>,
    seen: Arc<Mutex<Seen>>,
    policy: EffectPolicy,
    /// Template of the mails about objects; without one, events about objects are refused.
    template: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Seen {
    objects: Vec<ObjectEvent>,
    starts: Vec<String>,
    effects: Vec<String>,
    progress: Vec<Option<Value>>,
    done: Vec<String>,
    running: usize,
    most_running: usize,
}

impl Scripted {
    pub(crate) fn new() -> Self {
        Self { scripts: Arc::default(), seen: Arc::default(), policy: EffectPolicy::Hold, template: None }
    }

    pub(crate) fn policy(mut self, policy: EffectPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Takes events about objects under `uploads/`: the rest of the key names the delivery.
    pub(crate) fn mails_about_objects(mut self, template: &'static str) -> Self {
        self.template = Some(template);
        self
    }

    /// What `on_object` was asked about, in order.
    pub(crate) fn objects(&self) -> Vec<ObjectEvent> {
        self.seen().objects.clone()
    }

    /// What the next start of `name` that has no script yet does.
    pub(crate) fn on(self, name: &str, steps: impl Into<Vec<Step>>) -> Self {
        self.scripts.lock().unwrap().entry(name.to_owned()).or_default().push_back(steps.into());
        self
    }

    /// Names of the jobs whose handler started, in order.
    pub(crate) fn starts(&self) -> Vec<String> {
        self.seen().starts.clone()
    }

    pub(crate) fn starts_of(&self, name: &str) -> usize {
        self.seen().starts.iter().filter(|started| *started == name).count()
    }

    pub(crate) fn effects_of(&self, name: &str) -> usize {
        self.seen().effects.iter().filter(|started| *started == name).count()
    }

    /// The progress that each start was given, in order.
    pub(crate) fn progress(&self) -> Vec<Option<Value>> {
        self.seen().progress.clone()
    }

    /// Whether the handler ever answered that this job is done.
    pub(crate) fn said_done(&self, name: &str) -> bool {
        self.seen().done.iter().any(|done| done == name)
    }

    /// Handlers that run right now.
    pub(crate) fn running(&self) -> usize {
        self.seen().running
    }

    /// Most handlers that ever ran at a time.
    pub(crate) fn most_running(&self) -> usize {
        self.seen().most_running
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn next_script(&self, name: &str) -> Vec<Step> {
        let mut scripts = self.scripts.lock().unwrap();
        match scripts.get_mut(name) {
            Some(scripts) if scripts.len() > 1 => scripts.pop_front().unwrap(),
            Some(scripts) => scripts[0].clone(),
            None => vec![Step::Effect],
        }
    }
}

/// Counts a running handler for as long as its future lives.
struct Running(Arc<Mutex<Seen>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.lock().unwrap().running -= 1;
    }
}

impl Handler for Scripted {
    type Payload = EmailSend;

    fn effect_policy(&self) -> EffectPolicy {
        self.policy
    }

    fn on_object(&self, object: &ObjectEvent) -> ObjectVerdict<EmailSend> {
        self.seen().objects.push(object.clone());
        let Some(template) = self.template else {
            return ObjectVerdict::Refuse { code: "object_not_expected", message: "no objects here".to_owned() };
        };
        let id = |text: &str| ReferenceId::parse(text);
        match object.key.strip_prefix("uploads/").map(id) {
            Some(Ok(delivery_id)) if delivery_id.as_str() == "panics" => resume_unwind(Box::new(delivery_id)),
            Some(Ok(delivery_id)) => {
                let (template_id, user_id) = (id(template).unwrap(), id("user-42").unwrap());
                ObjectVerdict::Job(EmailSend { delivery_id, template_id, user_id })
            }
            Some(Err(error)) => ObjectVerdict::Refuse { code: "key_is_no_id", message: error.to_string() },
            None => ObjectVerdict::Skip("not_an_upload"),
        }
    }

    async fn handle(&self, job: &Job<EmailSend>, context: &JobContext) -> Result<Done, Failure> {
        let name = job.payload.delivery_id.as_str();
        let _running = {
            let mut seen = self.seen();
            seen.starts.push(name.to_owned());
            seen.progress.push(context.progress().cloned());
            seen.running += 1;
            seen.most_running = seen.most_running.max(seen.running);
            Running(self.seen.clone())
        };
        for step in self.next_script(name) {
            match step {
                Step::Begin(provider_timeout) => context.begin_effect(provider_timeout).await?,
                Step::Effect => self.seen().effects.push(name.to_owned()),
                Step::Save(progress) => context.save_progress(progress).await?,
                Step::Sleep(time) => tokio::time::sleep(time).await,
                Step::Hang => std::future::pending().await,
                // Without the panic hook, which would print the test's panics.
                Step::Panic(text) => resume_unwind(Box::new(text)),
                Step::PanicOwned(text) => resume_unwind(Box::new(text)),
                Step::Fail(failure) => return Err(failure),
                Step::Done(done) => {
                    self.seen().done.push(name.to_owned());
                    return Ok(done);
                }
            }
        }
        self.seen().done.push(name.to_owned());
        Ok(Done::new())
    }
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Default settings, without the opening visibility call: what a test sees of visibility was set at the end.
pub(crate) fn settings() -> ConsumerSettings {
    ConsumerSettings { opening_visibility: false, ..ikkai::testing::settings() }
}

/// Settings of a function that may run for fifteen minutes and renews its leases.
pub(crate) fn long_running() -> ConsumerSettings {
    ConsumerSettings { function_timeout: seconds(900), ..ikkai::testing::settings() }
}

/// Settings of a consumer on a FIFO queue.
pub(crate) fn fifo() -> ConsumerSettings {
    ConsumerSettings { queue_name: ikkai::queue::QueueName::new("email.fifo"), ..settings() }
}

pub(crate) fn retry() -> Step {
    Step::Fail(Failure::retry("provider_error", "the provider failed"))
}

pub(crate) fn permanent() -> Step {
    Step::Fail(Failure::permanent("user_unknown", "there is no such user"))
}

pub(crate) fn defer(delay: Option<Duration>) -> Step {
    Step::Fail(Failure::defer("provider_busy", "the provider asks for a pause", delay))
}

pub(crate) fn unfinished() -> Step {
    Step::Fail(Failure::unfinished())
}

/// The code of a record's last error.
pub(crate) fn code(record: &JobRecord) -> Option<&str> {
    record.last_error.as_ref().map(|error| error.code.as_str())
}

/// The one line about what became of a message.
pub(crate) fn line_of(logs: &Captured, message_id: &str) -> Value {
    let lines = logs.parsed().into_iter();
    let lines: Vec<_> = lines.filter(|line| line["message_id"] == message_id && !line["outcome"].is_null()).collect();
    assert_eq!(lines.len(), 1, "one line a record: {lines:?}");
    lines[0].clone()
}

pub(crate) fn assert_state(record: &JobRecord, status: Status, attempts: u32, reason: Option<&str>) {
    assert_eq!((record.status, record.attempts, code(record)), (status, attempts, reason));
}

/// The sum of a counter over all metric lines of a run.
pub(crate) fn counted(run: &BatchRun, metric: &str) -> u64 {
    run.metrics
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a metric line is JSON"))
        .filter_map(|line| line.get(metric).and_then(Value::as_u64))
        .sum()
}

/// Captures everything the kit logs.
pub(crate) fn captured() -> Captured {
    Captured::start(LogSetup::new(LevelSetting::Trace))
}

/// The id of the record that stands for a message which is not a job.
pub(crate) fn message_record_id(message_id: &str) -> JobId {
    JobId::for_message(&JobType::parse("email.send").unwrap(), message_id)
}

pub(crate) fn record_by_id<H: Handler, C: Clock + Clone>(bench: &Bench<H, C>, id: &JobId) -> Option<JobRecord> {
    bench.records.all().into_iter().find(|record| record.job_id == *id)
}

/// The record of a job that must have one.
pub(crate) fn record<H: Handler, C: Clock + Clone>(bench: &Bench<H, C>, message: &MessageBuilder) -> JobRecord {
    bench.record_of(message).expect("the job has a record")
}

/// The visibility that was set last for a message.
pub(crate) fn visible_in<H: Handler, C: Clock + Clone>(bench: &Bench<H, C>, message: &MessageBuilder) -> Option<Duration> {
    bench.queue.last_visibility(&message.receipt_handle())
}

/// Lets a worker begin and kills it after `time`: its future is dropped where it stands, as a process that is gone does nothing any more.
pub(crate) async fn killed_after<H: Handler, C: Clock + Clone>(
    bench: &Bench<H, C>,
    time: Duration,
    messages: impl IntoIterator<Item = MessageBuilder>,
) {
    let messages: Vec<_> = messages.into_iter().map(|message| message.build()).collect();
    let ended = tokio::time::timeout(time, bench.run_batch(messages)).await;
    assert!(ended.is_err(), "the worker was through before it was killed: {ended:?}");
}

/// Runs a batch that must answer.
pub(crate) async fn run<H: Handler, C: Clock + Clone>(
    bench: &Bench<H, C>,
    messages: impl IntoIterator<Item = MessageBuilder>,
) -> BatchRun {
    let messages: Vec<_> = messages.into_iter().map(|message| message.build()).collect();
    bench.run_batch(messages).await.expect("the invocation answers")
}

/// A moment this long after the bench's start.
pub(crate) fn after(time: Duration) -> EpochMillis {
    Bench::<Scripted>::START + time
}

/// A record of this message's job as the producer would have made it.
pub(crate) fn blank(message: &MessageBuilder, status: Status) -> JobRecord {
    let job_id = message.job_id().expect("a job");
    let job_type = job_id.job_type();
    JobRecord::new(job_id, job_type, 1, "test-caller", status, Bench::<Scripted>::START)
}
