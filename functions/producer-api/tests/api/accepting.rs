//! A job is posted: what is answered, recorded and sent.

use ikkai::idempotency::Status;
use ikkai::job::{EmailSend, Envelope, JobKind, Parsed};
use serde_json::json;

use crate::bench::{ANN, Bench, email, keyed, payload, post, request};

#[tokio::test]
async fn an_accepted_job_is_recorded_and_sent_and_has_a_place_to_ask() {
    let bench = Bench::new();
    let job = json!({"type": "email.send", "schemaVersion": 1, "businessId": "order-1001", "accountId": "acme", "payload": payload("mail-1")});
    let answer = bench.post("email:welcome:user-42", &job).await;
    assert_eq!((answer.status, answer.body["status"].as_str()), (202, Some("accepted")));
    assert_eq!(answer.header("location"), Some(format!("/v1/jobs/{}", answer.job_id()).as_str()));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("idempotent-replayed"), None);

    let record = bench.record();
    assert_eq!(record.job_id.as_str(), answer.job_id());
    assert_eq!(record.caller, "arn:aws:sts::123456789012:assumed-role/ann");
    assert_eq!((record.status, record.attempts, record.expires_at), (Status::Accepted, 0, None));
    assert_eq!((record.business_id.as_deref(), record.account_id.as_deref()), (Some("order-1001"), Some("acme")));
    assert!(record.accept_token.is_some() && record.send_lease_until > Some(bench.now()));

    let sent = bench.sent();
    assert_eq!(sent.len(), 1);
    let Ok(Parsed::Job(envelope)) = Envelope::parse(&sent[0].body, &JobKind::of::<EmailSend>()) else {
        panic!("consumers read it")
    };
    assert_eq!(envelope.job_id, Some(record.job_id));
    assert_eq!(envelope.payload, payload("mail-1"));
    assert!(!sent[0].body.contains("acme"), "the account stays in the record");
    assert!(sent[0].attributes.is_empty() && sent[0].group_id.is_none());
}

#[tokio::test]
async fn private_data_stays_in_the_record_and_out_of_the_queue() {
    let bench = Bench::new();
    let job = json!({"type": "report.generate", "payload": payload("r-1"), "businessId": "order 1", "data": {"note": "for ann@example.com"}});
    let answer = bench.post("r-1", &job).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    assert_eq!(bench.record().data, Some(json!({"note": "for ann@example.com"})));
    let sent = bench.reports.sent();
    assert!(!sent[0].body.contains("note"));
    assert_eq!(sent[0].deduplication_id.as_deref(), Some(answer.job_id()), "the queue is FIFO");
    let group = sent[0].group_id.as_deref().expect("a group");
    assert!(!group.contains("order") && group.len() <= 128, "metadata is not encrypted: {group}");
}

#[tokio::test]
async fn jobs_of_one_business_case_share_a_fifo_group_and_others_do_not() {
    let bench = Bench::new();
    let job = |business: &str| json!({"type": "report.generate", "businessId": business, "payload": payload("r"), "data": {}});
    for (key, business) in [("1", "a"), ("2", "a"), ("3", "b")] {
        assert_eq!(bench.post(key, &job(business)).await.status, 202);
    }
    let groups: Vec<_> = bench.reports.sent().into_iter().map(|message| message.group_id).collect();
    assert_eq!(groups[0], groups[1]);
    assert_ne!(groups[0], groups[2]);
}

#[tokio::test]
async fn the_trace_of_the_invocation_travels_with_the_message() {
    let bench = Bench::new();
    let (of_invocation, of_client) =
        ("Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1", "Root=1-5759e988-000000000000000000000000");
    let event = request(ANN, "POST", "/v1/jobs", &[("idempotency-key", "k"), ("x-amzn-trace-id", of_client)], &email("m"));
    let call = producer_api::Call { trace: Some(of_invocation.to_owned()), ..Default::default() };
    bench.called(&event, &call).await;
    let event = request(ANN, "POST", "/v1/jobs", &[("idempotency-key", "l"), ("x-amzn-trace-id", of_client)], &email("m"));
    bench.event(&event).await;
    let event = request(ANN, "POST", "/v1/jobs", &[("idempotency-key", "m"), ("x-amzn-trace-id", "garbage")], &email("m"));
    assert_eq!(bench.event(&event).await.status, 202);
    let headers: Vec<_> = bench.sent().into_iter().map(|message| message.trace_header).collect();
    assert_eq!(headers, [Some(of_invocation.to_owned()), Some(of_client.to_owned()), None]);
}

#[tokio::test]
async fn a_job_without_a_key_is_refused_and_keyless_jobs_never_share_a_record() {
    let bench = Bench::new();
    for delivery in ["one", "two"] {
        let answer = bench.event(&request(ANN, "POST", "/v1/jobs", &[], &email(delivery))).await;
        assert_eq!((answer.status, answer.code()), (400, "idempotency_key_missing"));
    }
    assert!(bench.records.all().is_empty() && bench.sent().is_empty());
}

#[tokio::test]
async fn the_key_may_stand_in_the_body_and_must_agree_with_the_header() {
    let bench = Bench::new();
    let in_body = bench.event(&request(ANN, "POST", "/v1/jobs", &[], &keyed("k", "m"))).await;
    assert_eq!(in_body.status, 202);
    bench.advance(6);
    let in_both = bench.post("\"k\"", &keyed("k", "m")).await;
    assert_eq!((in_both.status, in_both.job_id()), (202, in_body.job_id()));
    let torn = bench.post("other", &keyed("k", "m")).await;
    assert_eq!((torn.status, torn.code(), torn.pointers()), (400, "request_invalid", vec!["/idempotencyKey"]));
}

#[tokio::test]
async fn header_spellings_name_one_job_and_two_or_blank_values_none() {
    let bench = Bench::new();
    let mut ids = std::collections::BTreeSet::new();
    for name in ["Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"] {
        let answer = bench.event(&request(ANN, "POST", "/v1/jobs", &[(name, "k")], &email("m"))).await;
        assert!([202, 409].contains(&answer.status));
        ids.insert(answer.job_id().to_owned());
    }
    assert_eq!((ids.len(), bench.sent().len()), (1, 1));
    let mut twice = post("k", &email("m"));
    twice["multiValueHeaders"] = json!({"Idempotency-Key": ["k", "l"]});
    for event in
        [twice, post("k, l", &email("m")), post("", &email("m")), post("   ", &email("m")), post(&"k".repeat(4_096), &email("m"))]
    {
        let answer = bench.event(&event).await;
        assert_eq!((answer.status, answer.code()), (400, "idempotency_key_invalid"));
    }
    assert_eq!(bench.sent().len(), 1);
}

#[tokio::test]
async fn every_wrong_member_is_named_at_once() {
    let bench = Bench::new();
    let job = json!({"typ": "email.send", "schemaVersion": "1", "accountId": "a b", "payload": []});
    let answer = bench.post("k", &job).await;
    assert_eq!((answer.status, answer.code()), (400, "request_invalid"));
    let mut pointers = answer.pointers();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/accountId", "/payload", "/schemaVersion", "/typ", "/type"]);
    assert!(answer.body.to_string().contains("did you mean `type`?"), "{}", answer.body);

    let job = json!({"type": "email.sent", "payload": payload("m")});
    let answer = bench.post("k", &job).await;
    assert_eq!((answer.status, answer.pointers()), (400, vec!["/type"]));
    let job = json!({"type": "email.send", "schemaVersion": 2, "payload": payload("m")});
    let answer = bench.post("k", &job).await;
    assert_eq!((answer.status, answer.pointers()), (400, vec!["/schemaVersion"]));
    assert!(bench.store.calls().is_empty() && bench.queue.calls().is_empty());
}

#[tokio::test]
async fn every_wrong_payload_member_is_named_at_once_and_no_value_is_repeated() {
    let bench = Bench::new();
    let job = json!({"type": "email.send", "payload": {"deliveryId": "sesame me", "templateId": 7, "user_id": "u", "password": "sesame"}});
    let answer = bench.post("k", &job).await;
    assert_eq!((answer.status, answer.code()), (422, "payload_invalid"));
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    for pointer in ["/payload/userId", "/payload/user_id", "/payload/templateId", "/payload/deliveryId", "/payload/password"] {
        assert!(answer.pointers().contains(&pointer), "{pointer} in {}", answer.body);
    }
    assert!(!answer.body.to_string().contains("sesame"));
    assert_eq!(answer.body["type"], "urn:ikkai:problem:payload_invalid");
    assert!(bench.store.calls().is_empty());
}

#[tokio::test]
async fn secrets_and_addresses_are_refused_wherever_they_stand() {
    let bench = Bench::new();
    let token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
    let in_key = bench.post(token, &email("m")).await;
    let in_business_id =
        bench.post("k", &json!({"type": "email.send", "businessId": "ann@example.com", "payload": payload("m")})).await;
    let in_payload =
        bench.post("k", &json!({"type": "email.send", "payload": {"deliveryId": token, "templateId": "w", "userId": "u"}})).await;
    for answer in [&in_key, &in_business_id, &in_payload] {
        assert_eq!((answer.status, answer.code()), (422, "payload_refused"), "{}", answer.body);
        assert!(!answer.body.to_string().contains(token) && !answer.body.to_string().contains("ann@"), "{}", answer.body);
    }
    assert!(in_key.body["detail"].as_str().unwrap().starts_with("the header idempotency-key"), "{}", in_key.body);
    assert_eq!(in_business_id.pointers(), ["/businessId"]);
    assert!(bench.store.calls().is_empty());
}

#[tokio::test]
async fn data_is_taken_by_types_that_read_it_and_by_no_others() {
    let bench = Bench::new();
    let cases = [
        (json!({"type": "image.resize", "payload": payload("m"), "data": {}}), 422, "data_not_taken"),
        (json!({"type": "report.generate", "payload": payload("m")}), 422, "data_missing"),
        (json!({"type": "report.generate", "payload": payload("m"), "data": {"a": "x".repeat(4_096)}}), 413, "data_too_large"),
    ];
    for (job, status, code) in cases {
        let answer = bench.post("k", &job).await;
        assert_eq!((answer.status, answer.body["errors"][0]["code"].as_str()), (status, Some(code)), "{}", answer.body);
        assert_eq!(answer.pointers(), ["/data"]);
    }
    assert!(bench.store.calls().is_empty());
}

#[tokio::test]
async fn a_mail_may_bring_variables_of_its_own_and_need_not() {
    let variables = json!({"variables": {"total": "12.50 EUR"}});
    for (data, kept) in [(Some(&variables), Some(variables.clone())), (None, None)] {
        let bench = Bench::new();
        let mut job = json!({"type": "email.send", "payload": payload("mail-1")});
        if let Some(data) = data {
            job["data"] = data.clone();
        }
        let answer = bench.post("mail-1", &job).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
        assert_eq!(bench.record().data, kept);
        assert!(!bench.queue.sent()[0].body.contains("variables"));
    }
}

#[tokio::test]
async fn a_body_that_is_no_strict_json_object_is_refused_with_the_place() {
    let bench = Bench::new();
    for (body, code) in [
        ("", "json_empty"),
        ("{", "json_incomplete"),
        ("{\"type\":\"a\",\"type\":\"b\"}", "duplicate_member"),
        ("{\"payload\":{\"n\":1.5}}", "number_not_integer"),
        ("{\"payload\":{\"n\":\"\\u0000\"}}", "character_not_allowed"),
        ("a=1", "json_syntax"),
    ] {
        let mut event = post("k", &json!({}));
        event["body"] = json!(body);
        let answer = bench.event(&event).await;
        assert_eq!(
            (answer.status, answer.code(), answer.body["errors"][0]["code"].as_str()),
            (400, "malformed_body", Some(code)),
            "{body}"
        );
    }
    let mut event = post("k", &json!({}));
    (event["body"], event["isBase64Encoded"]) = (json!("{}"), json!(true));
    assert_eq!(bench.event(&event).await.code(), "malformed_body");
    assert_eq!(bench.post("k", &json!([])).await.code(), "request_invalid");
}
