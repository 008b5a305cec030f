//! Values that parameters refuse.

use ikkai_tests::template::{Parameters, parameters, refusals};

use crate::stacks::{CONSUMERS, ORDERED, every_stack};

#[test]
fn parameters_that_would_break_a_rule_are_refused() {
    let long_name = "n".repeat(129);
    let mut cases = vec![
        ("ApiCallerPrincipal", "*"),
        ("ApiCallerPrincipal", "arn:aws:iam::*:role/caller"),
        ("CorsAllowOrigins", "*"),
        ("CorsAllowOrigins", "https://App.example.com"),
        ("CorsAllowOrigins", "https://app.example.com/"),
        ("CallerPolicy", "{}"),
        ("CallerPolicy", ""),
        ("SendLeaseMs", "499"),
        ("SendLeaseMs", "60001"),
        ("EmailBatchingWindowSeconds", "31"),
        ("EmailFrom", "Mail <mail@example.com>"),
        ("EmailFrom", "mail@Example.com"),
        ("EmailFrom", "mail@b\u{fc}cher.example"),
        ("EmailFrom", "m\u{e4}il@example.com"),
        ("EmailFrom", "${aws:username}@example.com"),
        ("EmailFromName", "Shop <boss@example.com>,"),
        ("EmailFromName", long_name.as_str()),
        ("EmailProviderRatePerSecond", "0.5"),
        ("SenderIdentityArn", "*"),
        ("QueueRetentionDays", "14"),
        ("ImageUploadSizes", "0"),
        ("ImageUploadSizes", "256, 720"),
        ("ImageUploadSizes", "1,2,3,4,5,6,7,8,9,10,11"),
        ("ImageUploadFormats", "gif"),
        ("ImageUploadFormats", ""),
        ("ImageBackground", "white"),
        ("ImageJpegQuality", "101"),
        ("ImageCacheControl", "public\nx-evil: 1"),
        ("PaymentApiUrl", "http://api.stripe.com"),
        ("PaymentApiUrl", "http://127.0.0.1.example.com:80"),
        ("PaymentApiUrl", "https://user@api.stripe.com"),
        ("BillingKeyWindowSeconds", "3599"),
        ("BillingKeyWindowSeconds", "86401"),
        ("ReportFunctionTimeoutSeconds", "6"),
        ("BillingProviderRatePerSecond", "0"),
        ("MaxRedrives", "0"),
        ("RedriveTimeoutSeconds", "901"),
        ("RedriveTimeoutSeconds", "59"),
        ("RedriveReservedConcurrency", "0"),
        ("RedriveHistoryDays", "31"),
        ("ArchiveDays", "0"),
        ("Api", "FunctionUrl"),
        ("FifoMaxReceiveCount", "11"),
        ("FifoBatchSize", "11"),
        ("FifoAfterDeath", "stop"),
        ("FeedbackTimeoutSeconds", "2"),
        ("JobsTableWarmWritesPerSecond", "3999"),
        ("JobsTableWarmWritesPerSecond", "1000000"),
        ("KmsKeyArn", "alias/aws/sqs"),
        ("KmsKeyArn", "arn:aws:kms:us-east-1:123456789012:alias/aws/sqs"),
        ("KmsDataKeyReuseSeconds", "59"),
        ("Owner", ""),
        ("Owner", "team<post>"),
        ("ReserveConcurrency", "true"),
        ("Stage", "test"),
        ("Tracing", "true"),
    ];
    let of_consumers = [
        ("MaxReceiveCount", "4"),
        ("MaxAttempts", "11"),
        ("MaxConcurrency", "1"),
        ("FunctionTimeoutSeconds", "31"),
        ("BatchSize", "11"),
        ("ConsumerEnabled", "yes"),
    ];
    let named: Vec<(String, &str)> =
        CONSUMERS.iter().flat_map(|name| of_consumers.map(|(parameter, value)| (format!("{name}{parameter}"), value))).collect();
    cases.extend(named.iter().map(|(parameter, value)| (parameter.as_str(), *value)));
    let types = ORDERED.map(|name| format!("{name}QueueType"));
    cases.extend(types.iter().map(|parameter| (parameter.as_str(), "FIFO")));
    let timeouts = [("Email", "60001"), ("Billing", "60001"), ("Webhook", "30001")];
    let timeouts = timeouts.map(|(name, beyond)| (format!("{name}ProviderTimeoutMs"), beyond));
    cases.extend(timeouts.iter().flat_map(|(parameter, beyond)| [(parameter.as_str(), "99"), (parameter.as_str(), *beyond)]));

    let sets: Vec<Parameters> = cases.iter().map(|case| parameters(&[*case])).collect();
    for ((parameter, value), refused) in cases.iter().zip(refusals(&sets)) {
        assert!(refused.is_some_and(|reason| reason.starts_with(parameter)), "{parameter}={value} is refused");
    }
}

#[test]
fn receives_that_leave_no_room_for_renewal_are_refused() {
    for name in CONSUMERS {
        let (attempts_of, receives_of) = (format!("{name}MaxAttempts"), format!("{name}MaxReceiveCount"));
        let most: u64 = every_stack().parameters[&attempts_of]["MaxValue"].as_u64().expect("a bound");
        let around = |attempts: u64| [attempts + 1, attempts + 2].map(|receives| (attempts, receives.max(5)));
        let cases: Vec<(u64, u64)> = (1..=most).flat_map(around).collect();
        let set = |(attempts, receives): &(u64, u64)| {
            parameters(&[(&attempts_of, &attempts.to_string()), (&receives_of, &receives.to_string())])
        };
        let refused = refusals(&cases.iter().map(set).collect::<Vec<_>>());
        for ((attempts, receives), refused) in cases.into_iter().zip(refused) {
            let wanted = receives < attempts + 2;
            assert_eq!(refused.is_some(), wanted, "{name}: {attempts} attempts, {receives} receives: {refused:?}");
            assert!(refused.is_none_or(|reason| reason.contains(&receives_of)), "{name}: the parameter is named");
        }
    }
}

/// Lambda gathers no batches of a FIFO queue, and says so at the end of a deployment.
#[test]
fn a_batching_window_on_a_fifo_queue_is_refused() {
    let window = ("EmailBatchingWindowSeconds", "1");
    let sets =
        [parameters(&[window, ("EmailQueueType", "fifo")]), parameters(&[window]), parameters(&[("EmailQueueType", "fifo")])];
    let refused = refusals(&sets);
    assert!(refused[0].as_ref().is_some_and(|reason| reason.contains("EmailBatchingWindowSeconds must be 0")), "{refused:?}");
    assert_eq!(refused[1..], [None, None]);
}

#[test]
fn the_documentation_lists_every_parameter_and_output() {
    let page = include_str!("../../../docs/deploy.md");
    let parameters = every_stack().parameters.as_object().expect("parameters").keys();
    let outputs = every_stack().outputs.iter();
    let missing: Vec<&String> = parameters.chain(outputs).filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/deploy.md does not speak of {missing:?}");
}
