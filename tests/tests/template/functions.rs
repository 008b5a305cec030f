//! Functions: runtime, logs, environment, timeouts.

use ikkai_tests::template::rules::{functions, settings};
use serde_json::json;

use crate::stacks::{CONSUMERS, every_stack, holds, notices, variable};

/// The logical ids of all functions.
fn all() -> Vec<String> {
    let of_consumers = CONSUMERS.map(|name| format!("{name}ConsumerFunction"));
    of_consumers
        .into_iter()
        .chain(["ProducerApiFunction", "SesFeedbackFunction", "DlqRedriveFunction"].map(str::to_owned))
        .collect()
}

#[test]
fn functions_are_native_and_built_for_one_processor() {
    holds(functions::functions_are_native);
    for function in all() {
        notices(functions::functions_are_native, &function, |stack| {
            stack.set(&function, "/Architectures", json!(["arm64", "x86_64"]));
        });
    }
}

#[test]
fn every_function_that_is_built_is_deployed_once() {
    let rule = functions::every_function_is_deployed;
    holds(rule);
    notices(rule, "ses-feedback", |stack| stack.drop_resource("SesFeedbackFunction"));
    notices(rule, "image-consumer", |stack| {
        stack.set("ImageConsumerFunction", "/Code/S3Key", json!("email-consumer.zip"));
    });
}

#[test]
fn logs_are_kept_for_a_time() {
    let rule = functions::logs_are_kept_for_a_time;
    holds(rule);
    for function in all() {
        let group = function.replace("Function", "LogGroup");
        notices(rule, &group, |stack| stack.remove(&group, "/RetentionInDays"));
        notices(rule, &function, |stack| stack.remove(&function, "/LoggingConfig"));
    }
    notices(rule, "HttpApiLogGroup", |stack| stack.remove("HttpApiLogGroup", "/RetentionInDays"));
}

#[test]
fn environments_are_what_the_code_reads_and_within_what_lambda_takes() {
    let rule = functions::environments_are_what_the_code_reads;
    holds(rule);
    for (function, missing) in [
        ("EmailConsumerFunction", "IKKAI_EMAIL_FROM"),
        ("ImageConsumerFunction", "IKKAI_ORIGINALS_BUCKET"),
        ("BillingConsumerFunction", "IKKAI_PAYMENT_SECRET_ID"),
        ("ReportConsumerFunction", "IKKAI_REPORTS_BUCKET"),
        ("WebhookConsumerFunction", "IKKAI_WEBHOOK_SECRET_ID"),
        ("SesFeedbackFunction", "IKKAI_CONTACTS_TABLE"),
        ("DlqRedriveFunction", "IKKAI_REDRIVE_QUEUES"),
    ] {
        notices(rule, &format!("{function}: {missing} is missing"), |stack| stack.remove(function, &variable(missing)));
        notices(rule, &format!("{function}: IKKAI_MAX_RETRIES is not read"), |stack| {
            stack.set(function, &variable("IKKAI_MAX_RETRIES"), json!("3"));
        });
    }
    for function in ["ProducerApiFunction", "SesFeedbackFunction", "DlqRedriveFunction"] {
        notices(rule, &format!("{function}: IKKAI_DEFER_SECONDS is not read"), |stack| {
            stack.set(function, &variable("IKKAI_DEFER_SECONDS"), json!("60"));
        });
    }
    notices(rule, "ProducerApiFunction: IKKAI_RECORD_RETENTION_SECONDS is 5", |stack| {
        stack.set("ProducerApiFunction", &variable("IKKAI_RECORD_RETENTION_SECONDS"), json!(5));
    });
    notices(rule, "ProducerApiFunction: an environment of", |stack| {
        stack.set("ProducerApiFunction", &variable("IKKAI_CALLER_POLICY"), json!("x".repeat(4000)));
    });
}

/// Also at both ends of what each parameter allows.
#[test]
fn functions_start_with_every_value_that_a_parameter_allows() {
    let rule = settings::functions_start;
    holds(rule);
    for function in CONSUMERS.map(|name| format!("{name}ConsumerFunction")) {
        notices(rule, &format!("{function}: IKKAI_MAX_RECEIVE_COUNT"), |stack| {
            stack.set(&function, &variable("IKKAI_MAX_RECEIVE_COUNT"), json!("4"));
        });
        notices(rule, &format!("{function}: IKKAI_QUEUE_NAME"), |stack| {
            stack.remove(&function, &variable("IKKAI_QUEUE_NAME"));
        });
        notices(rule, &format!("{function}: IKKAI_LEASE_CHUNK_SECOND is not read"), |stack| {
            stack.set(&function, &variable("IKKAI_LEASE_CHUNK_SECOND"), json!("45"));
        });
    }
    notices(rule, "EmailConsumerFunction: IKKAI_PROVIDER_TIMEOUT_MS", |stack| {
        stack.set("EmailConsumerFunction", &variable("IKKAI_PROVIDER_TIMEOUT_MS"), json!("99"));
    });
    for (name, value) in
        [("IKKAI_REDRIVE_QUEUES", "[]"), ("IKKAI_MAX_GENERATIONS", "0"), ("IKKAI_ARCHIVE_PREFIX", "/"), ("IKKAI_JOBS_TABLE", "")]
    {
        notices(rule, &format!("DlqRedriveFunction: {name}"), |stack| {
            stack.set("DlqRedriveFunction", &variable(name), json!(value));
        });
    }
    for (name, value) in [("IKKAI_SEND_LEASE_MS", "499"), ("IKKAI_QUEUES", "{}"), ("IKKAI_CALLER_POLICY", "{}")] {
        notices(rule, &format!("ProducerApiFunction: {name}"), |stack| {
            stack.set("ProducerApiFunction", &variable(name), json!(value));
        });
    }
}

#[test]
fn consumers_know_their_timeout_keep_within_it_and_may_renew() {
    holds(functions::functions_know_their_timeout);
    holds(functions::provider_calls_fit_into_an_invocation);
    holds(functions::renewal_is_not_taken_for_a_loop);
    for function in CONSUMERS.map(|name| format!("{name}ConsumerFunction")) {
        notices(functions::functions_know_their_timeout, &function, |stack| stack.set(&function, "/Timeout", json!(31)));
        notices(functions::renewal_is_not_taken_for_a_loop, &function, |stack| stack.remove(&function, "/RecursiveLoop"));
    }
    notices(functions::functions_know_their_timeout, "DlqRedriveFunction", |stack| {
        stack.set("DlqRedriveFunction", "/Timeout", json!(899));
    });
    for function in ["EmailConsumerFunction", "BillingConsumerFunction", "WebhookConsumerFunction"] {
        let rule = functions::provider_calls_fit_into_an_invocation;
        notices(rule, function, |stack| stack.set(function, &variable("IKKAI_PROVIDER_TIMEOUT_MS"), json!("22500")));
        notices(rule, function, |stack| stack.remove(function, &variable("IKKAI_PROVIDER_TIMEOUT_MS")));
    }
}

/// The API takes every type that has a consumer, save the events that consumers send.
#[test]
fn the_api_takes_the_jobs_of_every_consumer() {
    let mut types: Vec<String> = every_stack().stacks[0].routes().into_iter().map(|(job_type, _)| job_type).collect();
    types.sort();
    let mut known: Vec<_> = ikkai::job::names().collect();
    known.sort_unstable();
    assert_eq!(types, known);
}
