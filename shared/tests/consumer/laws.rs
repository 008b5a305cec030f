//! Laws that hold for any batch, whatever its handlers, the table and the queue do.

use std::collections::HashSet;
use std::time::Duration;

use ikkai::clock::Clock;
use ikkai::consumer::{ConsumerSettings, Failure};
use ikkai::idempotency::{EffectPolicy, Status};
use ikkai::queue::QueueError;
use ikkai::testing::{Bench, MessageBuilder, QueueFault, StoreCall, StoreFault, TokioClock};
use proptest::prelude::*;

use crate::objects::{record_of, s3_event, s3_record};
use crate::script::{Scripted, Step, defer, fifo, long_running, millis, permanent, retry, seconds, settings, unfinished};

const JOBS: [&str; 5] = ["job-0", "job-1", "job-2", "job-3", "job-4"];

/// Jobs that come together in one message.
const UPLOADS: [&str; 4] = ["upload-0", "upload-1", "upload-2", "upload-3"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ends = vec![
        retry(),
        permanent(),
        defer(None),
        defer(Some(seconds(7))),
        Step::Fail(Failure::ambiguous("answer_lost", "the answer was lost")),
        Step::Fail(Failure::retry("refused", "surely refused").surely_not_done()),
        Step::Panic("boom"),
        Step::PanicOwned("boom".to_owned()),
        Step::Hang,
        unfinished(),
        Step::Done(ikkai::consumer::Done::new()),
        Step::Done(ikkai::consumer::Done::new()),
        Step::Done(ikkai::consumer::Done::new()),
    ];
    let saves = proptest::option::of(0u64..4);
    (any::<bool>(), any::<bool>(), saves, 0u64..20_000, proptest::sample::select(ends)).prop_map(
        |(begins, acts, saves, takes, end)| {
            let surely_not_done = matches!(&end, Step::Fail(failure) if failure.code == "refused");
            let mut steps = vec![Step::Sleep(millis(takes))];
            steps.extend(saves.map(|row| Step::Save(serde_json::json!({"row": row}))));
            // A handler that keeps its contract: under `hold` no effect without an announcement, and no effect that it denies.
            if begins || acts {
                steps.push(Step::Begin(seconds(2)));
            }
            if acts && !surely_not_done {
                steps.push(Step::Effect);
            }
            steps.push(end);
            steps
        },
    )
}

fn scripts() -> impl Strategy<Value = Vec<(&'static str, Vec<Step>)>> {
    proptest::collection::vec((proptest::sample::select([&JOBS[..], &UPLOADS[..]].concat()), steps()), 0..16)
}

fn store_faults() -> impl Strategy<Value = Vec<(StoreCall, StoreFault)>> {
    let call = proptest::sample::select(vec![StoreCall::Claim, StoreCall::Replace, StoreCall::Create, StoreCall::Get]);
    let fault = proptest::sample::select(vec![
        StoreFault::Throttle,
        StoreFault::Unreachable,
        StoreFault::LoseAnswer,
        StoreFault::RepeatAfterLostAnswer,
        StoreFault::Delay(millis(700)),
        StoreFault::Delay(seconds(40)),
        StoreFault::Hang,
    ]);
    proptest::collection::vec((call, fault), 0..6)
}

fn queue_faults() -> impl Strategy<Value = Vec<QueueFault>> {
    let unavailable = QueueError::Unavailable { operation: "any", code: "InternalError".into() };
    let fault = proptest::sample::select(vec![
        QueueFault::Refuse(unavailable.clone()),
        QueueFault::Refuse(QueueError::ReceiptLost),
        QueueFault::LoseAnswer,
        QueueFault::FailEntries(vec![(0, unavailable)]),
        QueueFault::FailEntries(vec![(0, QueueError::ReceiptLost)]),
        QueueFault::Delay(Duration::ZERO),
        QueueFault::Delay(seconds(3)),
        QueueFault::DelayedRefusal(millis(500), QueueError::ReceiptLost),
        QueueFault::Hang,
    ]);
    proptest::collection::vec(fault, 0..6)
}

#[derive(Debug, Clone)]
enum Body {
    Job(&'static str),
    Uploads(Vec<&'static str>),
    Bad,
    TooNew(&'static str),
}

fn messages() -> impl Strategy<Value = Vec<(Body, u32, u8)>> {
    let body = prop_oneof![
        6 => proptest::sample::select(JOBS.to_vec()).prop_map(Body::Job),
        2 => proptest::sample::subsequence(UPLOADS.to_vec(), 1..=4).prop_map(Body::Uploads),
        1 => Just(Body::Bad),
        1 => proptest::sample::select(JOBS.to_vec()).prop_map(Body::TooNew),
    ];
    proptest::collection::vec((body, 1u32..=6, 0u8..2), 1..14)
}

fn message(number: usize, body: &Body, queue: &str, receives: u32, group: u8) -> MessageBuilder {
    let id = format!("message-{number}");
    let message = match body {
        Body::Job(name) => MessageBuilder::email(name).message_id(&id),
        Body::Uploads(names) => {
            let records: Vec<_> = names.iter().map(|name| s3_record(&format!("uploads/{name}"))).collect();
            MessageBuilder::new(&id, s3_event(&records))
        }
        Body::Bad => MessageBuilder::new(&id, "not a job"),
        Body::TooNew(name) => {
            let body = MessageBuilder::email(name).to_json()["body"]
                .as_str()
                .unwrap()
                .replace("\"schemaVersion\":1", "\"schemaVersion\":2");
            MessageBuilder::new(&id, body)
        }
    };
    message.queue(queue).group(&format!("g{group}")).received(receives)
}

/// Whether the message is about some of these uploads, in their order, and about all that are not done.
fn carries_what_waits(message: &str, names: &[&str], is_done: impl Fn(&str) -> bool) -> bool {
    let without = |left_out: u32| {
        let kept = names.iter().enumerate().filter(|(place, _)| left_out >> place & 1 == 0);
        s3_event(&kept.map(|(_, name)| s3_record(&format!("uploads/{name}"))).collect::<Vec<_>>())
    };
    let mut left_out = (0..1u32 << names.len()).filter(|left_out| message == without(*left_out));
    left_out.any(|left_out| names.iter().enumerate().all(|(place, name)| left_out >> place & 1 == 0 || is_done(name)))
}

fn variants() -> impl Strategy<Value = ConsumerSettings> {
    (0usize..3, 1usize..12, proptest::option::of(1u32..4), any::<bool>()).prop_map(|(kind, concurrency, rate, opening)| {
        let base = [settings(), fifo(), long_running()][kind].clone();
        ConsumerSettings {
            batch_concurrency: concurrency,
            provider_rate_per_second: rate,
            opening_visibility: opening,
            circuit_failures: 3,
            ..base
        }
    })
}

fn policy() -> impl Strategy<Value = EffectPolicy> {
    let window = EffectPolicy::Rerun { idempotent_for: Some(seconds(60)), looks_up: false };
    proptest::sample::select(vec![EffectPolicy::Hold, EffectPolicy::Hold, EffectPolicy::RERUN, window])
}

fn paused<F: Future<Output = Result<(), TestCaseError>>>(work: F) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(work)
}

/// Follows the scripts; what starts once more after them announces its effect, has it and is done.
fn handler(policy: EffectPolicy, scripts: &[(&'static str, Vec<Step>)]) -> Scripted {
    let last = JOBS.iter().chain(&UPLOADS).map(|name| (*name, vec![Step::Begin(seconds(2)), Step::Effect]));
    let scripts = scripts.iter().cloned().chain(last);
    scripts.fold(Scripted::new().policy(policy).mails_about_objects("welcome"), |handler, (name, steps)| handler.on(name, steps))
}

fn play_faults(bench: &Bench<Scripted, TokioClock>, store: &[(StoreCall, StoreFault)], queue: &[QueueFault]) {
    for (call, fault) in store {
        bench.store.fail_next(*call, *fault);
    }
    for fault in queue {
        bench.queue.fail_next(fault.clone());
    }
}

fn check_records(bench: &Bench<Scripted, TokioClock>, handler: &Scripted, policy: EffectPolicy) -> Result<(), TestCaseError> {
    for name in JOBS.into_iter().chain(UPLOADS) {
        let Some(record) = record_of(bench, name) else { continue };
        prop_assert!(record.attempts <= 3, "{}: {} attempts", name, record.attempts);
        if record.status == Status::Succeeded {
            prop_assert!(handler.said_done(name), "{} succeeded although its handler never said so", name);
        }
        if policy == EffectPolicy::Hold {
            prop_assert!(handler.effects_of(name) <= 1, "{} had {} effects", name, handler.effects_of(name));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_message_is_known_to_be_done_or_renewed_or_reported_once(
        messages in messages(),
        scripts in scripts(),
        store_faults in store_faults(),
        queue_faults in queue_faults(),
        settings in variants(),
        policy in policy(),
    ) {
        paused(async move {
            let timeout = settings.function_timeout;
            let queue = settings.queue_name.as_str().to_owned();
            let handler = handler(policy, &scripts);
            let bench = Bench::timed_with(handler.clone(), settings);
            play_faults(&bench, &store_faults, &queue_faults);
            let batch: Vec<_> =
                messages.iter().enumerate().map(|(number, (body, receives, group))| message(number, body, &queue, *receives, *group)).collect();

            let answer = tokio::time::timeout(timeout, bench.run_batch(batch.iter().map(MessageBuilder::build))).await;
            let Ok(answer) = answer else { return Err(TestCaseError::fail("no answer before the deadline")) };
            let failed = answer.expect("panics and faults never fail the invocation").failed;

            let ids: HashSet<_> = (0..messages.len()).map(|number| format!("message-{number}")).collect();
            let reported: HashSet<_> = failed.iter().cloned().collect();
            prop_assert_eq!(reported.len(), failed.len(), "reported twice: {:?}", failed);
            prop_assert!(reported.is_subset(&ids), "foreign ids: {:?}", failed);
            let mut copies: Vec<_> = bench.queue.sent().into_iter().map(|copy| copy.body).collect();
            for (number, built) in batch.iter().enumerate().filter(|(number, _)| !reported.contains(&format!("message-{number}"))) {
                let is_done = |name: &str| record_of(&bench, name).is_some_and(|record| record.status == Status::Succeeded);
                let done = match &messages[number].0 {
                    Body::Job(name) | Body::TooNew(name) => is_done(name),
                    Body::Uploads(names) => names.iter().all(|name| is_done(name)),
                    Body::Bad => false,
                };
                let body = built.build().body.unwrap();
                let stands_for = |copy: &str| match &messages[number].0 {
                    Body::Uploads(names) => carries_what_waits(copy, names, is_done),
                    _ => copy == body,
                };
                // The largest one: it may not stand for a message of fewer jobs.
                let copy = (0..copies.len()).filter(|&copy| stands_for(&copies[copy])).max_by_key(|&copy| copies[copy].len());
                match copy {
                    Some(copy) if !done => drop(copies.swap_remove(copy)),
                    _ => prop_assert!(done, "message-{} is lost", number),
                }
            }
            prop_assert_eq!(handler.running(), 0, "a handler runs on after the answer");
            let calls = bench.queue.calls();
            tokio::time::sleep(seconds(3_600)).await;
            prop_assert_eq!(bench.queue.calls(), calls, "a call goes out after the answer");
            check_records(&bench, &handler, policy)
        })?;
    }

    #[test]
    fn a_job_delivered_until_nothing_is_left_ends_done_or_explained_with_at_most_one_effect_under_hold(
        scripts in scripts(),
        store_faults in store_faults(),
        queue_faults in queue_faults(),
        kills in proptest::collection::vec(proptest::option::weighted(0.4, 0u64..25_000), 0..6),
        policy in policy(),
    ) {
        paused(async move {
            let handler = handler(policy, &scripts);
            let bench = Bench::timed_with(handler.clone(), ConsumerSettings { circuit_failures: 3, ..ikkai::testing::settings() });
            play_faults(&bench, &store_faults, &queue_faults);
            let mut world = World::new(&bench);
            let mut kills = kills.into_iter();
            while let Some(batch) = world.receive().await {
                prop_assert!(world.deliveries < 200, "the jobs go in circles");
                world.deliver(batch, kills.next().flatten()).await;
            }
            for name in JOBS.into_iter().chain(UPLOADS) {
                let record = record_of(&bench, name);
                let in_dlq = world.dead_letters.contains(&name);
                match record.map(|record| record.status) {
                    Some(Status::Succeeded) => {}
                    Some(Status::Dead | Status::InDoubt) => prop_assert!(in_dlq, "{} ended and its message is nowhere", name),
                    other => prop_assert!(in_dlq && world.unsent.contains(&name), "{} is lost: {:?}", name, other),
                }
            }
            check_records(&bench, &handler, policy)
        })?;
    }
}

/// A queue with a redrive policy around the bench: receives are counted, visibilities kept, copies delivered, the rest dead-lettered.
struct World<'a> {
    bench: &'a Bench<Scripted, TokioClock>,
    messages: Vec<Waiting>,
    /// Names of the jobs whose messages are in the DLQ.
    dead_letters: Vec<&'static str>,
    /// Names of the jobs that waited when their message was on its last receive, and got no copy.
    unsent: Vec<&'static str>,
    deliveries: usize,
    copies_seen: usize,
}

/// A message in the queue, and the jobs in it.
struct Waiting {
    message: MessageBuilder,
    names: Vec<&'static str>,
    receives: u32,
    visible_at: tokio::time::Instant,
}

impl<'a> World<'a> {
    fn new(bench: &'a Bench<Scripted, TokioClock>) -> Self {
        let mut world =
            Self { bench, messages: Vec::new(), dead_letters: Vec::new(), unsent: Vec::new(), deliveries: 0, copies_seen: 0 };
        for name in JOBS {
            world.put(MessageBuilder::email(name), Duration::ZERO);
        }
        world.put(message(0, &Body::Uploads(UPLOADS.to_vec()), "email", 1, 0), Duration::ZERO);
        world
    }

    fn put(&mut self, message: MessageBuilder, delay: Duration) {
        let body = message.build().body.unwrap();
        let named = |name: &&'static str| {
            body.contains(&format!("\"deliveryId\":\"{name}\"")) || body.contains(&format!("uploads/{name}"))
        };
        let names = JOBS.into_iter().chain(UPLOADS).filter(named).collect();
        self.messages.push(Waiting { message, names, receives: 0, visible_at: tokio::time::Instant::now() + delay });
    }

    async fn receive(&mut self) -> Option<Vec<Waiting>> {
        loop {
            let next = self.messages.iter().map(|waiting| waiting.visible_at).min()?;
            tokio::time::sleep_until(next).await;
            let (due, later): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.messages).into_iter().partition(|waiting| waiting.visible_at <= next);
            self.messages = later;
            let (dead, live): (Vec<_>, Vec<_>) = due.into_iter().partition(|waiting| waiting.receives >= 6);
            self.dead_letters.extend(dead.into_iter().flat_map(|waiting| waiting.names));
            if !live.is_empty() {
                return Some(live);
            }
        }
    }

    async fn deliver(&mut self, mut batch: Vec<Waiting>, killed_after_ms: Option<u64>) {
        self.deliveries += 1;
        batch.iter_mut().for_each(|waiting| waiting.receives += 1);
        let received = batch.iter().map(|waiting| waiting.message.clone().received(waiting.receives).build());
        let run = self.bench.run_batch(received);
        let failed = match killed_after_ms {
            Some(time) => tokio::time::timeout(millis(time), run).await.ok(),
            None => Some(run.await),
        };
        let failed = failed.map(|answer| answer.expect("an answer").failed);
        let sent = self.bench.queue.sent();
        let copies = &sent[self.copies_seen..];
        for mut waiting in batch {
            let id = waiting.message.build().message_id.unwrap();
            if failed.as_ref().is_none_or(|failed| failed.contains(&id)) {
                let visible_in = self.bench.queue.last_visibility(&waiting.message.receipt_handle()).unwrap_or(seconds(180));
                waiting.visible_at = tokio::time::Instant::now() + visible_in;
                if waiting.receives >= 6 {
                    let is_open =
                        |name: &&&'static str| record_of(self.bench, name).is_none_or(|record| !record.status.is_final());
                    let is_copied = |name: &str| copies.iter().any(|copy| copy.body.contains(name));
                    self.unsent.extend(waiting.names.iter().filter(is_open).filter(|name| !is_copied(name)));
                }
                self.messages.push(waiting);
            }
        }
        self.copies_seen = sent.len();
        for (number, copy) in copies.iter().enumerate() {
            let id = format!("copy-{}-{number}", self.deliveries);
            self.put(MessageBuilder::new(&id, copy.body.clone()).sent_at(self.bench.clock.now()), copy.delay);
        }
    }
}
