//! A page of a run that removes messages: archived first, their jobs cancelled, then deleted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ikkai::clock::EpochMillis;
use ikkai::consumer::MessageContent;
use ikkai::idempotency::{Event, JobRecord, PutBack, Status, Verdict};
use ikkai::queue::{AttributeData, QueueName, ReceivedMessage};
use serde_json::{Map, Value, json};

use super::page::{CLOCK_TOLERANCE, NOT_WAITED_FOR, PAUSE, Page};
use super::part::{Part, Step};
use super::rebuilt::{ON_ITS_WAY_DETAIL, may_be_on_its_way};
use crate::archive::ArchiveError;
use crate::dead_letter::{DeadLetter, Place};
use crate::protocol::VerdictCode;
use crate::queues::StackQueue;

/// Why a message stays.
type Stays = (VerdictCode, Option<String>);

impl Part<'_> {
    /// Removes a page of messages, as far as their records let them.
    pub(super) async fn discard(&mut self, page: Page<'_>) -> Step {
        let (mut removable, mut unhandled) = (Vec::new(), Vec::new());
        let mut step = self.count_in_advance(page.letters.len()).await;
        for letter in page.letters {
            step = step.and_then(|()| self.in_time());
            if step.is_err() {
                unhandled.push(letter.message.receipt_handle);
                continue;
            }
            let now = self.workbench.clock.now();
            let keeps = |record| keeps(record, now).or_else(|| is_leftover(record, &letter.message).then(leftover));
            match letter.places.iter().filter_map(|place| own_record(place, now)).find_map(keeps) {
                Some(stays) => self.keep(page.queue, letter, stays),
                None if self.order.dry_run => self.keep(page.queue, letter, (VerdictCode::Discarded, None)),
                None => match self.put_away(page.queue, &letter).await {
                    Ok(()) => removable.push(letter),
                    Err(stays) => self.keep(page.queue, letter, stays),
                },
            }
        }
        self.remove(page.queue, removable).await;
        self.give_back(page.queue, unhandled).await;
        self.in_order("the jobs table takes no writes")?;
        step
    }

    fn keep(&mut self, queue: &StackQueue, letter: DeadLetter, (verdict, detail): Stays) {
        self.judge(queue, &letter, verdict, detail);
        self.left.push(letter.message);
    }

    /// Archives a message, and takes its jobs back.
    async fn put_away(&mut self, queue: &StackQueue, letter: &DeadLetter) -> Result<(), Stays> {
        let records = letter.places.iter().filter_map(|place| place.record.as_ref());
        let document = self.document(queue, Some(&letter.message), records);
        self.archive(queue, &letter.message.message_id, &document).await?;
        let now = self.workbench.clock.now();
        for record in letter.places.iter().filter_map(|place| own_record(place, now)) {
            self.cancel(record).await?;
        }
        Ok(())
    }

    /// Archives the record of a job that has no message, and takes the job back.
    pub(super) async fn discard_job(&mut self, queue: &StackQueue, record: &JobRecord) {
        let name = record.job_id.as_str();
        let outcome = match keeps(record, self.workbench.clock.now()) {
            Some(stays) => Err(stays),
            None if self.order.dry_run => Ok(()),
            None => {
                let document = self.document(queue, None, std::iter::once(record));
                match self.archive(queue, name, &document).await {
                    Ok(()) => self.cancel(record).await,
                    failed => failed,
                }
            }
        };
        let (verdict, detail) = outcome.err().unwrap_or((VerdictCode::Discarded, None));
        self.judge_job(queue, name, verdict, detail);
    }

    async fn archive(&self, queue: &StackQueue, name: &str, document: &Value) -> Result<(), Stays> {
        let began = self.run.began_at.rfc3339().to_string();
        let day = began.get(..10).unwrap_or(&began);
        let key = format!("{}/{day}/{}/{name}.json", queue.dead_letter_queue_name.as_str(), self.run.summary.run_id);
        let archive = &self.workbench.archive;
        let put = self.waited_for(async {
            match archive.put(&key, document).await {
                // The same document under the same key: twice is as good as once.
                Err(ArchiveError { .. }) => {
                    tokio::time::sleep(PAUSE).await;
                    archive.put(&key, document).await
                }
                put => put,
            }
        });
        let late = || Err(ArchiveError { code: "no answer before the invocation's end".to_owned() });
        put.await.unwrap_or_else(late).map_err(|error| (VerdictCode::NotArchived, Some(error.to_string())))
    }

    async fn cancel(&mut self, record: &JobRecord) -> Result<(), Stays> {
        let ended = match record.status {
            Status::Accepted | Status::RetryScheduled | Status::Dead => None,
            Status::Running => Some(self.end(record).await?),
            _ => return Ok(()),
        };
        let record = ended.as_ref().unwrap_or(record);
        let event = Event::Cancel { keep_for: self.workbench.limits.record_retention };
        let ledger = &self.workbench.ledger;
        let found = || Some(Box::new(record.clone()));
        let asked = self.waited_for(async {
            match ledger.decide(&record.job_id, found(), &event).await {
                Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    ledger.decide(&record.job_id, found(), &event).await
                }
                asked => asked,
            }
        });
        let asked = asked.await.unwrap_or(Err(NOT_WAITED_FOR));
        self.record_failures = if asked.is_err() { self.record_failures + 1 } else { 0 };
        match asked {
            Ok(Verdict::Cancelled | Verdict::Missing | Verdict::TooLate(Status::Succeeded)) => Ok(()),
            Ok(Verdict::TooLate(Status::Running)) => Err((VerdictCode::Running, None)),
            Ok(Verdict::TooLate(Status::InDoubt)) => Err((VerdictCode::InDoubt, None)),
            Ok(_) => Err((VerdictCode::Changed, None)),
            Err(error) => Err((VerdictCode::RecordFailed, Some(error.to_string()))),
        }
    }

    /// Ends a job whose worker died: dead, or in doubt where it may have had its effect. A put-back does that to a job that cannot be put back
    /// any more, which this one shall not be.
    async fn end(&mut self, record: &JobRecord) -> Result<JobRecord, Stays> {
        let event = Event::PutBack(PutBack { generation: record.generation, max_generations: 0, payload: None });
        let ledger = &self.workbench.ledger;
        let asked = self.waited_for(async {
            match ledger.apply(&record.job_id, &event).await {
                Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    ledger.apply(&record.job_id, &event).await
                }
                asked => asked,
            }
        });
        let asked = asked.await.unwrap_or(Err(NOT_WAITED_FOR));
        self.record_failures = if asked.is_err() { self.record_failures + 1 } else { 0 };
        match asked.map(|decision| (decision.verdict, decision.record)) {
            Ok((Verdict::Quarantined, Some(ended))) => Ok(*ended),
            Ok((Verdict::InDoubt(_) | Verdict::WasInDoubt(_), _)) => Err((VerdictCode::InDoubt, None)),
            Ok((Verdict::RunningElsewhere(_), _)) => Err((VerdictCode::Running, None)),
            Ok(_) => Err((VerdictCode::Changed, None)),
            Err(error) => Err((VerdictCode::RecordFailed, Some(error.to_string()))),
        }
    }

    async fn remove(&mut self, queue: &StackQueue, letters: Vec<DeadLetter>) {
        let handles: Vec<_> = letters.iter().map(|letter| letter.message.receipt_handle.clone()).collect();
        let deleted = self.delete(queue, &handles).await;
        for (letter, deleted) in letters.into_iter().zip(deleted) {
            match deleted {
                Ok(()) => self.judge(queue, &letter, VerdictCode::Discarded, None),
                Err(error) => self.keep(queue, letter, (VerdictCode::NotDeleted, Some(error.to_string()))),
            }
        }
    }

    /// What is archived: the message with everything that a copy of it needs, and the records without what is private in them.
    fn document<'r>(
        &self,
        queue: &StackQueue,
        message: Option<&ReceivedMessage>,
        records: impl Iterator<Item = &'r JobRecord>,
    ) -> Value {
        json!({
            "version": 1,
            "runId": self.run.summary.run_id,
            "archivedAt": self.workbench.clock.now().rfc3339().to_string(),
            "queue": queue.queue_name.as_str(),
            "deadLetterQueue": queue.dead_letter_queue_name.as_str(),
            "message": message.map(message_json),
            "records": records.map(record_json).collect::<Vec<_>>(),
        })
    }
}

/// Why a job keeps its message: somebody works on it, nobody knows what it did, or it may have just been put back and waits in
/// its queue, so that this message is a leftover.
fn keeps(record: &JobRecord, now: EpochMillis) -> Option<Stays> {
    match record.status {
        Status::Running if !record.lease_is_over(now) => Some((VerdictCode::Running, None)),
        Status::InDoubt => Some((VerdictCode::InDoubt, None)),
        Status::Dead | Status::RetryScheduled if record.doubt().is_some() => Some((VerdictCode::InDoubt, None)),
        Status::Accepted | Status::RetryScheduled | Status::Running if may_be_on_its_way(record, now) => {
            Some((VerdictCode::Changed, Some(ON_ITS_WAY_DETAIL.to_owned())))
        }
        _ => None,
    }
}

/// Whether a waiting job's message is not this one, nor that of one whose worker died. When it was put back last, another message was sent; this one is older, and could not be
/// deleted then. Which of the two goes through is not known here, so the job is not cancelled with it: a put-back may also have ended before it
/// sent anything. Clocks differ: the message of the put-back itself may seem a little older than it.
fn is_leftover(record: &JobRecord, message: &ReceivedMessage) -> bool {
    let waits = matches!(record.status, Status::Accepted | Status::RetryScheduled | Status::Running);
    let is_older = |put_back_at| message.sent_at.is_none_or(|sent| sent + CLOCK_TOLERANCE < put_back_at);
    waits && record.put_back_at.is_some_and(is_older)
}

fn leftover() -> Stays {
    let detail = "its job was put back since, and waits: another message of it may be in the queue. When the job has ended this one can be \
                  discarded; put it back if nothing comes, or cancel the job";
    (VerdictCode::Changed, Some(detail.to_owned()))
}

/// The record of the message's job. The job of a message with another payload lives on without it.
fn own_record(place: &Place, now: EpochMillis) -> Option<&JobRecord> {
    place.record.as_ref().filter(|record| !record.is_expired(now) && is_of(place, record))
}

/// Whether the message is the job's, with its present payload or one that it had.
fn is_of(place: &Place, record: &JobRecord) -> bool {
    let MessageContent::Job { payload_digest: Some(digest), .. } = &place.content else { return true };
    record.payload_digest.as_ref().is_none_or(|known| known == digest) || record.had_payload(digest)
}

fn message_json(message: &ReceivedMessage) -> Value {
    let attributes = message.attributes.iter().map(|(name, attribute)| {
        let value = match &attribute.value {
            AttributeData::Text(text) => json!({ "type": attribute.data_type, "text": text }),
            AttributeData::Bytes(bytes) => json!({ "type": attribute.data_type, "base64": STANDARD.encode(bytes) }),
        };
        (name.clone(), value)
    });
    json!({
        "messageId": message.message_id,
        "body": message.body,
        "attributes": attributes.collect::<Map<_, _>>(),
        "traceHeader": message.trace_header,
        "groupId": message.group_id,
        "deduplicationId": message.deduplication_id,
        "sentAt": message.sent_at.map(|at| at.rfc3339().to_string()),
        "receiveCount": message.receive_count,
        "source": message.source.as_ref().map(QueueName::as_str),
    })
}

/// Neither private inputs nor the address of a callback: they were never in the queue, and end with the job.
fn record_json(record: &JobRecord) -> Value {
    json!({
        "jobId": record.job_id.as_str(),
        "jobType": record.job_type.as_str(),
        "schemaVersion": record.schema_version,
        "status": record.status.as_str(),
        "caller": record.caller,
        "idempotencyKey": record.idempotency_key,
        "businessId": record.business_id,
        "accountId": record.account_id,
        "payload": record.payload,
        "originalPayload": record.original_payload,
        "generation": record.generation,
        "attempts": record.attempts,
        "crashes": record.crashes,
        "lastError": record.last_error,
        "providerRef": record.provider_ref,
        "createdAt": record.created_at.rfc3339().to_string(),
        "updatedAt": record.updated_at.rfc3339().to_string(),
        "diedAt": record.died_at.map(|at| at.rfc3339().to_string()),
    })
}
