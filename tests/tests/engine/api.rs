//! The API as its callers meet it: through the engine's door, with signatures.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::json;

use crate::harness::{Answer, Lab, answer, on_engine, on_stack};

async fn call(lab: &Lab, method: Method, path: &str, headers: &[(&'static str, &str)], body: &str) -> Answer {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (header::HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header")))
        .collect();
    let api = lab.stack.api("tester").expect("an API");
    answer(api.call(method, path, headers, Bytes::copy_from_slice(body.as_bytes())).await.expect("an answer"))
}

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn bad_requests_get_a_problem_that_names_the_field() {
    on_engine(async |lab| {
        let key = lab.key("bad");
        let keyed = [JSON, ("idempotency-key", key.as_str())];
        let good = lab.mail_to("user-1", "d-1").to_string();
        for (name, answer, status, pointer) in [
            ("no key", call(lab, Method::POST, "/v1/jobs", &[JSON], &good).await, 400, None),
            ("not JSON", call(lab, Method::POST, "/v1/jobs", &keyed, "{\"type\":").await, 400, None),
            (
                "not JSON by type",
                call(lab, Method::POST, "/v1/jobs", &[("content-type", "text/plain"), keyed[1]], &good).await,
                415,
                None,
            ),
            ("unknown path", call(lab, Method::GET, "/v1/nothing", &[], "").await, 404, None),
            ("unknown method", call(lab, Method::PUT, "/v1/jobs", &keyed, &good).await, 405, None),
            (
                "a missing member",
                call(
                    lab,
                    Method::POST,
                    "/v1/jobs",
                    &keyed,
                    r#"{"type":"email.send","payload":{"deliveryId":"d","templateId":"t"}}"#,
                )
                .await,
                422,
                Some("/payload/userId"),
            ),
            (
                "a secret",
                call(
                    lab,
                    Method::POST,
                    "/v1/jobs",
                    &keyed,
                    r#"{"type":"email.send","payload":{"deliveryId":"AKIAIOSFODNN7EXAMPL2","templateId":"t","userId":"u"}}"#,
                )
                .await,
                422,
                Some("/payload/deliveryId"),
            ),
        ] {
            assert_eq!(answer.status, status, "{name}: {}", answer.body);
            assert_eq!(answer.headers["content-type"], "application/problem+json", "{name}");
            if let Some(pointer) = pointer {
                assert!(answer.body.to_string().contains(pointer), "{name} names {pointer}: {}", answer.body);
            }
        }
    });
}

#[test]
fn a_job_of_another_caller_is_not_there() {
    on_engine(async |lab| {
        let job_id = lab.post_mail("mine", "user-1").await;
        let stranger = lab.stack.api("stranger").expect("an API");
        assert_eq!(stranger.job(job_id.as_str()).await.expect("an answer").status(), 404);
        assert_eq!(stranger.cancel(job_id.as_str()).await.expect("an answer").status(), 404);
        let owner = lab.stack.api("tester").expect("an API");
        assert_eq!(owner.job(job_id.as_str()).await.expect("an answer").status(), 200);
    });
}

#[test]
fn the_same_key_of_two_callers_is_two_jobs() {
    on_engine(async |lab| {
        let key = lab.key("shared-key");
        let job = lab.mail_to("user-1", &key);
        let (one, other) = (lab.post_as("caller-a", &key, &job).await, lab.post_as("caller-b", &key, &job).await);
        assert_eq!((one.status, other.status), (202, 202));
        assert_ne!(one.body["jobId"], other.body["jobId"]);
    });
}

#[test]
fn a_cancelled_job_is_never_worked_on() {
    on_stack("paused", &[("EmailConsumerEnabled", "false")], async |lab| {
        let job_id = lab.post_mail("cancel", "user-1").await;
        let api = lab.stack.api("tester").expect("an API");
        let cancelled = answer(api.cancel(job_id.as_str()).await.expect("an answer"));
        assert_eq!((cancelled.status, cancelled.body["status"].as_str()), (200, Some("cancelled")), "{cancelled:?}");
        let messages = lab.stack.messages(lab.stack.email_queue()).await.expect("the engine answers");
        let message =
            messages.into_iter().find(|message| message.body.contains(job_id.as_str())).expect("its message is still there");

        let lambda = aws_sdk_lambda::Client::new(&lab.aws.sdk_config());
        let event = json!({"Records": [{
            "messageId": message.message_id, "receiptHandle": "none", "body": message.body, "attributes": {}, "messageAttributes": {},
            "eventSource": "aws:sqs", "eventSourceARN": format!("arn:aws:sqs:us-east-1:000000000000:{}", lab.stack.email_queue()),
        }]});
        let invoked = lambda
            .invoke()
            .function_name(lab.stack.email_consumer())
            .payload(aws_sdk_lambda::primitives::Blob::new(event.to_string()))
            .send()
            .await
            .expect("an answer");
        let response: serde_json::Value = serde_json::from_slice(invoked.payload.expect("a payload").as_ref()).expect("JSON");
        assert_eq!(response, json!({"batchItemFailures": []}), "the message is acknowledged");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 0, "and no mail is sent");
    });
}

#[test]
fn a_full_queue_slows_new_jobs_down_and_lets_replays_through() {
    on_stack("full", &[("EmailConsumerEnabled", "false"), ("MaxQueueDepth", "3")], async |lab| {
        let mut refused = None;
        let first = lab.key("full");
        assert_eq!(lab.post_as("tester", &first, &lab.mail_to("user-1", &first)).await.status, 202);
        for _ in 0..200 {
            let key = lab.key("full");
            let posted = lab.post_as("tester", &key, &lab.mail_to("user-1", &key)).await;
            if posted.status == 429 {
                refused = Some(posted);
                break;
            }
            assert_eq!(posted.status, 202, "{posted:?}");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let refused = refused.expect("a full queue refuses");
        assert!(refused.headers.contains_key("retry-after"));
        let replay = lab.post_as("tester", &first, &lab.mail_to("user-1", &first)).await;
        assert_eq!(replay.status, 202, "a replay is exempt: {replay:?}");
    });
}
