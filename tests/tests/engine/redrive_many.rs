//! Many dead letters: a run that goes on by its cursor from one invocation to the next, at its rate.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use dlq_redrive::protocol::{Redrive, RedriveAnswer, RunState};
use dlq_redrive::{Invocation, Workbench, run};
use futures::StreamExt as _;
use ikkai::clock::{Clock as _, SystemClock};
use ikkai::idempotency::{DynamoStore, ErrorClass, JobRecord, JobStore as _, LastError, Status};
use ikkai::job::{Envelope, IdempotencyKey, JobId, JobType, payload_digest};
use serde_json::{Value, json};

use crate::operator::{Operator, with_idle_queue};

/// Calls side by side.
const AT_ONCE: usize = 16;

/// How long an invocation may take here, and what it keeps of that.
const INVOCATION: Duration = Duration::from_secs(6);
const RESERVE: Duration = Duration::from_secs(2);

#[test]
fn a_thousand_dead_letters_are_put_back_selectively_over_several_invocations() {
    with_idle_queue(async |operator| put_back_half_of(operator, 1_000, 60).await);
}

#[test]
#[ignore = "takes minutes on the local engine: named in CONTRIBUTING.md"]
fn ten_thousand_dead_letters_are_put_back_selectively_over_several_invocations() {
    with_idle_queue(async |operator| put_back_half_of(operator, 10_000, 200).await);
}

/// Every second one of `count` dead jobs is meant.
async fn put_back_half_of(operator: &Operator<'_>, count: usize, rate: u32) {
    let lab = operator.lab;
    let (meant, marker) = (lab.key("meant"), lab.key("many"));
    let jobs: Vec<JobId> = bury(operator, &marker, &meant, count).await;
    let half = u64::try_from(count / 2).expect("a count");

    let mut bench = operator.workbench().await;
    bench.limits.reserve = RESERVE;
    let request = json!({
        "queue": "email", "filter": {"codes": [meant]}, "max": count, "ratePerSecond": rate, "stopAtReturnedPercent": 100,
        "reason": "the cause was mended", "runId": marker,
    });
    let answers = to_the_end(&bench, request).await;
    let last = answers.last().expect("an answer");
    assert_eq!((last.state, last.tally.redriven, last.tally.matched), (RunState::Finished, half, half), "{last:?}");
    assert!(answers.len() >= 3, "{} invocations", answers.len());
    assert_eq!(answers.iter().map(|answer| answer.verdicts.len()).sum::<usize>(), count / 2, "each invocation tells its own");

    let sent = sent_at(operator, lab.stack.email_queue(), &marker).await;
    let expected: HashSet<_> = jobs.iter().step_by(2).map(ToString::to_string).collect();
    assert_eq!(sent.keys().cloned().collect::<HashSet<_>>(), expected, "each of them once, and nothing else");
    assert_eq!(operator.dead_letters_with(&marker).await, count / 2);
    // A slow machine is slower than asked for; nothing is faster.
    let mut times: Vec<u64> = sent.into_values().collect();
    times.sort_unstable();
    let seconds = (times[times.len() - 1] - times[0]) as f64 / 1_000.0;
    let seen = (times.len() - 10) as f64 / seconds;
    assert!(seen <= f64::from(rate) * 1.1, "{seen} instead of {rate} a second");
    eprintln!(
        "{half} of {count} dead letters put back in {seconds:.0} s by {} invocations: {seen:.0} of {rate} a second",
        answers.len()
    );
    let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config()), lab.stack.jobs_table());
    for (index, job_id) in [0, 1, count - 2, count - 1].map(|index| (index, &jobs[index])) {
        let record = store.get(job_id).await.expect("the table answers").expect("a record");
        let expected = if index % 2 == 0 { (Status::Accepted, 1) } else { (Status::Dead, 0) };
        assert_eq!((record.status, record.generation), expected, "{job_id}");
    }
    let told = operator.done(&json!({"action": "history", "runId": last.run_id})).await;
    assert_eq!(told["verdicts"].as_array().map(Vec::len), Some(count / 2));
    operator.purge(lab.stack.email_queue()).await;
    operator.purge(lab.stack.email_dead_letter_queue()).await;
}

/// Invokes until the run is over.
async fn to_the_end(bench: &Workbench, mut request: Value) -> Vec<RedriveAnswer> {
    let mut answers = Vec::new();
    loop {
        let order: Redrive = serde_json::from_value(request.clone()).expect("a request");
        let invocation =
            Invocation { deadline: SystemClock.now() + INVOCATION, caller: None, request_id: format!("part-{}", answers.len()) };
        let answer = run::redrive(bench, &order, &invocation).await.expect("an answer");
        assert!(SystemClock.now() < invocation.deadline, "the part has outlasted its invocation");
        request["cursor"] = answer.cursor.clone().into();
        answers.push(answer);
        if answers.last().is_some_and(|answer| answer.state != RunState::Continues) {
            return answers;
        }
    }
}

/// Dead jobs with their messages, every second one with the reason that is meant.
async fn bury(operator: &Operator<'_>, marker: &str, meant: &str, count: usize) -> Vec<JobId> {
    let lab = operator.lab;
    let job_type = JobType::parse("email.send").expect("a type");
    let store = DynamoStore::new(aws_sdk_dynamodb::Client::new(&lab.aws.sdk_config()), lab.stack.jobs_table());
    let jobs = (0..count).map(|index| {
        let key = IdempotencyKey::parse(&format!("{marker}-{index}")).expect("a key");
        Envelope {
            job_id: Some(JobId::derive("tester", &job_type, &key)),
            job_type: job_type.clone(),
            schema_version: 1,
            business_id: None,
            payload: json!({"deliveryId": key.as_str(), "templateId": "welcome", "userId": "user-1"}),
            idempotency_key: key,
        }
    });
    let jobs: Vec<Envelope> = jobs.collect();
    let now = SystemClock.now();
    let records = jobs.iter().enumerate().map(|(index, job)| {
        let job_id = job.job_id.clone().expect("an id");
        let mut record = JobRecord::new(job_id, job_type.clone(), 1, "tester", Status::Dead, now);
        record.idempotency_key = Some(job.idempotency_key.as_str().to_owned());
        record.payload_digest = Some(payload_digest(&job.payload));
        record.payload = Some(job.payload.clone());
        let code = if index % 2 == 0 { meant } else { "another_reason" };
        (record.died_at, record.last_error) = (Some(now), Some(LastError::new(ErrorClass::Permanent, code, "a test")));
        record
    });
    futures::stream::iter(records)
        .for_each_concurrent(AT_ONCE, |record| {
            let store = &store;
            async move { drop(store.create(&record, now).await.expect("a record")) }
        })
        .await;
    let sqs = aws_sdk_sqs::Client::new(&lab.aws.sdk_config());
    let url = operator.url(lab.stack.email_dead_letter_queue()).await;
    let bodies: Vec<String> = jobs.iter().map(Envelope::to_body).collect();
    futures::stream::iter(bodies.chunks(10))
        .for_each_concurrent(AT_ONCE, |bodies| {
            let entries = bodies.iter().zip(0..).map(|(body, id)| {
                SendMessageBatchRequestEntry::builder().id(format!("m-{id}")).message_body(body).build().expect("an entry")
            });
            let sent = sqs.send_message_batch().queue_url(&url).set_entries(Some(entries.collect())).send();
            async move { assert!(sent.await.expect("the queue takes them").failed.is_empty()) }
        })
        .await;
    jobs.into_iter().filter_map(|job| job.job_id).collect()
}

/// When the message of each job was sent, in milliseconds. A job with two messages fails the test.
async fn sent_at(operator: &Operator<'_>, queue: &str, marker: &str) -> BTreeMap<String, u64> {
    let messages = operator.lab.stack.messages(queue).await.expect("the engine answers");
    let mut sent = BTreeMap::new();
    for message in messages.into_iter().filter(|message| message.body.contains(marker)) {
        let body: Value = serde_json::from_str(&message.body).expect("JSON");
        let job_id = body["jobId"].as_str().expect("an id").to_owned();
        let at = &message.attributes["SentTimestamp"];
        let at = at.as_u64().or_else(|| at.as_str()?.parse().ok()).expect("a time");
        assert_eq!(sent.insert(job_id, at), None, "two messages of one job");
    }
    sent
}
