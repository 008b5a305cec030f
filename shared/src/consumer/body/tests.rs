use serde_json::json;

use super::*;

fn kind() -> &'static JobKind {
    crate::job::find("email.send").expect("registered")
}

fn job() -> Value {
    json!({
        "type": "email.send",
        "schemaVersion": 1,
        "idempotencyKey": "k",
        "payload": {"deliveryId": "mail-1001", "templateId": "welcome", "userId": "user-42"}
    })
}

fn sns(message: &str) -> Value {
    json!({"Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:eu-west-1:123456789012:t", "Message": message})
}

fn event(source: &str, detail: &Value) -> Value {
    json!({"version": "0", "id": "i", "detail-type": "Job", "source": source, "resources": [], "detail": detail})
}

fn code(body: &Value) -> &'static str {
    read(&body.to_string(), kind()).expect_err("refused").code()
}

#[test]
fn every_wrapping_of_a_job_reads_as_the_job() {
    let raw = job().to_string();
    let Ok(Body::Job(expected)) = read(&raw, kind()) else { panic!("a job") };
    for wrapped in [
        sns(&raw),
        event("shop", &job()),
        sns(&event("shop", &job()).to_string()),
        sns(&sns(&raw).to_string()),
        sns(&format!("\u{feff} {raw}\n")),
    ] {
        let Ok(Body::Job(read)) = read(&wrapped.to_string(), kind()) else { panic!("{wrapped}") };
        assert_eq!(read, expected);
    }
}

#[test]
fn a_job_that_looks_like_a_wrapping_is_not_unwrapped() {
    for look_alike in ["Type", "TopicArn", "Message", "Records", "detail", "source", "detail-type", "Event"] {
        let mut body = job();
        body[look_alike] = json!(job().to_string());
        assert_eq!(code(&body), "unknown_member", "{look_alike}");
    }
    let mut all = sns(&job().to_string());
    all["type"] = json!("email.send");
    assert_eq!(code(&all), "missing_member");
}

#[test]
fn what_is_no_job_has_a_code_of_its_own() {
    let raw = job().to_string();
    for (body, expected) in [
        (json!([job()]), "body_is_a_list"),
        (json!([]), "body_is_a_list"),
        (json!("x"), "body_not_json"),
        (json!({"Message": "x"}), "missing_member"),
        (
            json!({"Type": "SubscriptionConfirmation", "TopicArn": "t", "SubscribeURL": "https://…", "Message": "m"}),
            "sns_confirmation",
        ),
        (json!({"Type": "UnsubscribeConfirmation", "TopicArn": "t", "Message": "m"}), "sns_confirmation"),
        (json!({"Type": "Notification", "TopicArn": "t"}), "sns_message_missing"),
        (json!({"Type": "Notification", "Message": {"a": 1}}), "sns_message_missing"),
        (json!({"Type": "Something", "Message": "m"}), "sns_message_missing"),
        (sns("hello"), "body_not_json"),
        (sns(&format!("[{raw}]")), "body_is_a_list"),
        (sns(&sns(&sns(&raw).to_string()).to_string()), "wrapped_too_often"),
        (event("shop", &json!({"orderId": "1"})), "event_without_job"),
        (event("shop", &json!(raw)), "event_without_job"),
        (event("aws.ec2", &json!({"state": "running"})), "event_without_job"),
        (event("aws.s3", &json!({})), "object_event_incomplete"),
        (json!({"Records": {}}), "records_not_a_list"),
        (json!({"Records": null}), "records_not_a_list"),
        (json!({"Records": vec![0; 101]}), "too_many_jobs"),
        (json!({"Event": "s3:Something"}), "missing_member"),
    ] {
        match read(&body.to_string(), kind()) {
            Err(error) => assert_eq!(error.code(), expected, "{body}"),
            Ok(Body::Objects(told)) => assert_eq!(told[0].as_ref().expect_err("refused").code(), expected, "{body}"),
            Ok(other) => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn the_strict_rules_hold_in_every_layer_and_errors_name_no_member_of_the_senders() {
    let raw = job().to_string();
    let twice = raw.replacen('{', "{\"type\":\"email.send\",", 1);
    let big = raw.replace("\"user-42\"", "18446744073709551616");
    let deep = raw.replace("\"user-42\"", &format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)));
    let named = raw.replace("\"user-42\"", "\"user-42\",\"Jane Doe\":0.5");
    for (inner, expected) in
        [(&twice, "duplicate_member"), (&big, "number_not_integer"), (&deep, "nested_too_deep"), (&named, "number_not_integer")]
    {
        for body in [sns(inner).to_string(), event("shop", &json!("@")).to_string().replace("\"@\"", inner)] {
            let error = read(&body, kind()).expect_err("refused");
            assert_eq!(error.code(), expected);
            assert!(!format!("{error} {error:?}").contains("Jane"), "{error}");
        }
    }
    let outer = sns(&raw).to_string().replacen('{', "{\"Type\":\"Notification\",", 1);
    assert_eq!(read(&outer, kind()).unwrap_err().code(), "duplicate_member");
}

#[test]
fn the_two_things_that_need_no_work_are_told_apart() {
    let test = json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2014-10-13T15:57:02.089Z", "Bucket": "b"});
    for (body, reason) in [
        (test.clone(), "s3_test_event"),
        (sns(&test.to_string()), "s3_test_event"),
        (json!({"Records": []}), "no_records"),
        (sns(r#"{"Records":[]}"#), "no_records"),
    ] {
        assert!(matches!(read(&body.to_string(), kind()), Ok(Body::Nothing(found)) if found == reason), "{body}");
    }
}

#[test]
fn some_records_of_a_notification_make_a_notification() {
    let records = json!([{"n": 0}, {"n": 1}, {"n": 2}]);
    let body = json!({"Records": records, "more": 1}).to_string();
    for body in [body.clone(), sns(&body).to_string()] {
        assert_eq!(with_records(&body, &[0, 2]).as_deref(), Some(r#"{"Records":[{"n":0},{"n":2}]}"#));
        assert_eq!(with_records(&body, &[3]), None);
    }
    assert_eq!(with_records(&job().to_string(), &[0]), None);
}

proptest::proptest! {
    #[test]
    fn no_body_of_any_shape_panics(
        names in proptest::collection::vec(proptest::sample::select(vec!["Type", "Message", "TopicArn", "detail", "detail-type", "source", "Records", "Event", "type"]), 0..6),
        values in proptest::collection::vec(proptest::sample::select(vec!["null", "1", "\"Notification\"", "\"aws.s3\"", "\"{}\"", "[{}]", "[{\"eventSource\":\"aws:s3\"}]", "{\"object\":{}}", "\"s3:TestEvent\""]), 6),
        text in "\\PC{0,40}",
    ) {
        let mut members: Vec<_> = names.iter().zip(&values).map(|(name, value)| format!("\"{name}\":{value}")).collect();
        members.sort_unstable();
        members.dedup_by(|one, other| one.split(':').next() == other.split(':').next());
        _ = read(&format!("{{{}}}", members.join(",")), kind());
        _ = read(&sns(&text).to_string(), kind());
    }
}
