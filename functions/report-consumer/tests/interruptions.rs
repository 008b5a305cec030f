//! A report that is interrupted, anywhere and in any way: what is published is what one run would have published.

mod scene;

use std::time::Duration;

use ikkai::{clock::Clock as _, consumer::ConsumerSettings, idempotency::Status, testing::MessageBuilder};
use proptest::prelude::*;
use report_consumer::{MemoryHistory, StoreCall};
use scene::{ACCOUNT, CSV, HTML, PERIOD, SMALL_PART, Scene, job, patient, rows};

const ROWS: usize = 130;
const ROWS_A_PAGE: usize = 10;

fn scene() -> Scene {
    Scene::new(MemoryHistory::new(ACCOUNT, rows(ROWS), ROWS_A_PAGE), SMALL_PART)
}

/// A function whose time is over after a few pages.
fn short() -> Scene {
    let history = MemoryHistory::new(ACCOUNT, rows(ROWS), ROWS_A_PAGE).taking(Duration::from_secs(5));
    Scene::with_settings(history, SMALL_PART, ConsumerSettings { function_timeout: Duration::from_secs(30), ..patient() })
}

struct Published {
    csv: Vec<u8>,
    html: Vec<u8>,
    result: serde_json::Value,
    calls: Vec<StoreCall>,
}

fn published(scene: &Scene, message: &MessageBuilder) -> Published {
    assert_eq!(scene.record(message).status, Status::Succeeded, "{:?}", scene.ending(message));
    scene.assert_verifies(message);
    Published {
        csv: scene.store.bytes(CSV).expect("a CSV"),
        html: scene.store.bytes(HTML).expect("a page"),
        result: scene.result(message),
        calls: scene.store.calls(),
    }
}

async fn uninterrupted() -> Published {
    let (scene, message) = (scene(), job(PERIOD));
    assert_eq!(scene.until_ended(&message).await, 1);
    published(&scene, &message)
}

fn assert_same(ours: &Published, theirs: &Published, context: &str) {
    assert!(ours.csv == theirs.csv, "{context}: the CSV differs");
    assert!(ours.html == theirs.html, "{context}: the page differs");
    assert_eq!(ours.result, theirs.result, "{context}");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_time_is_over_goes_on_in_the_next_one() {
    let (scene, message) = (short(), job(PERIOD));
    let deliveries = scene.until_ended(&message).await;
    assert_same(&published(&scene, &message), &uninterrupted().await, "in parts");
    let record = scene.record(&message);
    assert_eq!((record.attempts, record.crashes), (1, 0), "no attempt is used by a part");
    assert_eq!(usize::try_from(record.parts).unwrap() + 1, deliveries);
    assert!(deliveries > 2, "{deliveries} deliveries");
    assert_eq!(scene.history.pages(), ROWS / ROWS_A_PAGE + 1, "no page is read twice");
    assert_eq!(scene.store.keys(), [CSV, HTML], "no draft is left");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_before_or_after_any_call_to_the_store_leaves_nothing_wrong() {
    let whole = uninterrupted().await;
    assert!(whole.calls.len() > 20 && whole.calls.contains(&StoreCall::Complete), "{:?}", whole.calls);
    for call in 0..whole.calls.len() {
        for is_done in [false, true] {
            let (scene, message) = (scene(), job(PERIOD));
            scene.store.hang_at(call, is_done);
            assert!(scene.deliver_to_a_dying_worker(&message).await, "call {call}");
            scene.until_ended(&message).await;
            let context = format!("{:?} (call {call}, done: {is_done})", whole.calls[call]);
            assert_same(&published(&scene, &message), &whole, &context);
            assert_eq!(scene.record(&message).crashes, 1, "{context}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_once_anywhere_costs_an_attempt_at_most() {
    let whole = uninterrupted().await;
    for call in 0..whole.calls.len() {
        let (scene, message) = (scene(), job(PERIOD));
        scene.store.fail_at(call);
        let deliveries = scene.until_ended(&message).await;
        assert_same(&published(&scene, &message), &whole, &format!("call {call}"));
        assert!(deliveries <= 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_costs_what_was_read_since_the_last_part() {
    let (scene, message) = (scene(), job(PERIOD));
    // The third part: begin, then part, draft, part, draft and removal, part.
    scene.store.hang_at(6, false);
    assert!(scene.deliver_to_a_dying_worker(&message).await);
    let read = scene.history.pages();
    scene.until_ended(&message).await;
    let again = scene.history.pages() - (ROWS / ROWS_A_PAGE + 1);
    assert!((1..=read / 3 + 1).contains(&again), "{again} of {read} pages were read again");
}

#[tokio::test(start_paused = true)]
async fn drafts_and_uploads_that_expired_begin_the_report_anew() {
    let whole = uninterrupted().await;
    for everything in [false, true] {
        let (scene, message) = (short(), job(PERIOD));
        scene.deliver(&message).await;
        scene.deliver(&message).await;
        assert!(scene.store.open_uploads() == 1 && scene.record(&message).progress.is_some());
        if everything {
            scene.store.expire("work/");
        } else {
            scene.store.expire_uploads();
        }
        scene.until_ended(&message).await;
        assert_same(&published(&scene, &message), &whole, "after the lifecycle rule");
        assert_eq!((scene.record(&message).crashes, scene.store.open_uploads()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn progress_of_another_version_begins_the_report_anew() {
    let (scene, message) = (scene(), job(PERIOD));
    scene.store.hang_at(3, false);
    assert!(scene.deliver_to_a_dying_worker(&message).await);
    let mut record = scene.record(&message);
    record.progress = Some(serde_json::json!({"page": 7}));
    scene.bench.records.put(record);
    scene.until_ended(&message).await;
    assert_same(&published(&scene, &message), &uninterrupted().await, "from another version");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_when_there_is_no_time_does_nothing_and_uses_no_attempt() {
    let (scene, message) = (scene(), job(PERIOD));
    let soon = scene.bench.clock.now() + Duration::from_millis(1_500);
    scene.bench.run_until([message.build()], Some(soon)).await.unwrap();
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts, record.parts), (Status::RetryScheduled, 0, 0));
    assert_eq!((scene.history.pages(), scene.store.calls().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_report_whose_pages_take_longer_than_the_function_is_dead_with_a_reason_and_not_in_doubt() {
    let history = MemoryHistory::new(ACCOUNT, rows(ROWS), ROWS_A_PAGE).taking(Duration::from_secs(60));
    let settings = ConsumerSettings { function_timeout: Duration::from_secs(30), max_attempts: 3, ..patient() };
    let (scene, message) = (Scene::with_settings(history, SMALL_PART, settings), job(PERIOD));
    assert_eq!(scene.until_ended(&message).await, 3);
    assert_eq!(scene.ending(&message), (Status::Dead, Some("no_progress".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_hangs_costs_nothing_of_what_was_read_before() {
    let history = MemoryHistory::new(ACCOUNT, rows(ROWS), ROWS_A_PAGE);
    let settings = ConsumerSettings { function_timeout: Duration::from_secs(30), ..patient() };
    let (scene, message) = (Scene::with_settings(history, 1_000_000, settings), job(PERIOD));
    scene.history.hang_after(5);
    scene.deliver(&message).await;
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts, record.parts), (Status::RetryScheduled, 0, 1));
    scene.until_ended(&message).await;
    assert_eq!(scene.history.pages(), ROWS / ROWS_A_PAGE + 1, "no page is read twice");
    assert_same(&published(&scene, &message), &uninterrupted().await, "after a page that hung");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_died_on_the_way_goes_on_when_it_is_put_back() {
    let settings = ConsumerSettings { function_timeout: Duration::from_secs(30), max_parts: 3, ..patient() };
    let history = MemoryHistory::new(ACCOUNT, rows(ROWS), ROWS_A_PAGE).taking(Duration::from_secs(5));
    let scene = Scene::with_settings(history, SMALL_PART, settings);
    let message = job(PERIOD);
    scene.until_ended(&message).await;
    assert_eq!(scene.ending(&message), (Status::Dead, Some("parts_used_up".to_owned())));
    tokio::time::sleep(Duration::from_secs(100)).await;
    let put_back = message.clone().message_id("put-back").sent_at(scene.bench.clock.now());
    scene.deliver(&put_back).await;
    assert_eq!(scene.record(&message).generation, 1);
    while !scene.record(&message).status.is_final() {
        scene.deliver(&put_back).await;
    }
    assert_same(&published(&scene, &message), &uninterrupted().await, "put back");
    assert_eq!(scene.history.pages(), ROWS / ROWS_A_PAGE + 1, "no page is read twice");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_interrupts_it_and_however_often_the_report_is_the_same(
        interruptions in proptest::collection::vec((0usize..14, 0u8..4), 0..12),
        seconds_a_page in 0u64..6,
        rows_a_page in 1usize..40,
        part in 500usize..8_000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let history = |pace| MemoryHistory::new(ACCOUNT, rows(60), rows_a_page).taking(Duration::from_secs(pace));
            let message = job(PERIOD);
            let whole = {
                let scene = Scene::new(history(0), part);
                scene.until_ended(&message).await;
                published(&scene, &message)
            };
            let settings = ConsumerSettings { function_timeout: Duration::from_secs(30), ..patient() };
            let scene = Scene::with_settings(history(seconds_a_page), part, settings);
            for (call, how) in interruptions {
                match how {
                    0 => scene.store.hang_at(call, false),
                    1 => scene.store.hang_at(call, true),
                    2 => scene.store.fail_at(call),
                    _ => scene.store.expire_uploads(),
                }
                if how < 2 && seconds_a_page == 0 {
                    scene.deliver_to_a_dying_worker(&message).await;
                } else {
                    scene.deliver(&message).await;
                    tokio::time::sleep(Duration::from_secs(1_000)).await;
                }
            }
            scene.until_ended(&message).await;
            assert_same(&published(&scene, &message), &whole, "interrupted");
        });
    }
}
