//! What only a process can show: panics, crashes, deadlines, warm starts, log lines. The binary runs under a fake Lambda runtime API,
//! against the engine's real table and queue.

use std::collections::BTreeMap;
use std::time::Duration;

use ikkai::idempotency::Status;
use ikkai::testing::MessageBuilder;
use ikkai_cli::local::build;
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::progress::Progress;
use ikkai_tests::runtime_api::{Deadline, FunctionProcess, Outcome};
use serde_json::{Value, json};

use crate::harness::{Lab, on_stack};

const TEN_SECONDS: Deadline = Deadline::In(Duration::from_secs(10));

/// The settings of the deployed function, for a process of our own. Its queue's mapping is off, so only we feed it.
async fn settings(lab: &Lab) -> BTreeMap<String, String> {
    let lambda = aws_sdk_lambda::Client::new(&lab.aws.sdk_config());
    let deployed =
        lambda.get_function_configuration().function_name(lab.stack.email_consumer()).send().await.expect("a function");
    let mut settings: BTreeMap<_, _> =
        deployed.environment.and_then(|found| found.variables).expect("variables").into_iter().collect();
    settings.insert("AWS_ENDPOINT_URL".to_owned(), lab.aws.proxy().url());
    settings
}

async fn start(package: &str, settings: &BTreeMap<String, String>) -> FunctionProcess {
    let checkout = Checkout::find().expect("a checkout");
    let binary = build::binary(&checkout, package, &Progress::silent()).await.expect("a binary");
    FunctionProcess::start(binary, settings.clone()).await.expect("a function process")
}

fn on_paused_stack(test: impl AsyncFnOnce(&Lab)) {
    on_stack("process", &[("EmailConsumerEnabled", "false"), ("LeaseSkewMs", "0"), ("EmailFunctionTimeoutSeconds", "10")], test);
}

fn message(lab: &Lab, template: &str) -> MessageBuilder {
    let key = lab.key(template);
    let payload = json!({"deliveryId": key, "templateId": template, "userId": "user-1"});
    MessageBuilder::job(&key, "email.send", &key, payload).queue(lab.stack.email_queue())
}

fn event(messages: &[MessageBuilder]) -> Value {
    json!({"Records": messages.iter().map(MessageBuilder::to_json).collect::<Vec<_>>()})
}

fn failed(response: &Value) -> Vec<&str> {
    let failures = response["batchItemFailures"].as_array().expect("failures");
    failures.iter().filter_map(|failure| failure["itemIdentifier"].as_str()).collect()
}

#[test]
fn a_panic_fails_its_own_record_and_the_process_lives_on() {
    on_paused_stack(async |lab| {
        let function = start("trial-consumer", &settings(lab).await).await;
        let (bad, good) = (message(lab, "panic"), message(lab, "fine"));
        let first = function.invoke(&event(&[bad.clone(), good.clone()]), TEN_SECONDS).await;
        let response = first.response();
        assert_eq!(failed(&response), [bad.to_json()["messageId"].as_str().expect("an id")]);
        assert!(
            first.log_lines.iter().all(|line| !line.contains("user-1")),
            "a panic's text stays out of the log: {:?}",
            first.log_lines
        );
        assert!(first.log_lines.iter().any(|line| line.contains("handler_panicked")));
        let pid = function.pid();
        let second = function.invoke(&event(&[message(lab, "fine")]), TEN_SECONDS).await;
        assert_eq!(second.response(), json!({"batchItemFailures": []}));
        assert_eq!(function.pid(), pid);
    });
}

#[test]
fn a_handler_that_does_not_end_is_stopped_before_lambda_would_stop_the_process() {
    on_paused_stack(async |lab| {
        let function = start("trial-consumer", &settings(lab).await).await;
        let (endless, begun) = (message(lab, "sleep"), message(lab, "effect-then-sleep"));
        let invocation = function.invoke(&event(&[endless.clone(), begun.clone()]), Deadline::In(Duration::from_secs(3))).await;
        assert_eq!(failed(&invocation.response()).len(), 2);
        assert!(function.is_running());
        let record = lab.record(&endless.job_id().expect("an id")).await.expect("a record");
        assert_eq!(
            (record.status, record.last_error.expect("a reason").code),
            (Status::RetryScheduled, "handler_timed_out".into())
        );
        let record = lab.record(&begun.job_id().expect("an id")).await.expect("a record");
        assert_eq!(record.status, Status::InDoubt, "its effect had begun");
        let before = lab.aws.proxy().calls();
        function.idle().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let after = lab.aws.proxy().calls().since(&before);
        let ours = [endless.job_id(), begun.job_id()].map(|id| id.expect("an id"));
        let late: Vec<_> = ours.iter().flat_map(|id| after.about(id.as_str())).collect();
        assert!(late.is_empty(), "nothing runs on after the answer: {late:?}");
    });
}

#[test]
fn a_deadline_in_the_past_means_unknown_and_the_job_runs() {
    on_paused_stack(async |lab| {
        let function = start("trial-consumer", &settings(lab).await).await;
        let fine = message(lab, "fine");
        let invocation = function.invoke(&event(std::slice::from_ref(&fine)), Deadline::CARGO_LAMBDA_WATCH).await;
        assert_eq!(invocation.response(), json!({"batchItemFailures": []}));
        assert_eq!(lab.record(&fine.job_id().expect("an id")).await.expect("a record").status, Status::Succeeded);
    });
}

#[test]
fn a_job_that_kills_its_process_is_taken_over_last_and_alone() {
    on_paused_stack(async |lab| {
        let settings = settings(lab).await;
        let killer = message(lab, "abort");
        let function = start("trial-consumer", &settings).await;
        let crashed = function.invoke(&event(std::slice::from_ref(&killer)), Deadline::In(Duration::from_secs(2))).await;
        assert!(matches!(crashed.outcome, Outcome::Exited { .. }), "the process died: {:?}", crashed.outcome);
        let record = lab.record(&killer.job_id().expect("an id")).await.expect("a record");
        assert_eq!((record.status, record.attempts), (Status::Running, 1), "its lease is still there");

        let over = record.lease_until.expect("a lease");
        lab.eventually("the end of the lease", async || {
            (ikkai::clock::Clock::now(&ikkai::clock::SystemClock) > over).then_some(())
        })
        .await;
        let function = start("trial-consumer", &settings).await;
        let others = [message(lab, "fine"), killer.clone(), message(lab, "fine")];
        let invocation = function.invoke(&event(&others), TEN_SECONDS).await;
        assert_eq!(invocation.response(), json!({"batchItemFailures": []}));
        let order: Vec<String> =
            invocation.log().iter().filter_map(|line| line["message_id"].as_str().map(str::to_owned)).collect();
        assert_eq!(order.last().map(String::as_str), killer.to_json()["messageId"].as_str(), "it ran last: {order:?}");
        let record = lab.record(&killer.job_id().expect("an id")).await.expect("a record");
        assert_eq!((record.status, record.attempts, record.crashes), (Status::Succeeded, 2, 1));
    });
}

#[test]
fn an_event_of_another_kind_is_one_clear_error_and_the_next_batch_works() {
    on_paused_stack(async |lab| {
        let function = start("trial-consumer", &settings(lab).await).await;
        for (event, error_type) in [
            (json!({}), "Ikkai.NotAnSqsEvent"),
            (json!({"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}), "Ikkai.NotAnSqsEvent"),
            (json!({"Records": [{"eventSource": "aws:s3", "s3": {}}]}), "Ikkai.NotFromSqs"),
            (json!({"Records": [{"messageId": "", "body": "{}"}]}), "Ikkai.RecordWithoutId"),
        ] {
            let invocation = function.invoke(&event, TEN_SECONDS).await;
            assert_eq!(invocation.error()["errorType"], error_type);
        }
        let empty = function.invoke(&json!({"Records": []}), TEN_SECONDS).await;
        assert_eq!(empty.response(), json!({"batchItemFailures": []}));
        let odd = json!({"Records": [{"messageId": "odd", "body": null, "attributes": null, "messageAttributes": null}]});
        assert_eq!(failed(&function.invoke(&odd, TEN_SECONDS).await.response()), ["odd"]);
    });
}

#[test]
fn wrong_settings_are_all_named_and_the_function_does_not_start() {
    on_paused_stack(async |lab| {
        let mut settings = settings(lab).await;
        settings.remove("IKKAI_JOBS_TABLE");
        settings.insert("IKKAI_MAX_ATTEMPTS".into(), "many".into());
        settings.insert("IKKAI_EMAIL_FROM".into(), "not an address".into());
        let checkout = Checkout::find().expect("a checkout");
        let binary = build::binary(&checkout, "email-consumer", &Progress::silent()).await.expect("a binary");
        let error = FunctionProcess::start(binary, settings).await.err().expect("it does not start").to_string();
        for name in ["IKKAI_JOBS_TABLE", "IKKAI_MAX_ATTEMPTS", "IKKAI_EMAIL_FROM"] {
            assert!(error.contains(name), "{name} is named: {error}");
        }
    });
}

#[test]
fn the_first_batch_after_the_start_opens_no_connection_and_ten_jobs_log_little() {
    // A stack of its own, so that its calls can be told from those of other tests.
    on_stack("first-batch", &[("EmailConsumerEnabled", "false")], async |lab| {
        let function = start("email-consumer", &settings(lab).await).await;
        let messages: Vec<_> = (0..10).map(|_| message(lab, "welcome")).collect();
        let before = lab.aws.proxy().calls();
        let invocation = function.invoke(&event(&messages), TEN_SECONDS).await;
        assert_eq!(invocation.response(), json!({"batchItemFailures": []}));
        let calls = lab.aws.proxy().calls().since(&before);
        let ids: Vec<_> = messages.iter().map(|message| message.job_id().expect("an id")).collect();
        let targets = [lab.stack.jobs_table(), lab.stack.contacts_table(), lab.stack.email_queue()];
        let own = calls.calls.iter().filter(|call| {
            let on_stack = call.target.as_deref().is_some_and(|target| targets.contains(&target));
            on_stack || ids.iter().any(|id| calls.about(id.as_str()).any(|about| about.sequence == call.sequence))
        });
        let own: Vec<_> = own.collect();
        assert!(own.len() > 10 * 5, "claims, contacts, announcements, mails, settlements and one visibility call: {}", own.len());
        for call in own {
            assert!(call.connection < before.connections, "opened after the start: {call:?}");
        }

        let bytes = |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
        let ten = bytes(&invocation.log_lines);
        let single = function.invoke(&event(&[message(lab, "welcome")]), TEN_SECONDS).await;
        eprintln!("log and metric bytes a job: {} in a batch of ten, {} alone", ten / 10, bytes(&single.log_lines));
        assert!(ten <= 10 * 400, "{ten} bytes for ten jobs: {:#?}", invocation.log_lines);
        for line in invocation.log_lines.iter().chain(&single.log_lines) {
            assert!(!line.contains("ada@example.com") && !line.contains("Ada") && !line.contains("user-1"), "{line}");
        }
        for message in &messages {
            assert_eq!(lab.aws.proxy().effects_of(message.job_id().expect("an id").as_str()), 1);
        }
    });
}
