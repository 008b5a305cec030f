//! Clients of the producer API, with their retries, and senders who do without it.

use std::sync::Arc;
use std::time::Duration;

use ikkai::config::Reader;
use ikkai::job::{BillingCharge, EmailSend, JobId, JobKind};
use ikkai::observability::Metrics;
use ikkai::queue::{OutgoingMessage, Queue, QueueName};
use producer_api::{Api, Call, Catalog, Served, Settings};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::fault::Fault;
use crate::handler::NewerMail;
use crate::interrupted::{Fate, Interrupted};
use crate::laws::Deletes;
use crate::mutated;
use crate::sandbox::some_clock;
use crate::stage::Line;
use crate::troubled_queue::TroubledQueue;
use crate::world::World;

/// A sandbox of the producer API.
pub(crate) struct Door {
    world: Arc<World>,
    actor: Arc<Actor>,
    api: Api,
}

impl Door {
    pub(crate) fn open(world: &Arc<World>, number: u32) -> Self {
        let actor = Actor::new(format!("api.{number}"));
        let served = |kind: JobKind, line: Line| {
            let queue = Arc::new(TroubledQueue::new(world, &actor, line.queue(), Deletes::PutBack));
            Served::new(kind, QueueName::new(line.queue()), mutated::producers_queue(world, queue), u64::MAX)
        };
        let mail = if world.plan.mixed_versions { JobKind::of::<NewerMail>() } else { JobKind::of::<EmailSend>() };
        let catalog = Catalog::new([served(mail, Line::Mail), served(JobKind::of::<BillingCharge>(), Line::Charge)]);
        let metrics = Metrics::new("Ikkai", "producer-api");
        let clock = Arc::new(some_clock(world));
        let settings = SETTINGS.with(Clone::clone);
        let api = Api::new(settings, catalog, mutated::workers_table(world, &actor), clock, metrics);
        Self { world: world.clone(), actor, api }
    }

    /// Sends a request. `None`: no answer came.
    async fn ask(&self, method: &str, path: &str, key: &str, body: &Value) -> Option<(u16, Value)> {
        let world = &self.world;
        world.called();
        let event = event(method, path, key, body);
        let call = Call { request_id: "request".to_owned(), ..Call::default() };
        let fate = Fate::mortal(world, Fault::ApiCrashed, world.plan.crashes / 2, 12);
        let answer = Interrupted::new(world, &self.actor, fate, self.api.handle(&event, &call)).await?;
        let answer = answer.expect("an HTTP request");
        world.tell(&self.actor.name, || format!("{method} {path} {key}: {}", answer.status_code));
        if world.strikes(Fault::ClientAnswerLost, 5) {
            return None;
        }
        Some((answer.status_code, serde_json::from_str(&answer.body).unwrap_or_default()))
    }
}

thread_local! {
    static SETTINGS: Settings = settings();
}

fn settings() -> Settings {
    let mut reader = Reader::from_pairs([
        ("IKKAI_SERVICE", "producer-api"),
        ("IKKAI_JOBS_TABLE", "jobs"),
        ("IKKAI_QUEUES", r#"{"email.send":"email","billing.charge":"billing"}"#),
        ("IKKAI_CALLER_POLICY", r#"[{"callers":["*"],"types":["*"],"accounts":["*"]}]"#),
    ]);
    let settings = Settings::read(&mut reader);
    reader.finish(settings).expect("valid settings")
}

/// A function URL's event.
fn event(method: &str, path: &str, key: &str, body: &Value) -> Value {
    json!({
        "version": "2.0",
        "rawPath": path,
        "headers": {"content-type": "application/json", "idempotency-key": key},
        "requestContext": {
            "http": {"method": method, "path": path},
            "stage": "$default",
            "authorizer": {"iam": {
                "userArn": "arn:aws:sts::123456789012:assumed-role/shop/host-1", "accountId": "123456789012", "cognitoIdentity": null
            }}
        },
        "isBase64Encoded": false,
        "body": body.to_string()
    })
}

/// A job that a client wants done.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) line: Line,
    pub(crate) name: String,
}

impl Wish {
    fn request(&self) -> Value {
        match self.line {
            Line::Mail => json!({
                "type": self.line.job_type(),
                "payload": {"deliveryId": self.name, "templateId": "welcome", "userId": "user-42"}
            }),
            Line::Charge => json!({
                "type": self.line.job_type(),
                "payload": {"invoiceId": self.name, "customerId": "cus_1"},
                "data": {"amount": "19.99", "currency": "EUR"}
            }),
        }
    }
}

/// Posts a job until it is taken, as a client with patience does.
pub(crate) async fn post(world: &Arc<World>, door: &Door, wish: &Wish) -> Option<JobId> {
    let request = wish.request();
    for _ in 0..12 {
        if let Some((status, body)) = door.ask("POST", "/v1/jobs", &wish.name, &request).await {
            let job_id = body["jobId"].as_str().and_then(|job_id| JobId::parse_stored(job_id).ok());
            match (status, job_id) {
                (202, Some(job_id)) => {
                    world.accepted(job_id.clone(), &wish.name);
                    return Some(job_id);
                }
                (200, job_id) => return job_id,
                (202 | 409 | 429 | 503, _) => {}
                (status, _) => {
                    world.broken(format!("the API answered {status} to a request that is well: {body}"));
                    return None;
                }
            }
        }
        tokio::time::sleep(world.some_time(Duration::from_millis(500), Duration::from_secs(9))).await;
    }
    None
}

/// A client from its first request to its last.
pub(crate) async fn client(world: Arc<World>, doors: Arc<Vec<Door>>, wish: Wish) {
    let some_door = || &doors[world.roll(|dice| dice.usize(0..doors.len()))];
    tokio::time::sleep(world.some_time(Duration::ZERO, world.plan.troubled_for / 2)).await;
    let (first, second) = (some_door(), some_door());
    let job_id = if world.chance(20) {
        // Twice at once: one job.
        let (one, other) = futures::future::join(post(&world, first, &wish), post(&world, second, &wish)).await;
        if let (Some(one), Some(other)) = (&one, &other)
            && one != other
        {
            world.broken(format!("one request became two jobs: {one} and {other}"));
        }
        one.or(other)
    } else {
        post(&world, first, &wish).await
    };
    let Some(job_id) = job_id else { return };
    if world.chance(20) {
        tokio::time::sleep(world.some_time(Duration::from_secs(1), Duration::from_secs(900))).await;
        if world.chance(30) {
            some_door().ask("DELETE", &format!("/v1/jobs/{job_id}"), &wish.name, &Value::Null).await;
        } else {
            post(&world, some_door(), &wish).await;
        }
    }
}

/// Messages that no client has posted: what is no job, and second copies of what is one.
pub(crate) async fn strays(world: Arc<World>) {
    for number in 0..world.plan.strays {
        tokio::time::sleep(world.some_time(Duration::ZERO, world.plan.troubled_for / 2)).await;
        let line = if world.roll(fastrand::Rng::bool) { Line::Mail } else { Line::Charge };
        let body = match world.roll(|dice| dice.u8(0..3)) {
            0 if world.plan.allows(Fault::PoisonBody) => {
                world.happened(Fault::PoisonBody);
                format!("no job {number}")
            }
            1 if world.plan.allows(Fault::NewerSchema) => {
                world.happened(Fault::NewerSchema);
                format!(
                    r#"{{"type":"{}","schemaVersion":9,"idempotencyKey":"newer-{number}","payload":{{"n":1}}}}"#,
                    line.job_type()
                )
            }
            _ => match world.sqs.messages(line.queue()).pop() {
                Some(copied) => copied.body,
                None => continue,
            },
        };
        drop(world.sqs.queue(line.queue()).send(&[OutgoingMessage::new(body)]).await);
        world.arrived(line);
    }
}
