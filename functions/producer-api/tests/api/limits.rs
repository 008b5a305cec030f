//! Sizes.

use serde_json::json;

use crate::bench::{Bench, email, payload};

#[tokio::test]
async fn what_is_too_large_is_413_before_anything_is_written() {
    let bench = Bench::new();
    // 360,000 characters of three bytes: fewer characters than the limit has bytes.
    let long = "語".repeat(360_000);
    let answer =
        bench.post("k", &json!({"type": "email.send", "payload": {"deliveryId": long, "templateId": "w", "userId": "u"}})).await;
    assert_eq!((answer.status, answer.code()), (413, "message_too_large"));
    assert!(answer.body.to_string().len() < 2_000);
    assert!(bench.store.calls().is_empty() && bench.queue.calls().is_empty());
}

#[tokio::test]
async fn the_limit_can_be_set_and_counts_bytes_of_the_whole_message() {
    let bench = Bench::with([("IKKAI_MAX_MESSAGE_BYTES", "1024")]);
    let key = |last: &str| format!("{}{last}", "k".repeat(200));
    let with_business_id = |id: String| json!({"type": "email.send", "businessId": id, "payload": payload("m")});
    assert_eq!(bench.post(&key("k"), &with_business_id("語".repeat(100))).await.status, 202);
    let used = bench.sent()[0].bytes();
    assert!(used < 1024);
    let spare = (1024 - used) / 3;
    let exactly = bench.post(&key("l"), &with_business_id("語".repeat(100 + spare))).await;
    let one_more = bench.post(&key("m"), &with_business_id("語".repeat(101 + spare))).await;
    assert_eq!((exactly.status, one_more.status, one_more.code()), (202, 413, "message_too_large"));
    assert_eq!(bench.records.all().len(), 2);
}

#[tokio::test]
async fn a_long_string_is_refused_by_its_rule() {
    let bench = Bench::new();
    let job = json!({"type": "email.send", "payload": {"deliveryId": "x".repeat(1_025), "templateId": "w", "userId": "u"}});
    let answer = bench.post("k", &job).await;
    assert_eq!(answer.status, 422);
    assert!(answer.body.to_string().contains("long_text"), "{}", answer.body);
}

#[tokio::test]
async fn an_ordinary_record_stays_small() {
    let bench = Bench::new();
    bench.post(&"k".repeat(64), &email("mail-1001")).await;
    let record = bench.record();
    let text = record.payload.unwrap().to_string().len() + record.fingerprint.unwrap().as_str().len() + record.caller.len();
    assert!(text < 512, "{text}");
}
