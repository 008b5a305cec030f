//! A queue that keeps order, on the engine's SQS: what is put back keeps its group's order and is not taken for what was sent before.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName, QueueAttributeName};
use dlq_redrive::protocol::{Redrive, RunState, VerdictCode};
use dlq_redrive::{Invocation, StackQueue, StackQueues, Workbench, run};
use ikkai::clock::{Clock as _, SystemClock};
use ikkai::idempotency::{DynamoStore, ErrorClass, JobRecord, JobStore as _, LastError, Status};
use ikkai::job::{Envelope, IdempotencyKey, JobId, JobType, find, payload_digest};
use ikkai::queue::{QueueName, SqsQueue};
use serde_json::json;

use crate::harness::Lab;
use crate::operator::with_idle_queue;

/// How often a message is received before SQS moves it away.
const RECEIVES: usize = 2;

#[test]
fn a_fifo_queue_gets_its_groups_back_in_order_and_what_is_left_on_purpose_stays() {
    with_idle_queue(async |operator| {
        let lab = operator.lab;
        let (source, dead) = pair(lab).await;
        let queues = Fifo { sqs: aws_sdk_sqs::Client::new(&lab.aws.sdk_config()), source, dead };
        // Three groups; the head of the last one may have had its effect.
        let doubtful = dead_job(lab, &lab.key("fifo"), Status::InDoubt).await;
        queues.send(&doubtful, "c", "first-c").await;
        let mut orders: BTreeMap<&str, Vec<JobId>> = BTreeMap::new();
        for index in 0..8 {
            let group = ["a", "b"][index % 2];
            let job = dead_job(lab, &lab.key("fifo"), Status::Dead).await;
            queues.send(&job, group, &format!("first-{index}")).await;
            orders.entry(group).or_default().push(job.job_id.expect("an id"));
        }
        queues.dead_letter_all(9).await;

        let bench = queues.bench(operator.workbench().await);
        let mut ids_before: HashSet<String> = HashSet::new();
        for round in 0..2 {
            let answer = redrive(&bench, &lab.key("fifo-run")).await;
            assert_eq!((answer.state, answer.tally.redriven), (RunState::Finished, 8), "round {round}: {answer:?}");
            assert_eq!(answer.tally.by_verdict[&VerdictCode::InDoubt], 1, "{answer:?}");
            let back = queues.received_in_order(8).await;
            let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for message in &back {
                let body: serde_json::Value = serde_json::from_str(message.body().unwrap_or_default()).expect("JSON");
                let group = system(message, &MessageSystemAttributeName::MessageGroupId);
                seen.entry(group).or_default().push(body["jobId"].as_str().expect("an id").to_owned());
                let id = system(message, &MessageSystemAttributeName::MessageDeduplicationId);
                assert!(!id.starts_with("first-") && ids_before.insert(id.clone()), "no sending had {id} before");
            }
            for (group, jobs) in &orders {
                let jobs: Vec<_> = jobs.iter().map(ToString::to_string).collect();
                assert_eq!(seen[*group], jobs, "round {round}: the order of group {group}");
            }
            // They fail once more, and their receives are used up.
            for job_id in orders.values().flatten() {
                fail_again(lab, job_id).await;
            }
            queues.dead_letter_all(9).await;
        }
        queues.remove().await;
    });
}

struct Fifo {
    sqs: aws_sdk_sqs::Client,
    source: (String, String),
    dead: (String, String),
}

/// A FIFO queue with its dead-letter queue: their names and URLs.
async fn pair(lab: &Lab) -> ((String, String), (String, String)) {
    let sqs = aws_sdk_sqs::Client::new(&lab.aws.sdk_config());
    let base = lab.key("ordered");
    let dead = (format!("{base}-dlq.fifo"), create(&sqs, &format!("{base}-dlq.fifo"), None).await);
    let arn = sqs.get_queue_attributes().queue_url(&dead.1).attribute_names(QueueAttributeName::QueueArn).send().await;
    let arn = arn.expect("attributes").attributes.expect("attributes")[&QueueAttributeName::QueueArn].clone();
    let policy = json!({"deadLetterTargetArn": arn, "maxReceiveCount": RECEIVES}).to_string();
    let source = (format!("{base}.fifo"), create(&sqs, &format!("{base}.fifo"), Some(policy)).await);
    (source, dead)
}

async fn create(sqs: &aws_sdk_sqs::Client, name: &str, redrive_policy: Option<String>) -> String {
    let mut create = sqs.create_queue().queue_name(name).attributes(QueueAttributeName::FifoQueue, "true");
    if let Some(policy) = redrive_policy {
        create = create.attributes(QueueAttributeName::RedrivePolicy, policy);
    }
    create.send().await.expect("a queue").queue_url.expect("a URL")
}

impl Fifo {
    /// The function's workbench, on these queues alone.
    fn bench(&self, bench: Workbench) -> Workbench {
        let queue = |name: &str| Arc::new(SqsQueue::new(self.sqs.clone(), QueueName::new(name)));
        let stack_queue = StackQueue {
            name: "email".to_owned(),
            kind: find("email.send").expect("registered"),
            queue: queue(&self.source.0),
            dead_letters: queue(&self.dead.0),
            queue_name: QueueName::new(&self.source.0),
            dead_letter_queue_name: QueueName::new(&self.dead.0),
        };
        Workbench { queues: StackQueues::new(vec![stack_queue]), ..bench }
    }

    async fn send(&self, job: &Envelope, group: &str, deduplication_id: &str) {
        let sent = self.sqs.send_message().queue_url(&self.source.1).message_body(job.to_body());
        let sent = sent.message_group_id(group).message_deduplication_id(deduplication_id);
        sent.send().await.expect("the queue takes it");
    }

    /// Receives until SQS has moved all of them away.
    async fn dead_letter_all(&self, count: usize) {
        for _ in 0..200 {
            if self.depth(&self.dead.1).await >= count {
                return;
            }
            let received = self.sqs.receive_message().queue_url(&self.source.1).max_number_of_messages(10).visibility_timeout(0);
            received.send().await.expect("the queue answers");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{} of {count} messages were moved away", self.depth(&self.dead.1).await);
    }

    async fn depth(&self, url: &str) -> usize {
        use QueueAttributeName::{ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible};
        let asked = self.sqs.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::All).send().await;
        let attributes = asked.expect("attributes").attributes.expect("attributes");
        let count = |name| attributes[&name].parse::<usize>().expect("a number");
        count(ApproximateNumberOfMessages) + count(ApproximateNumberOfMessagesNotVisible)
    }

    /// What the source queue hands out, in its order; it is left there, visible again.
    async fn received_in_order(&self, count: usize) -> Vec<Message> {
        let received = self.sqs.receive_message().queue_url(&self.source.1).max_number_of_messages(10).visibility_timeout(0);
        let received = received.message_system_attribute_names(MessageSystemAttributeName::All).send().await;
        let messages = received.expect("the queue answers").messages.unwrap_or_default();
        assert_eq!(messages.len(), count, "{messages:?}");
        messages
    }

    async fn remove(&self) {
        for url in [&self.source.1, &self.dead.1] {
            self.sqs.delete_queue().queue_url(url).send().await.expect("the queue goes");
        }
    }
}

fn system(message: &Message, name: &MessageSystemAttributeName) -> String {
    message.attributes().and_then(|attributes| attributes.get(name)).cloned().unwrap_or_default()
}

async fn redrive(bench: &Workbench, run_id: &str) -> dlq_redrive::protocol::RedriveAnswer {
    let request =
        json!({"queue": "email", "reason": "a test", "runId": run_id, "stopAtReturnedPercent": 100, "ratePerSecond": 100});
    let request: Redrive = serde_json::from_value(request).expect("a request");
    let deadline = SystemClock.now() + Duration::from_secs(60);
    let invocation = Invocation { deadline, caller: None, request_id: run_id.to_owned() };
    run::redrive(bench, &request, &invocation).await.expect("an answer")
}

fn records(lab: &Lab) -> DynamoStore {
    DynamoStore::new(aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config()), lab.stack.jobs_table())
}

async fn dead_job(lab: &Lab, key: &str, status: Status) -> Envelope {
    let (job_type, now) = (JobType::parse("email.send").expect("a type"), SystemClock.now());
    let key = IdempotencyKey::parse(key).expect("a key");
    let job = Envelope {
        job_id: Some(JobId::derive("tester", &job_type, &key)),
        job_type: job_type.clone(),
        schema_version: 1,
        business_id: None,
        payload: json!({"deliveryId": key.as_str(), "templateId": "welcome", "userId": "user-1"}),
        idempotency_key: key,
    };
    let mut record = JobRecord::new(job.job_id.clone().expect("an id"), job_type, 1, "tester", status, now);
    record.idempotency_key = Some(job.idempotency_key.as_str().to_owned());
    record.payload_digest = Some(payload_digest(&job.payload));
    record.payload = Some(job.payload.clone());
    record.last_error = Some(LastError::new(ErrorClass::Permanent, "a_test", "a test"));
    record.died_at = (status == Status::Dead).then_some(now);
    records(lab).create(&record, now).await.expect("a record");
    job
}

/// As a consumer that gives the job up again.
async fn fail_again(lab: &Lab, job_id: &JobId) {
    use ikkai::idempotency::{Guard, Replaced};
    let store = records(lab);
    let found = store.get(job_id).await.expect("the table answers").expect("a record");
    let now = SystemClock.now();
    let dead = JobRecord { status: Status::Dead, died_at: Some(now), updated_at: now, ..found.clone() };
    let written = store.replace(Some(&found), &dead, &Guard::Unchanged).await.expect("the table answers");
    assert_eq!(written, Replaced::Written);
}
