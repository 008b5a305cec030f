//! Clients: each posts job after job, and asks again until the API says 202.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use fastrand::Rng;
use futures::future::try_join_all;
use ikkai::job::{IdempotencyKey, JobId};
use ikkai_cli::local::api::Api;
use serde_json::{Value, json};

use crate::Failure;
use crate::book::{Book, Heard, Kind, Posted};
use crate::fault::Fault;
use crate::plan;
use crate::stage::{CALLER, Stage};
use crate::tally::Tally;

/// How many post at the same time: enough to keep every worker at work, so that who dies has something in hand.
const CLIENTS: usize = 24;

/// How often one asks before it gives up.
const TRIES: u32 = 30;

/// Of so many jobs one is posted again, and of so many one has its message twice.
const ONE_IN: u64 = 12;

/// How long a client waits for room.
const ROOM_EVERY: Duration = Duration::from_millis(100);

/// Whom mails go to: contacts of the seed data who have all that the templates need.
const USERS: [&str; 8] = ["user-1", "user-2", "user-3", "user-4", "user-5", "user-6", "user-7", "user-34"];

/// Until when, and how much.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// No new job after this moment.
    pub until: Instant,
    /// No more jobs than these.
    pub jobs: Option<u64>,
    /// No new job of a kind while half as many of it have not ended.
    pub in_flight: u64,
}

/// Feeds jobs in.
#[derive(Debug)]
pub struct Clients<'a> {
    /// Where to.
    pub stage: &'a Stage,
    /// Where they are noted.
    pub book: &'a Book,
    /// Where repetitions are counted.
    pub tally: &'a Tally,
    /// What the jobs are drawn from.
    pub seed: u64,
}

impl Clients<'_> {
    /// Posts until time or jobs are used up.
    ///
    /// # Errors
    /// The API refuses a job for good, which says that this program and the API do not fit together.
    pub async fn feed(&self, bounds: Bounds) -> Result<(), Failure> {
        let next = AtomicU64::new(0);
        // Each client has one kind of jobs: where charges wait for their provider, mails go on.
        let kinds = [Kind::Mail, Kind::Charge].into_iter().cycle().take(CLIENTS);
        try_join_all(kinds.map(|kind| self.client(kind, &next, bounds))).await.map(drop)
    }

    async fn client(&self, kind: Kind, next: &AtomicU64, bounds: Bounds) -> Result<(), Failure> {
        let api = self.stage.stack().api(CALLER)?;
        while Instant::now() < bounds.until {
            if self.book.in_flight(kind) >= bounds.in_flight / 2 {
                tokio::time::sleep(ROOM_EVERY).await;
                continue;
            }
            let number = next.fetch_add(1, Ordering::SeqCst);
            if bounds.jobs.is_some_and(|jobs| number >= jobs) {
                break;
            }
            self.post(&api, kind, number).await?;
        }
        Ok(())
    }

    async fn post(&self, api: &Api, kind: Kind, number: u64) -> Result<(), Failure> {
        // Apart from the dice of the plan, whatever the numbers of its kinds are.
        let mut dice = plan::dice(self.seed, 1_000 + number);
        let key = format!("chaos-{}-{number}", self.seed);
        let job = Order::draw(kind, &mut dice, &key, self.stage);
        let mut posted = job.posted(&key)?;
        self.book.note(posted.clone());
        if self.ask_until_heard(api, &key, &job, &mut dice).await? {
            posted.heard = Heard::Accepted;
            self.book.note(posted.clone());
        }
        if self.tally.wants(Fault::RepeatedRequest) && dice.u64(..ONE_IN) == 0 {
            self.repeat(api, &key, &job, &posted).await?;
        }
        if self.tally.wants(Fault::DuplicateMessage) && posted.heard == Heard::Accepted && dice.u64(..ONE_IN) == 0 {
            self.duplicate(&key, &job, &posted).await?;
        }
        Ok(())
    }

    /// Asks under the same key until the API has taken the job. `false`: the client has given up.
    async fn ask_until_heard(&self, api: &Api, key: &str, job: &Order, dice: &mut Rng) -> Result<bool, Failure> {
        for _ in 0..TRIES {
            let Ok(answer) = api.post_job(key, &job.body).await else { continue };
            match answer.status().as_u16() {
                // 200: it was taken before, and has ended without success by now.
                202 | 200 => return Ok(true),
                409 | 429 | 500.. => tokio::time::sleep(Duration::from_millis(dice.u64(100..600))).await,
                status => {
                    let body = String::from_utf8_lossy(answer.body()).into_owned();
                    return Err(format!("the API refuses a job that is good: {status} {body}").into());
                }
            }
        }
        Ok(false)
    }

    /// A client that did not hear, or does not remember, posts the same once more.
    async fn repeat(&self, api: &Api, key: &str, job: &Order, posted: &Posted) -> Result<(), Failure> {
        let Ok(answer) = api.post_job(key, &job.body).await else { return Ok(()) };
        self.tally.happened(Fault::RepeatedRequest);
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        match body["jobId"].as_str() {
            Some(other) if other != posted.job_id.as_str() => Err(format!("{key} is {} and {other}", posted.job_id).into()),
            _ => Ok(()),
        }
    }

    /// Puts the job's message on its queue once more, past the API, as a queue that delivers at least once does.
    async fn duplicate(&self, key: &str, job: &Order, posted: &Posted) -> Result<(), Failure> {
        let message = json!({
            "jobId": posted.job_id.as_str(), "type": job.body["type"], "schemaVersion": 1, "idempotencyKey": key,
            "payload": job.body["payload"],
        });
        self.stage.send(job.kind, &message.to_string()).await?;
        self.tally.happened(Fault::DuplicateMessage);
        Ok(())
    }
}

/// A job to post.
struct Order {
    kind: Kind,
    body: Value,
    callback: bool,
}

impl Order {
    fn draw(kind: Kind, dice: &mut Rng, key: &str, stage: &Stage) -> Self {
        let mut body = match kind {
            Kind::Mail if dice.bool() => welcome(dice, key),
            Kind::Mail => receipt(dice, key),
            Kind::Charge => charge(dice, key, &stage.customers),
        };
        let callback = dice.u32(..4) == 0;
        if callback {
            body["callbackUrl"] = stage.callback_url().into();
        }
        Self { kind, body, callback }
    }

    /// The job before anybody has heard of it.
    fn posted(&self, key: &str) -> Result<Posted, Failure> {
        let job_type =
            self.body["type"].as_str().and_then(ikkai::job::find).ok_or("a job of a type that the kit does not bring")?;
        let job_id = JobId::derive(&format!("local:{CALLER}"), &job_type.job_type(), &IdempotencyKey::parse(key)?);
        Ok(Posted { job_id, kind: self.kind, heard: Heard::Nothing, callback: self.callback, at: SystemTime::now() })
    }
}

fn welcome(dice: &mut Rng, key: &str) -> Value {
    let user = USERS[dice.usize(..USERS.len())];
    json!({"type": "email.send", "payload": {"deliveryId": key, "templateId": "welcome", "userId": user}})
}

fn receipt(dice: &mut Rng, key: &str) -> Value {
    let user = USERS[dice.usize(..USERS.len())];
    let variables =
        json!({"order_number": key, "total": "42.00 EUR", "receipt_url": format!("https://example.com/receipts/{key}")});
    json!({
        "type": "email.send", "payload": {"deliveryId": key, "templateId": "receipt", "userId": user},
        "data": {"variables": variables},
    })
}

fn charge(dice: &mut Rng, key: &str, customers: &[String]) -> Value {
    let customer = &customers[dice.usize(..customers.len())];
    let amount = format!("{}.{:02}", dice.u32(1..200), dice.u32(..100));
    json!({
        "type": "billing.charge", "payload": {"invoiceId": key, "customerId": customer},
        "data": {"amount": amount, "currency": "EUR"},
    })
}
