//! Settings in, questions out.

use super::*;

fn subject(package: &str, settings: &[(&str, &str)]) -> Subject {
    Subject {
        package: package.to_owned(),
        scope: Scope::of("arn:aws:iam::123456789012:role/r", "eu-central-1").unwrap(),
        settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        job_type: Fact::Known("email.send".to_owned()),
        sender_identity: None,
        dead_letter_target: None,
    }
}

/// The need that has this action.
fn with(subject: &Subject, action: &str) -> Need {
    let needs = subject.needs();
    let known = needs.iter().filter_map(Fact::known).find(|need| need.actions.contains(&action));
    known.unwrap_or_else(|| panic!("no {action} in {needs:?}")).clone()
}

fn reasons(subject: &Subject) -> Vec<String> {
    subject.needs().iter().filter_map(Fact::gap).map(ToString::to_string).collect()
}

#[test]
fn the_producers_queues_are_those_of_its_settings() {
    let producer = subject("producer-api", &[("IKKAI_QUEUES", r#"{"b":"s-b","a":"s-a","c":"s-a"}"#)]);
    let queues = with(&producer, "sqs:SendMessage").resources;
    assert_eq!(queues, ["arn:aws:sqs:eu-central-1:123456789012:s-a", "arn:aws:sqs:eu-central-1:123456789012:s-b"]);
    for nothing in ["{}", "nonsense", ""] {
        let said = reasons(&subject("producer-api", &[("IKKAI_QUEUES", nothing), ("IKKAI_JOBS_TABLE", "s-jobs")]));
        assert!(matches!(&said[..], [one] if one.contains("IKKAI_QUEUES")), "{nothing}: {said:?}");
    }
}

#[test]
fn the_operators_take_from_dead_letter_queues_and_put_back_into_their_sources() {
    let queues = r#"[{"name":"email","type":"email.send","queue":"s-email","deadLetterQueue":"s-email-dlq"}]"#;
    let operators = subject("dlq-redrive", &[("IKKAI_REDRIVE_QUEUES", queues)]);
    assert_eq!(with(&operators, "sqs:SendMessage").resources, ["arn:aws:sqs:eu-central-1:123456789012:s-email"]);
    assert_eq!(with(&operators, "sqs:DeleteMessage").resources, ["arn:aws:sqs:eu-central-1:123456789012:s-email-dlq"]);
    for nothing in ["[]", r#"[{"name":"email"}]"#, "{"] {
        let said = reasons(&subject("dlq-redrive", &[("IKKAI_REDRIVE_QUEUES", nothing)]));
        assert_eq!(said.iter().filter(|said| said.contains("IKKAI_REDRIVE_QUEUES names no queues")).count(), 2, "{said:?}");
    }
}

#[test]
fn mails_go_out_as_their_sender_with_its_identity() {
    let settings = [("IKKAI_EMAIL_FROM", "The Shop <post@example.com>"), ("IKKAI_EMAIL_CONFIGURATION_SET", "set")];
    let mut email = subject("email-consumer", &settings);
    let need = with(&email, "ses:SendEmail");
    let place = "arn:aws:ses:eu-central-1:123456789012";
    assert_eq!(need.resources, [format!("{place}:identity/example.com"), format!("{place}:configuration-set/set")]);
    let from = Context { key: "ses:FromAddress", value: ContextValue::Text("post@example.com".to_owned()) };
    assert_eq!(need.context, [from]);
    email.sender_identity = Some(format!("{place}:identity/post@example.com"));
    assert_eq!(with(&email, "ses:SendEmail").resources[0], format!("{place}:identity/post@example.com"));
    assert!(
        reasons(&subject("email-consumer", &[("IKKAI_EMAIL_FROM", "the shop")])).iter().any(|said| said.contains("no address"))
    );
}

#[test]
fn objects_and_secrets_are_named_whole() {
    let image = subject("image-consumer", &[("IKKAI_DERIVED_BUCKET", "b"), ("IKKAI_DERIVED_PREFIX", "derived/")]);
    assert_eq!(with(&image, "s3:PutObject").resources, ["arn:aws:s3:::b/derived/x"]);
    let secret = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:s-AbCdEf";
    let named = |secret: &str| subject("billing-consumer", &[("IKKAI_PAYMENT_SECRET_ID", secret)]);
    assert_eq!(with(&named(secret), "secretsmanager:GetSecretValue").resources, [secret]);
    assert!(reasons(&named("s")).iter().any(|said| said.contains("IKKAI_PAYMENT_SECRET_ID is no ARN")));
}

#[test]
fn a_consumer_works_on_jobs_of_its_type_and_tells_where_it_is_told_to() {
    let settings = [("IKKAI_QUEUE_NAME", "s-email"), ("IKKAI_JOBS_TABLE", "s-jobs")];
    let mut own = subject("partner-notice-consumer", &settings);
    let jobs = with(&own, "dynamodb:PutItem");
    assert_eq!(
        jobs.context,
        [Context { key: "dynamodb:LeadingKeys", value: ContextValue::List(vec!["email.send-x".to_owned()]) }]
    );
    assert_eq!(own.needs().len(), 2, "what only others do is not asked about");
    own.settings.insert("IKKAI_EVENTS_QUEUE_NAME".to_owned(), "s-webhook".to_owned());
    assert_eq!(own.needs().len(), 3);
    own.job_type = Fact::Unknown(Gap::Missing);
    assert_eq!(own.needs().iter().filter_map(Fact::gap).collect::<Vec<_>>(), [&Gap::Missing]);
}
