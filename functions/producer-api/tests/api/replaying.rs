//! The same request again, in every state of its job.

use std::time::Duration;

use ikkai::clock::EpochSeconds;
use ikkai::idempotency::{ErrorClass, Event, LastError, PutBack, Status, transition};
use ikkai::job::payload_digest;
use ikkai::testing::StoreCall;
use serde_json::json;

use crate::bench::{ANN, BOB, Bench, EVERYBODY, Read, START, email, payload, post, request};

#[tokio::test]
async fn the_same_key_with_another_body_is_refused_and_the_first_body_still_replays() {
    let bench = Bench::new();
    let first = bench.post("k-100", &email("mail-500")).await;
    let second = bench.post("k-100", &email("mail-900")).await;
    assert_eq!((second.status, second.code()), (422, "idempotency_key_reused"));
    bench.change(|record| record.status = Status::Running);
    let third = bench.post("k-100", &email("mail-500")).await;
    assert_eq!((third.status, third.job_id(), third.body["status"].as_str()), (202, first.job_id(), Some("running")));
    assert_eq!(third.header("idempotent-replayed"), Some("true"));
    assert_eq!(bench.sent().len(), 1);
}

#[tokio::test]
async fn layout_and_member_order_are_not_another_body() {
    let bench = Bench::new();
    let first = bench.post("k", &email("m")).await;
    let mut event = post("k", &json!({}));
    event["body"] = json!(
        "{ \"payload\" : {\"userId\":\"user-42\", \"templateId\":\"welcome\",\n\"deliveryId\":\"m\"}, \"type\":\"email.send\", \"schemaVersion\":1 }"
    );
    bench.change(|record| record.status = Status::Succeeded);
    let again = bench.event(&event).await;
    assert_eq!((again.status, again.job_id()), (202, first.job_id()));
}

#[tokio::test]
async fn other_data_and_another_account_are_another_body() {
    let bench = Bench::new();
    let job = |account: &str, note: &str| json!({"type": "report.generate", "accountId": account, "payload": payload("m"), "data": {"note": note}});
    assert_eq!(bench.post("k", &job("a", "x")).await.status, 202);
    assert_eq!(bench.post("k", &job("a", "y")).await.code(), "idempotency_key_reused");
    assert_eq!(bench.post("k", &job("b", "x")).await.code(), "idempotency_key_reused");
    assert_eq!(bench.post("k", &job("a", "x")).await.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn a_record_without_an_account_is_the_same_request_where_the_payload_names_it() {
    let bench = Bench::new();
    let report = |account: &str| json!({"type": "account.report", "payload": {"reportId": "r", "accountId": account, "period": "2026-01"}});
    assert_eq!(bench.post("k", &report("a")).await.status, 202);
    // As a producer wrote it that did not take the account out of the payload.
    bench.change(|record| record.account_id = None);
    assert_eq!(bench.post("k", &report("a")).await.header("idempotent-replayed"), Some("true"));
    assert_eq!(bench.post("k", &report("b")).await.code(), "idempotency_key_reused");
    bench.change(|record| record.account_id = Some("b".to_owned()));
    assert_eq!(bench.post("k", &report("a")).await.code(), "idempotency_key_reused");
}

#[tokio::test]
async fn without_an_account_in_the_payload_a_named_one_is_another_request() {
    let bench = Bench::new();
    let job = json!({"type": "email.send", "accountId": "a", "payload": payload("m")});
    assert_eq!(bench.post("k", &job).await.status, 202);
    bench.change(|record| record.account_id = None);
    assert_eq!(bench.post("k", &job).await.code(), "idempotency_key_reused");
}

#[tokio::test]
async fn a_refused_first_request_does_not_burn_its_key() {
    let bench = Bench::new();
    assert_eq!(bench.post("k", &json!({"type": "email.send", "payload": {}})).await.status, 422);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
}

#[tokio::test]
async fn each_status_has_its_answer_and_none_of_them_sends() {
    for (status, answered) in [
        (Status::Running, 202),
        (Status::RetryScheduled, 202),
        (Status::Succeeded, 202),
        (Status::Dead, 200),
        (Status::InDoubt, 200),
        (Status::Cancelled, 200),
    ] {
        let bench = Bench::new();
        bench.post("k", &email("m")).await;
        let reason = LastError::new(ErrorClass::Permanent, "unknown_user", "no contact has this id");
        bench.change(|record| {
            record.status = status;
            record.last_error = (status != Status::Succeeded).then_some(reason);
        });
        bench.advance(3_600);
        let again = bench.post("k", &email("m")).await;
        assert_eq!((again.status, again.body["status"].as_str()), (answered, Some(status.as_str())));
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert!(again.header("location").is_some());
        let has_reason = again.body["reason"]["code"] == "unknown_user";
        assert_eq!(has_reason, matches!(status, Status::Dead | Status::InDoubt | Status::Cancelled), "{}", again.body);
        assert_eq!(bench.sent().len(), 1);
        assert_eq!(bench.record().status, status);
    }
}

#[tokio::test]
async fn while_nobody_else_knows_of_the_send_an_identical_request_is_told_to_wait() {
    let bench = Bench::new();
    let first = bench.post("k", &email("m")).await;
    bench.advance(4);
    let second = bench.another_sandbox().post("k", &email("m")).await;
    assert_eq!((second.status, second.code(), second.header("retry-after")), (409, "send_in_progress", Some("1")));
    assert_eq!((second.job_id(), second.body["jobStatus"].as_str()), (first.job_id(), Some("accepted")));
    assert_eq!(bench.sent().len(), 1);
}

#[tokio::test]
async fn a_retry_right_after_a_202_is_answered_by_the_sandbox_that_sent_the_job() {
    let bench = Bench::new();
    let first = bench.post("k", &email("m")).await;
    bench.store.forget();
    for _ in 0..6 {
        let again = bench.post("k", &email("m")).await;
        assert_eq!((again.status, again.job_id(), again.body["status"].as_str()), (202, first.job_id(), Some("accepted")));
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        bench.advance(9);
    }
    assert_eq!((bench.store.calls(), bench.sent().len()), (vec![StoreCall::Create; 6], 1), "one refused write each, and no send");
    assert_eq!(bench.post("k", &email("n")).await.code(), "idempotency_key_reused");
    bench.advance(7);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
    assert_eq!(bench.sent().len(), 2, "after a minute nobody is sure that the message is still there");
}

#[tokio::test]
async fn what_this_sandbox_sent_says_nothing_about_a_record_that_was_made_anew() {
    let bench = Bench::new();
    bench.post("k", &email("m")).await;
    bench.change(|record| record.accept_token = Some("of another acceptance".to_owned()));
    assert_eq!(bench.post("k", &email("m")).await.code(), "send_in_progress");
}

#[tokio::test]
async fn elsewhere_an_accepted_job_is_sent_again_after_the_lease_and_then_at_most_once_a_minute() {
    let bench = Bench::new();
    bench.post("k", &email("m")).await;
    bench.advance(6);
    let other = bench.another_sandbox();
    let resent = other.post("k", &email("m")).await;
    assert_eq!((resent.status, resent.body["status"].as_str()), (202, Some("accepted")));
    assert_eq!(resent.header("idempotent-replayed"), Some("true"));
    assert_eq!(bench.sent().len(), 2);
    for _ in 0..5 {
        bench.advance(10);
        for sandbox in [&bench, &other, &bench.another_sandbox()] {
            assert_eq!(sandbox.post("k", &email("m")).await.status, 202);
        }
    }
    assert_eq!(bench.sent().len(), 2);
    bench.advance(11);
    assert_eq!(bench.post("k", &email("m")).await.status, 202);
    assert_eq!(bench.sent().len(), 3);
    let bodies: std::collections::BTreeSet<_> = bench.sent().into_iter().map(|message| message.body).collect();
    assert_eq!(bodies.len(), 1, "all copies are one job");
}

#[tokio::test]
async fn callers_and_types_do_not_share_keys() {
    let bench = Bench::new();
    let mut ids = std::collections::BTreeSet::new();
    for arn in [ANN, BOB, "arn:aws:sts::210987654321:assumed-role/ann/host-1"] {
        for job in [email("m"), json!({"type": "report.generate", "payload": payload("m"), "data": {}})] {
            let answer = bench.event(&request(arn, "POST", "/v1/jobs", &[("idempotency-key", "order-1")], &job)).await;
            assert_eq!(answer.status, 202);
            ids.insert(answer.job_id().to_owned());
        }
    }
    assert_eq!((ids.len(), bench.records.all().len()), (6, 6));
}

#[tokio::test]
async fn a_retry_from_another_host_of_the_same_role_is_the_same_caller() {
    let bench = Bench::new();
    let other_host = ANN.replace("host-1", "host-2");
    let first = bench.post("k", &email("m")).await;
    bench.advance(6);
    let second = bench.event(&request(&other_host, "POST", "/v1/jobs", &[("idempotency-key", "k")], &email("m"))).await;
    assert_eq!((second.status, second.job_id()), (202, first.job_id()));
}

#[tokio::test]
async fn long_keys_that_differ_in_their_last_character_are_two_jobs() {
    let bench = Bench::new();
    let stem = "k".repeat(254);
    let (one, two) = (bench.post(&format!("{stem}1"), &email("m")).await, bench.post(&format!("{stem}2"), &email("m")).await);
    assert_eq!((one.status, two.status), (202, 202));
    assert_ne!(one.job_id(), two.job_id());
}

#[tokio::test]
async fn an_expired_record_that_is_still_there_counts_as_absent() {
    let bench = Bench::new();
    bench.post("k", &email("m")).await;
    let hour_ago = EpochSeconds::from_i64(START.as_i64() / 1_000 - 3_600);
    bench.change(|record| {
        record.status = Status::Succeeded;
        record.expires_at = Some(hour_ago);
    });
    let again = bench.post("k", &email("another body is fine: the key was forgotten".split(' ').next().unwrap())).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (202, None));
    assert_eq!((bench.sent().len(), bench.record().status, bench.record().expires_at), (2, Status::Accepted, None));
}

#[tokio::test]
async fn clocks_that_differ_by_seconds_neither_block_a_key_nor_lose_a_job() {
    let bench = Bench::new();
    bench.post("k", &email("m")).await;
    bench.clock.set(START - Duration::from_secs(5));
    assert_eq!(bench.post("k", &email("m")).await.status, 409, "a host that is behind waits");
    bench.clock.set(START + Duration::from_secs(6));
    assert_eq!(bench.another_sandbox().post("k", &email("m")).await.status, 202, "and gets through once the lease is over");
    bench.change(|record| {
        record.status = Status::Succeeded;
        record.expires_at = Some((START + Duration::from_secs(8)).to_seconds_ceil());
    });
    assert_eq!(bench.post("k", &email("m")).await.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn fifty_identical_requests_at_once_are_one_record_and_one_send() {
    let bench = Bench::with([("IKKAI_CALLER_POLICY", EVERYBODY)]);
    let event = post("k", &email("m"));
    let answers = futures::future::join_all((0..50).map(|_| bench.event(&event))).await;
    let is_first = |answer: &&Read| answer.status == 202 && answer.header("idempotent-replayed").is_none();
    assert_eq!(answers.iter().filter(is_first).count(), 1);
    assert!(answers.iter().all(|answer| answer.status == 202 || answer.header("retry-after") == Some("1")));
    assert!(answers.iter().all(|answer| answer.job_id() == answers[0].job_id()));
    assert_eq!((bench.records.all().len(), bench.sent().len()), (1, 1));

    bench.advance(6);
    let other = bench.another_sandbox();
    let answers = futures::future::join_all((0..50).map(|_| other.event(&event))).await;
    assert!(answers.iter().all(|answer| [202, 409].contains(&answer.status)));
    assert_eq!(bench.sent().len(), 2, "one of them took the sending over");
}

/// An operator has put the job back with another payload, or with its own, and sends it.
fn put_back(bench: &Bench, mended: Option<&str>) {
    let now = bench.now();
    bench.change(|record| {
        let dead = ikkai::idempotency::JobRecord { status: Status::Dead, died_at: Some(now), ..record.clone() };
        let payload = mended.map(|delivery| (payload(delivery), payload_digest(&payload(delivery))));
        let wish = PutBack { generation: record.generation, max_generations: 10, payload };
        *record = *transition(Some(&dead), &Event::PutBack(wish), now).next.expect("a dead job is put back");
    });
}

#[tokio::test]
async fn a_job_that_an_operator_put_back_is_answered_202_only_when_its_message_is_surely_in_the_queue() {
    for mended in [None, Some("mended")] {
        let bench = Bench::new();
        let first = bench.post("k", &email("m")).await;
        bench.advance(3_600);
        // And dies before it has sent anything.
        put_back(&bench, mended);
        for _ in 0..3 {
            let again = bench.post("k", &email("m")).await;
            let told = (again.status, again.code(), again.header("retry-after"));
            assert_eq!((told, again.job_id()), ((409, "send_in_progress", Some("1")), first.job_id()), "{mended:?}");
            bench.advance(10);
        }
        assert_eq!(bench.sent().len(), 1, "the operator's message may be on its way");
        bench.advance(1);
        assert_eq!(bench.post("k", &email("m")).await.status, 202);
        assert_eq!(bench.sent().len(), 2, "nobody knows whether the operator's was ever sent");
        assert_eq!(bench.record().payload, Some(payload(mended.unwrap_or("m"))));
        bench.advance(59);
        assert_eq!((bench.post("k", &email("m")).await.status, bench.sent().len()), (202, 2));
    }
}

#[tokio::test]
async fn what_was_asked_for_first_is_the_same_request_after_every_patch_and_the_patch_is_none() {
    let bench = Bench::new();
    bench.post("k", &email("m")).await;
    for has_fingerprint in [true, false] {
        for mended in ["second", "third"] {
            put_back(&bench, Some(mended));
            bench.advance(31);
            if !has_fingerprint {
                bench.change(|record| record.fingerprint = None);
            }
            assert_eq!(bench.post("k", &email("m")).await.header("idempotent-replayed"), Some("true"), "{mended}");
        }
        assert_eq!(bench.post("k", &email("stranger")).await.code(), "idempotency_key_reused");
    }
}
