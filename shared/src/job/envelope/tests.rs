use serde_json::json;

use super::*;
use crate::job::registry;

fn kind() -> &'static JobKind {
    registry::find("email.send").expect("registered")
}

fn body() -> Value {
    json!({
        "jobId": "email.send-aaaqeayeaudaocajbifqydiob4",
        "type": "email.send",
        "schemaVersion": 1,
        "businessId": "order-1001",
        "idempotencyKey": "email:welcome:user-42",
        "payload": {"deliveryId": "mail-1001", "templateId": "welcome", "userId": "user-42"}
    })
}

fn with(name: &str, value: Value) -> String {
    let mut body = body();
    body[name] = value;
    body.to_string()
}

fn without(name: &str) -> String {
    let mut body = body();
    body.as_object_mut().unwrap().remove(name);
    body.to_string()
}

fn job(body: &str) -> Envelope {
    match Envelope::parse(body, kind()).expect("accepted") {
        Parsed::Job(envelope) => envelope,
        Parsed::TooNew(_) => panic!("too new"),
    }
}

fn refused(body: &str) -> EnvelopeError {
    Envelope::parse(body, kind()).expect_err("refused")
}

#[track_caller]
fn assert_refused(body: &str, code: &str, pointer: &str) {
    let error = refused(body);
    let pointers: Vec<_> = error.fields().into_iter().map(|field| field.pointer).collect();
    assert_eq!((error.code(), pointers), (code, vec![pointer.to_owned()]), "{error}");
}

#[test]
fn the_example_is_read_and_written_back_byte_for_byte() {
    let example = concat!(
        r#"{"jobId":"email.send-aaaqeayeaudaocajbifqydiob4","type":"email.send","schemaVersion":1,"businessId":"order-1001","#,
        r#""idempotencyKey":"email:welcome:user-42","payload":{"deliveryId":"mail-1001","templateId":"welcome","userId":"user-42"}}"#
    );
    let envelope = job(example);
    assert_eq!(envelope.job_id.as_ref().unwrap().as_str(), "email.send-aaaqeayeaudaocajbifqydiob4");
    assert_eq!(envelope.business_id.as_deref(), Some("order-1001"));
    assert_eq!(envelope.to_body(), example);
}

#[test]
fn layout_and_member_order_do_not_matter() {
    let spread = "\u{feff} {\n \"payload\": {\"userId\":\"user-42\", \"templateId\":\"welcome\",\"deliveryId\":\"mail-1001\"},\n\t\"idempotencyKey\":\"email:welcome:user-42\",\"businessId\":\"order-1001\", \"schemaVersion\":1,\"type\":\"email.send\",\"jobId\":\"email.send-aaaqeayeaudaocajbifqydiob4\"}\n";
    assert_eq!(job(spread), job(&body().to_string()));
}

#[test]
fn job_id_and_business_id_may_be_left_out() {
    let envelope = job(&without("jobId"));
    assert_eq!(envelope.job_id, None);
    assert_eq!(job(&envelope.to_body()), envelope);
    let envelope = job(&without("businessId"));
    assert_eq!(envelope.business_id, None);
    assert!(!envelope.to_body().contains("businessId"));
}

#[test]
fn every_other_member_is_required() {
    for name in ["type", "schemaVersion", "idempotencyKey", "payload"] {
        assert_refused(&without(name), "missing_member", &format!("/{name}"));
    }
}

#[test]
fn null_is_not_the_same_as_left_out() {
    for name in ["jobId", "type", "businessId", "idempotencyKey"] {
        assert_refused(&with(name, json!(null)), "member_invalid", &format!("/{name}"));
    }
    assert_refused(&with("payload", json!(null)), "payload_invalid", "/payload");
    assert_refused(&with("schemaVersion", json!(null)), "member_invalid", "/schemaVersion");
}

#[test]
fn an_unknown_member_is_refused_with_the_nearest_name() {
    assert_refused(&with("idempotency_key", json!("x")), "unknown_member", "/(unknown member)");
    let near = refused(&with("bussinessId", json!("x")));
    assert_eq!(near.to_string(), "/(unknown member): unknown member: did you mean `businessId`?");
    assert_eq!(refused(&with("Message", json!("x"))).to_string(), "/(unknown member): unknown member");
}

#[test]
fn no_error_of_a_body_repeats_a_member_name_of_the_senders() {
    let payload = |member: &str| body().to_string().replace("\"user-42\"}", &format!("\"user-42\",{member}}}"));
    for (body, shown) in [
        (payload(r#""Jane Doe":1"#), "/payload/(unknown member): "),
        (payload(r#""Jane_Doe":1"#), "/payload/(unknown member): "),
        (payload(r#""Jane~/Doe":1"#), "/payload/(unknown member): "),
        (payload(r#""x":{"Jane":1,"Jane":2}"#), "/payload/(unknown member)/(unknown member): "),
        (payload(r#""x":[{"Jane":0.5}]"#), "/payload/(unknown member)/0/(unknown member): "),
        (payload(r#""x":[[],[0,"Jane\u0000"]]"#), "/payload/(unknown member)/1/1: "),
        (payload(r#""436641234567":0.5"#), "/payload/(unknown member): "),
        (with("Jane Doe", json!(1)), "/(unknown member): "),
        (body().to_string().replace("\"user-42\"}", "{\"Jane\":1}}"), "/payload/userId: "),
        (body().to_string().replace("\"user-42\"}", "{\"Jane\":0.5}}"), "/payload/userId/(unknown member): "),
    ] {
        let error = refused(&body);
        let fields = error.fields();
        assert!(error.to_string().contains(shown), "{error}");
        let written = format!("{error} {error:?} {fields:?}");
        assert!(!written.contains("Jane") && !written.contains("Doe") && !written.contains("43664"), "{written}");
    }
}

#[test]
fn a_producer_that_checks_an_envelope_tells_its_caller_the_member_as_it_was_sent() {
    let mut envelope = job(&body().to_string());
    envelope.payload["Jane Doe"] = json!(1);
    let error = envelope.check(kind()).unwrap_err();
    assert_eq!(error.fields()[0].pointer, "/payload/Jane Doe");
}

#[test]
fn what_is_not_json_has_one_code() {
    for text in ["", "{\"type\":\"email\",\"to\":", "hello", "<xml/>", "{}}", "\u{feff}"] {
        assert_eq!(refused(text).code(), "body_not_json", "{text:?}");
    }
    for text in ["[]", "1", "\"x\"", "null"] {
        assert_eq!(refused(text).code(), "body_not_json", "{text:?}");
    }
}

#[test]
fn json_that_breaks_the_strict_rules_is_told_apart() {
    let text = body().to_string();
    assert_refused(&text.replacen('{', "{\"type\":\"email.send\",", 1), "duplicate_member", "/type");
    assert_refused(&text.replace("\"user-42\"}", "\"user-42\",\"userId\":\"user-43\"}"), "duplicate_member", "/payload/userId");
    assert_refused(&text.replace("\"user-42\"}", "100.0}"), "number_not_integer", "/payload/userId");
    assert_refused(&text.replace("\"user-42\"}", "\"a\\u0000\"}"), "character_not_allowed", "/payload/userId");
    let deep = text.replace("\"user-42\"}", &format!("{}{}}}", "[".repeat(10_000), "]".repeat(10_000)));
    assert_eq!(refused(&deep).code(), "nested_too_deep");
}

#[test]
fn another_type_than_the_queue_carries_is_refused() {
    for name in ["billing.charge", "email.send2", "Email.Send", "email", ""] {
        assert_refused(&with("type", json!(name)), "wrong_type", "/type");
    }
    let message = refused(&with("type", json!("billing.charge"))).to_string();
    assert_eq!(message, "/type: this is not the queue of that type: it carries `email.send` jobs only");
}

#[test]
fn a_newer_version_waits_whatever_else_it_brings() {
    let mut newer = body();
    newer["schemaVersion"] = json!(2);
    newer["priority"] = json!({"unheard": ["of"]});
    newer["payload"] = json!("of another kind");
    let Ok(Parsed::TooNew(header)) = Envelope::parse(&newer.to_string(), kind()) else { panic!("too new") };
    assert_eq!(header.schema_version, 2);
    assert_eq!(header.job_id.unwrap().as_str(), "email.send-aaaqeayeaudaocajbifqydiob4");
    assert_eq!(header.idempotency_key.unwrap().as_str(), "email:welcome:user-42");

    newer["jobId"] = json!({"of": "another form"});
    newer["idempotencyKey"] = json!(7);
    let Ok(Parsed::TooNew(header)) = Envelope::parse(&newer.to_string(), kind()) else { panic!("too new") };
    assert_eq!((header.job_id, header.idempotency_key), (None, None));
}

#[test]
fn a_newer_version_of_another_type_is_still_the_wrong_type() {
    let mut newer = body();
    newer["type"] = json!("billing.charge");
    newer["schemaVersion"] = json!(2);
    assert_refused(&newer.to_string(), "wrong_type", "/type");
}

#[test]
fn an_older_version_is_read_with_the_present_type_and_kept() {
    let newer_kind = JobKind { schema_version: 3, ..*kind() };
    let Ok(Parsed::Job(envelope)) = Envelope::parse(&body().to_string(), &newer_kind) else { panic!("a job") };
    assert_eq!(envelope.schema_version, 1);
}

#[test]
fn a_version_that_is_none_is_refused() {
    for version in [json!(0), json!(-1), json!("1"), json!(4_294_967_296_u64), json!(true)] {
        assert_refused(&with("schemaVersion", version), "member_invalid", "/schemaVersion");
    }
}

#[test]
fn only_the_digest_form_of_this_type_is_a_job_id() {
    for id in [
        "billing.charge-aaaqeayeaudaocajbifqydiob4",
        "email.send-msg-8e03978e-40d5-43e8-bc93-6894a57f9324",
        "email.send-aaaqeayeaudaocajbifqydiob5",
        "email.send-",
        "email.send",
        "",
    ] {
        assert_refused(&with("jobId", json!(id)), "bad_job_id", "/jobId");
    }
}

#[test]
fn a_bad_key_is_refused() {
    for key in ["", " ", " k", "k\n", "clé"] {
        assert_refused(&with("idempotencyKey", json!(key)), "member_invalid", "/idempotencyKey");
    }
    assert_refused(&with("idempotencyKey", json!("k".repeat(256))), "member_invalid", "/idempotencyKey");
    assert_refused(&with("idempotencyKey", json!("AKIAIOSFODNN7EXAMPLE")), "payload_refused", "/idempotencyKey");
}

#[test]
fn a_bad_business_id_is_refused() {
    for id in ["", "  ", "a\nb", "a\u{7f}"] {
        assert_refused(&with("businessId", json!(id)), "member_invalid", "/businessId");
    }
    assert_refused(&with("businessId", json!("b".repeat(257))), "member_invalid", "/businessId");
    assert_refused(&with("businessId", json!("ada@example.com")), "payload_refused", "/businessId");
    assert!(Envelope::parse(&with("businessId", json!("注文 1001")), kind()).is_ok());
}

#[test]
fn all_errors_of_the_payload_are_listed_with_pointers_into_the_body() {
    let error = refused(&with("payload", json!({"deliveryId": 7, "templateId": "welcome", "user_id": "user-42"})));
    assert_eq!(error.code(), "payload_invalid");
    let fields: Vec<_> = error.fields().into_iter().map(|field| (field.pointer, field.code)).collect();
    let expected = [
        ("/payload/userId", "missing_member"),
        ("/payload/deliveryId", "wrong_type"),
        ("/payload/(unknown member)", "unknown_member"),
    ];
    assert_eq!(fields, expected.map(|(pointer, code)| (pointer.to_owned(), code)));
    assert!(!error.to_string().contains("user-42"));
}

#[test]
fn the_privacy_rules_hold_for_the_consumer_too() {
    let payload = json!({"deliveryId": "4111111111111111", "templateId": "welcome", "userId": "user-42"});
    assert_refused(&with("payload", payload), "payload_refused", "/payload/deliveryId");
}

#[test]
fn check_refuses_what_types_alone_allow() {
    let good = job(&body().to_string());
    assert_eq!(good.check(kind()), Ok(()));
    let other_type = Envelope { job_type: JobType::parse("billing.charge").unwrap(), ..good.clone() };
    assert_eq!(other_type.check(kind()).unwrap_err().code(), "wrong_type");
    let other_id = JobId::derive("c", &JobType::parse("billing.charge").unwrap(), &good.idempotency_key);
    assert_eq!(Envelope { job_id: Some(other_id), ..good.clone() }.check(kind()).unwrap_err().code(), "wrong_type");
    let message_id = JobId::for_message(&good.job_type, "8e03978e");
    assert_eq!(Envelope { job_id: Some(message_id), ..good.clone() }.check(kind()).unwrap_err().code(), "bad_job_id");
    for schema_version in [0, 2] {
        assert_eq!(Envelope { schema_version, ..good.clone() }.check(kind()).unwrap_err().code(), "member_invalid");
    }
    assert_eq!(Envelope { payload: json!([]), ..good.clone() }.check(kind()).unwrap_err().code(), "payload_invalid");
    assert_eq!(Envelope { business_id: Some("a\u{ffff}".into()), ..good }.check(kind()).unwrap_err().code(), "member_invalid");
}

#[test]
fn debug_shows_neither_payload_nor_key_nor_business_id() {
    let shown = format!("{:?}", job(&body().to_string()));
    assert_eq!(
        shown,
        "Envelope { job_id: Some(email.send-aaaqeayeaudaocajbifqydiob4), job_type: email.send, schema_version: 1, .. }"
    );
}

#[test]
fn the_envelope_of_another_service_is_no_envelope() {
    let inner = body().to_string();
    for other in [
        json!({"Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:eu-west-1:123456789012:t", "Message": inner}),
        json!({"version": "0", "id": "i", "detail-type": "Job", "source": "shop", "detail": body()}),
        json!({"Records": [{"eventSource": "aws:s3"}]}),
    ] {
        assert_refused(&other.to_string(), "missing_member", "/type");
    }
}
