//! The events that a function can be tried out with (`functions/*/events`), sent to its process as `cargo lambda watch` sends them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ikkai_cli::local::build::{self, FUNCTIONS};
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::progress::Progress;
use ikkai_tests::runtime_api::{Deadline, FunctionProcess};
use serde_json::{Value, json};

use crate::harness::{Lab, on_engine};

/// Who is allowed to post in these events.
const POLICY: &str = r#"[{"callers":["*"],"types":["*"],"accounts":["*"]}]"#;

fn events(function: &str) -> Vec<(String, Value)> {
    let checkout = Checkout::find().expect("a checkout");
    let folder = checkout.file("functions").join(function).join("events");
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("an event");
        (path.file_name().expect("a name").to_string_lossy().into_owned(), serde_json::from_str(&text).expect("an event is JSON"))
    };
    paths.into_iter().map(read).collect()
}

/// The settings that the deployed function has.
async fn settings(lab: &Lab, function: &str) -> BTreeMap<String, String> {
    let lambda = aws_sdk_lambda::Client::new(&lab.aws.sdk_config());
    let name = format!("{}-{function}", lab.stack.name());
    let deployed = lambda.get_function_configuration().function_name(name).send().await.expect("a function");
    let variables = deployed.environment.and_then(|found| found.variables).expect("variables");
    let mut settings: BTreeMap<String, String> = variables.into_iter().collect();
    settings.insert("AWS_ENDPOINT_URL".to_owned(), lab.aws.proxy().url());
    if function == "producer-api" {
        settings.insert("IKKAI_CALLER_POLICY".to_owned(), POLICY.to_owned());
    }
    settings
}

/// What is wrong with an answer to an event.
fn fault(function: &str, file: &str, event: &Value, answer: &Value) -> Option<String> {
    let ids = || event["Records"].as_array().into_iter().flatten().filter_map(|record| record["messageId"].as_str());
    match function {
        "producer-api" => {
            let wanted = match file {
                "post-job.json" => 202,
                "get-job.json" => 404,
                _ => 400,
            };
            let body = answer["body"].as_str().and_then(|body| serde_json::from_str::<Value>(body).ok());
            let well_formed = body.is_some_and(|body| body.is_object()) && answer["headers"]["content-type"].is_string();
            (answer["statusCode"] != wanted || !well_formed).then(|| format!("not a {wanted}"))
        }
        "dlq-redrive" => {
            (!answer["ok"].is_boolean() && !answer["error"].is_object()).then(|| "neither done nor refused".to_owned())
        }
        "ses-feedback" => None,
        _ => {
            let Some(failures) = answer["batchItemFailures"].as_array() else { return Some("no batchItemFailures".to_owned()) };
            let failed: Vec<&str> = failures.iter().filter_map(|failure| failure["itemIdentifier"].as_str()).collect();
            let known = failed.len() == failures.len() && failed.iter().all(|id| ids().any(|known| known == *id));
            let fails = match file {
                // A mail that can be sent and a text that is no job; a picture that is not there; a job that nobody knows.
                "batch-with-attributes.json" => 1,
                "s3-test-event.json" | "email.json" => 0,
                _ => failed.len(),
            };
            (!known || failed.len() != fails).then(|| format!("{fails} failures of messages of the event were to be"))
        }
    }
}

#[test]
fn every_function_answers_each_of_its_events() {
    on_engine(async |lab| {
        let checkout = Checkout::find().expect("a checkout");
        for function in FUNCTIONS {
            let events = events(function);
            assert!(!events.is_empty(), "{function} has events");
            let binary = build::binary(&checkout, function, &Progress::silent()).await.expect("a binary");
            let process = FunctionProcess::start(binary, settings(lab, function).await).await.expect("a function process");
            for (file, event) in events {
                let invocation = process.invoke(&event, Deadline::CARGO_LAMBDA_WATCH).await;
                let answer = invocation.response();
                assert_eq!(fault(function, &file, &event, &answer), None, "{function}/{file}: {answer}");
            }
        }
    });
}

/// The check above is not blind.
#[test]
fn an_answer_of_another_shape_is_noticed() {
    let event = json!({"Records": [{"messageId": "a"}]});
    let wrong = |answer: Value| fault("email-consumer", "email.json", &event, &answer).is_some();
    assert!(wrong(json!({"batchItemFailures": [{"itemIdentifier": "a"}]})));
    assert!(!wrong(json!({"batchItemFailures": []})));
    assert!(fault("producer-api", "post-job.json", &event, &json!({"statusCode": 202})).is_some());
    assert!(fault("dlq-redrive", "list.json", &event, &json!({"statusCode": 200})).is_some());
}
