//! Two hundred runs with consumers at work beside them, in which calls fail by chance and workers die.
//!
//! A seed that fails is played again alone with `IKKAI_SEED=<seed> cargo test --test run seeds`.

use std::time::Duration;

use dlq_redrive::protocol::RunState;
use dlq_redrive::run;
use ikkai::idempotency::Status;
use ikkai::queue::OutgoingMessage;
use ikkai::testing::{Moment, StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::consumer::{Consumer, Mood};
use crate::scene::{Scene, check_sums, envelope, redrive};

const SEEDS: u64 = 200;

#[test]
fn over_many_runs_with_faults_and_crashes_nothing_is_lost_and_no_effect_doubles() {
    let seeds = match std::env::var("IKKAI_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..=seed,
        None => 1..=SEEDS,
    };
    for seed in seeds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(play(seed))));
        assert!(played.is_ok(), "seed {seed} failed; again: IKKAI_SEED={seed} cargo test --test run seeds");
    }
}

async fn play(seed: u64) {
    let mut dice = fastrand::Rng::with_seed(seed);
    let scene = Scene::new();
    let count = dice.usize(8..30);
    set_up(&scene, count, &mut dice);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let consumer = Consumer::new(&scene, Mood::Well);
    scene.sqs.fail_by_chance(seed, dice.u32(0..120));
    for round in 0..4 {
        disturb(&scene, &mut dice);
        troubled_run(&scene, &consumer, seed, round, &mut dice).await;
    }
    scene.sqs.heal();
    settle(&scene, &consumer).await;
    check(&scene, &consumer, count);
}

/// Jobs in every state that can lie in a dead-letter queue and runs again, some twice, some without a record.
fn set_up(scene: &Scene, count: usize, dice: &mut fastrand::Rng) {
    for index in 0..count {
        let name = format!("mail-{index}");
        match dice.u8(0..10) {
            0 => scene.sqs.bury("email", &[OutgoingMessage::new(envelope(&name).to_body())]),
            1 => drop(scene.buried(&name, |record| record.status = Status::Accepted)),
            2 => drop(scene.buried(&name, |record| record.status = Status::RetryScheduled)),
            3 => {
                scene.dead(&name);
                scene.sqs.bury("email", &[OutgoingMessage::new(envelope(&name).to_body())]);
            }
            _ => drop(scene.dead(&name)),
        }
    }
}

/// Puts in some faults of the table, and perhaps a death.
fn disturb(scene: &Scene, dice: &mut fastrand::Rng) {
    for _ in 0..dice.usize(0..6) {
        let call = if dice.bool() { StoreCall::Get } else { StoreCall::Replace };
        let fault = match dice.u8(0..3) {
            0 => StoreFault::Throttle,
            1 => StoreFault::LoseAnswer,
            _ => StoreFault::RepeatAfterLostAnswer,
        };
        scene.store.fail_next(call, fault);
    }
    if dice.bool() {
        let moment = if dice.bool() { Moment::Before } else { Moment::After };
        scene.sqs.crash_at(dice.u64(1..40), moment);
    }
}

/// A run with a consumer beside it. When one of them dies, both begin anew later: the run under its own id.
async fn troubled_run(scene: &Scene, consumer: &Consumer, seed: u64, round: u32, dice: &mut fastrand::Rng) {
    let run_id = format!("run-{seed}-{round}");
    let mut request =
        json!({ "runId": run_id, "ratePerSecond": dice.u32(1..30), "max": dice.u32(1..40), "stopAtReturnedPercent": 100 });
    for _ in 0..6 {
        let invocation = scene.until(Duration::from_secs(dice.u64(25..60)));
        let wanted = redrive(request.clone());
        let cursor = tokio::select! {
            answer = run::redrive(&scene.workbench, &wanted, &invocation) => match answer {
                Ok(answer) => {
                    check_sums(&answer);
                    if answer.state != RunState::Continues {
                        return;
                    }
                    answer.cursor
                }
                Err(_) => None,
            },
            () = consumer.work() => unreachable!("a consumer works for ever"),
            () = scene.sqs.crashed() => None,
        };
        if let Some(cursor) = cursor {
            request["cursor"] = Value::from(cursor);
        }
        tokio::time::sleep(Duration::from_secs(dice.u64(1..1_500))).await;
    }
}

/// Nothing goes wrong any more: what can be put back is put back, and worked off.
async fn settle(scene: &Scene, consumer: &Consumer) {
    for _ in 0..12 {
        tokio::time::sleep(Duration::from_secs(1_500)).await;
        consumer.work_off().await;
        let request = json!({ "overrideQuarantine": true, "stopAtReturnedPercent": 100 });
        scene.redrive(request).await.expect("locks end by themselves");
        consumer.work_off().await;
    }
}

fn check(scene: &Scene, consumer: &Consumer, count: usize) {
    let records = scene.records.all();
    assert_eq!(records.len(), count, "each job has its record");
    let effects = consumer.mailer.sent.lock().unwrap().clone();
    let left: Vec<_> = scene.sqs.all_messages().into_iter().map(|(_, message)| message.body).collect();
    for record in &records {
        let times = effects.get(record.job_id.as_str()).copied().unwrap_or(0);
        let has_message = left.iter().any(|body| body.contains(record.job_id.as_str()));
        match record.status {
            Status::Succeeded => assert_eq!(times, 1, "{}", record.job_id),
            // A worker that died in its effect: nobody knows, and the message waits for whoever looks.
            Status::InDoubt => assert!(times <= 1 && has_message, "{}: {times} effects, message {has_message}", record.job_id),
            status => panic!("{} is {status}, message {has_message}", record.job_id),
        }
    }
}
