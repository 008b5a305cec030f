//! Record first, then send; 202 means enqueued.
//!
//! ```text
//! create ──new──▶ send ──▶ 202
//!   │              └─failed or unclear─▶ end the send lease ─▶ 503   (the record stays: the message may be out)
//!   └─exists─▶ other content ─▶ 422
//!              running or later ─▶ 202, or 200 for a job that ended without success
//!              accepted, this sandbox saw it sent within the last minute ─▶ 202
//!              accepted, send lease open ─▶ 409
//!              accepted, sent again within the last minute ─▶ 202
//!              accepted, otherwise ─▶ take the sending over ─▶ send ─▶ confirm ─▶ 202
//! ```
//!
//! If the process dies anywhere in between, nobody was told 202, the lease ends by itself, and the next identical request sends. So one accepted
//! job costs one write and one send, and a key is never blocked for longer than the lease.

use std::time::Duration;

use futures::future::{join, join_all};
use ikkai::clock::EpochMillis;
use ikkai::idempotency::{Created, Event, Guard, JobRecord, Ledger, Status, StoreError, Verdict};
use ikkai::observability::{Metric, Metrics};
use ikkai::queue::{OutgoingMessage, QueueError, send_all};

use crate::accepted::{Accepted, Answer};
use crate::admission::Admission;
use crate::catalog::Served;
use crate::prepared::Prepared;
use crate::problem::{Code, Problem};
use crate::recent_sends::RecentSends;

/// A job of which it is known when it was sent, and which is still accepted, is not sent once more within this time.
const RESEND_AFTER: Duration = Duration::from_secs(60);

/// After this time a client repeats what was refused for a passing reason.
const SOON: Duration = Duration::from_secs(1);

/// Takes jobs.
#[derive(Debug)]
pub(crate) struct Acceptor {
    pub(crate) ledger: Ledger,
    pub(crate) send_lease: Duration,
    pub(crate) metrics: Metrics,
    pub(crate) recent_sends: RecentSends,
}

/// A job whose sending is ours.
struct Sending {
    /// The record as it is stored; its `accept_token` is ours.
    record: JobRecord,
    token: String,
    message: OutgoingMessage,
    turn: Turn,
}

impl Sending {
    /// The message, held back for what is left until the job's time: less with every try.
    fn outgoing(&self, now: EpochMillis) -> OutgoingMessage {
        let delay = self.record.retry_at.map_or(Duration::ZERO, |run_at| run_at.since(now));
        OutgoingMessage { delay, ..self.message.clone() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    Again,
}

impl Acceptor {
    /// Takes one job.
    pub(crate) async fn accept(&self, job: Prepared) -> Answer {
        let served = job.served.clone();
        match self.open(job).await {
            Err(answer) => answer,
            Ok(sending) => self.send(&served, vec![sending]).await.pop().unwrap_or_else(|| Err(queue_unavailable())),
        }
    }

    /// Takes jobs of one queue and sends those that are new with as few calls as SQS allows. One answer a job, in order.
    pub(crate) async fn accept_together(&self, served: &Served, jobs: Vec<Prepared>) -> Vec<Answer> {
        let mut answers: Vec<Option<Answer>> = Vec::with_capacity(jobs.len());
        let mut sendings = Vec::new();
        for opened in join_all(jobs.into_iter().map(|job| self.open(job))).await {
            answers.push(match opened {
                Err(answer) => Some(answer),
                Ok(sending) => {
                    sendings.push(sending);
                    None
                }
            });
        }
        let mut sent = self.send(served, sendings).await.into_iter();
        answers.into_iter().map(|answer| answer.or_else(|| sent.next()).unwrap_or_else(|| Err(queue_unavailable()))).collect()
    }

    /// Records a job. `Ok`: its message has to be sent by this request. `Err`: the answer is known.
    async fn open(&self, job: Prepared) -> Result<Sending, Answer> {
        if let Admission::TooDeep(retry_after) = job.served.gate.admission(self.ledger.now()).await {
            // Replays are exempt: they stand for a job that was let in already, and send it once more only where nobody knows that it was sent.
            return match self.ledger.get(job.job_id()).await {
                Ok(Some(found)) => self.open_again(job, found).await,
                Ok(None) => Err(Err(self.too_deep(&job, retry_after))),
                Err(error) => Err(Err(store_unavailable(&error))),
            };
        }
        let now = self.ledger.now();
        let token = new_token();
        let record = JobRecord {
            accept_token: Some(token.clone()),
            send_lease_until: Some(now + self.send_lease),
            created_at: now,
            updated_at: now,
            ..job.record.clone()
        };
        let (created, ()) = join(self.ledger.create(&record), job.served.gate.refresh(now)).await;
        match created {
            Ok(Created::New) => Ok(Sending { record, token, message: job.message, turn: Turn::First }),
            Ok(Created::Exists(found)) => self.open_again(job, *found).await,
            Err(error) => Err(Err(store_unavailable(&error))),
        }
    }

    /// The same for a job that has a record.
    async fn open_again(&self, job: Prepared, found: JobRecord) -> Result<Sending, Answer> {
        if !job.is_same_request(&found) {
            let detail = "this key was used for a job with another payload, data, account, runAt or callbackUrl; use a new key for a new job";
            return Err(Err(Problem::new(Code::IdempotencyKeyReused, detail)));
        }
        if found.status != Status::Accepted {
            return Err(Ok(Accepted::before(&found)));
        }
        let sent_here =
            found.accept_token.as_deref().is_some_and(|token| self.recent_sends.has(token, self.ledger.now(), RESEND_AFTER));
        if sent_here {
            return Err(Ok(Accepted::before(&found)));
        }
        let (token, until) = (new_token(), self.ledger.now() + self.send_lease);
        let take_over = Event::TakeOverSending { token: token.clone(), send_lease_until: until, min_interval: RESEND_AFTER };
        match self.ledger.decide(job.job_id(), Some(Box::new(found.clone())), &take_over).await {
            Ok(Verdict::SendTakenOver) => {
                let record =
                    JobRecord { accept_token: Some(token.clone()), send_lease_until: Some(until), enqueued_at: None, ..found };
                Ok(Sending { record, token, message: job.message, turn: Turn::Again })
            }
            Ok(Verdict::KnownEnqueued) => Err(Ok(Accepted::before(&found))),
            Ok(Verdict::SendInProgress(_)) => {
                let detail = "an identical request, or an operator, is putting this job into the queue; repeat this one";
                let problem = Problem::new(Code::SendInProgress, detail).retry_after(SOON);
                Err(Err(problem.about(&found.job_id, found.status)))
            }
            // The record vanished in between, which happens to expired ones only: the next request makes a new one.
            Ok(_) => {
                Err(Err(Problem::new(Code::StoreUnavailable, "the job's record was just removed; repeat the request")
                    .retry_after(SOON)))
            }
            Err(error) => Err(Err(store_unavailable(&error))),
        }
    }

    /// Sends, within the time in which nobody else may, and settles each record. One answer a job, in order.
    async fn send(&self, served: &Served, sendings: Vec<Sending>) -> Vec<Answer> {
        let now = self.ledger.now();
        let lease_end = sendings.iter().filter_map(|sending| sending.record.send_lease_until).min();
        let Some(time_left) = lease_end.map(|end| end.since(now)) else { return Vec::new() };
        let messages: Vec<OutgoingMessage> = sendings.iter().map(|sending| sending.outgoing(now)).collect();
        let sent = match time_left.is_zero() {
            true => Err("the send lease was over before the send"),
            false => tokio::time::timeout(time_left, send_all(served.queue.0.as_ref(), &messages))
                .await
                .map_err(|_| "no answer within the send lease"),
        };
        let verdicts = sent.unwrap_or_else(|code| messages.iter().map(|_| Err(unclear(code))).collect());
        join_all(sendings.into_iter().zip(verdicts).map(|(sending, verdict)| self.settle(sending, verdict))).await
    }

    async fn settle(&self, sending: Sending, verdict: Result<(), QueueError>) -> Answer {
        let Sending { mut record, token, turn, .. } = sending;
        if verdict.is_ok() {
            self.recent_sends.remember(token.clone(), self.ledger.now());
        }
        match (verdict, turn) {
            (Ok(()), Turn::First) => Ok(Accepted::new(record.job_id)),
            (Ok(()), Turn::Again) => {
                let event = Event::ConfirmSent { token: token.clone() };
                if let Err(error) = self.ledger.apply_owned(&mut record, &event, Guard::Sending(token)).await {
                    tracing::warn!(job_id = %record.job_id, error = %error, "a repeated send could not be confirmed; it may be repeated again");
                }
                Ok(Accepted::before(&record))
            }
            (Err(error), _) => {
                tracing::warn!(job_id = %record.job_id, error = %error, "a job could not be put into the queue, or nobody knows");
                let event = Event::EndSendLease { token: token.clone() };
                if let Err(error) = self.ledger.apply_owned(&mut record, &event, Guard::Sending(token)).await {
                    tracing::warn!(job_id = %record.job_id, error = %error, "the send lease could not be ended; it ends by itself");
                }
                Err(queue_unavailable())
            }
        }
    }

    fn too_deep(&self, job: &Prepared, retry_after: Duration) -> Problem {
        self.metrics.count(Metric::AdmissionRejected, job.record.job_type.as_str(), 1);
        Problem::new(Code::QueueTooDeep, "the queue of this job type is too deep; nothing was recorded").retry_after(retry_after)
    }
}

fn new_token() -> String {
    ikkai::token::unique().simple().to_string()
}

fn unclear(code: &str) -> QueueError {
    QueueError::Unavailable { operation: "SendMessage", code: code.to_owned() }
}

fn queue_unavailable() -> Problem {
    Problem::new(Code::QueueUnavailable, "repeat the request with the same key; it becomes the same job").retry_after(SOON)
}

/// The answer when the table does not answer; the log says why.
pub(crate) fn store_unavailable(error: &StoreError) -> Problem {
    tracing::warn!(error_code = error.code(), error = %error, "the jobs table did not answer");
    Problem::new(Code::StoreUnavailable, "repeat the request; a repeated post with the same key becomes the same job")
        .retry_after(SOON)
}
