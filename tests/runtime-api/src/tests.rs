//! Tests of the fake itself, with a child that does what its events say.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::*;

const LONG: Deadline = Deadline::In(Duration::from_secs(60));
const NO_VARIABLES: [(&str, &str); 0] = [];

fn child() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/children/function.py")
}

async fn start() -> FunctionProcess {
    FunctionProcess::start(child(), NO_VARIABLES).await.expect("the child starts")
}

fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since_1970.as_millis()).expect("not that late")
}

#[tokio::test]
async fn a_function_gets_its_event_with_lambdas_headers_and_its_answer_comes_back() {
    let function = start().await;
    let before = now_ms();
    let event = Event::new(json!({"do": "echo"}).to_string(), LONG).with_trace("Root=1-5759e988-bd862e3fe1be46a994272793");
    let invocation = function.invoke_event(event).await;
    let response = invocation.response();
    assert_eq!(response["event"], json!({"do": "echo"}));
    let headers = &response["headers"];
    assert_eq!(headers["lambda-runtime-aws-request-id"], invocation.request_id.as_str());
    assert_eq!(headers["lambda-runtime-trace-id"], "Root=1-5759e988-bd862e3fe1be46a994272793");
    assert!(headers["lambda-runtime-invoked-function-arn"].as_str().is_some_and(|arn| arn.starts_with("arn:aws:lambda:")));
    let deadline: u64 = headers["lambda-runtime-deadline-ms"].as_str().expect("a header").parse().expect("a number");
    assert!((before + 60_000..=now_ms() + 60_000).contains(&deadline), "{deadline}");
}

#[tokio::test]
async fn the_function_sees_lambdas_environment_and_nothing_of_the_testers() {
    let function =
        FunctionProcess::start(child(), [("IKKAI_JOBS_TABLE", "jobs"), ("AWS_REGION", "eu-west-1")]).await.expect("it starts");
    let environment = function.invoke(&json!({}), LONG).await.response()["environment"].clone();
    assert_eq!(environment["IKKAI_JOBS_TABLE"], "jobs");
    assert_eq!(environment["AWS_REGION"], "eu-west-1");
    assert_eq!(environment["AWS_LAMBDA_FUNCTION_NAME"], "function");
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "cargo sets it for tests");
    assert_eq!(environment.get("CARGO_MANIFEST_DIR"), None);
}

#[tokio::test]
async fn fixed_and_missing_deadlines_are_passed_on_as_they_are() {
    let function = start().await;
    let fixed = function.invoke(&json!({}), Deadline::CARGO_LAMBDA_WATCH).await.response();
    assert_eq!(fixed["headers"]["lambda-runtime-deadline-ms"], "600000");
    let missing = function.invoke(&json!({}), Deadline::Missing).await.response();
    assert_eq!(missing["headers"].get("lambda-runtime-deadline-ms"), None);
}

#[tokio::test]
async fn an_error_is_reported_with_its_kind_and_the_process_goes_on() {
    let function = start().await;
    let failed = function.invoke(&json!({"do": "fail"}), LONG).await;
    assert_eq!(failed.error()["errorType"], "Deliberate");
    assert!(matches!(&failed.outcome, Outcome::Error { kind: Some(kind), .. } if kind == "Unhandled"));
    assert_eq!(function.invoke(&json!({"n": 2}), LONG).await.response()["event"]["n"], 2);
    assert!(function.is_running());
}

#[tokio::test]
async fn log_lines_belong_to_the_invocation_that_wrote_them() {
    let function = start().await;
    assert_eq!(function.stdout_lines(), ["starting"]);
    assert_eq!(function.stderr(), "to standard error\n");
    let first = function.invoke(&json!({"do": "log", "lines": ["{\"a\":1}", "{\"a\":2}"]}), LONG).await;
    assert_eq!(first.log_lines, ["{\"a\":1}", "{\"a\":2}"]);
    assert_eq!(first.log(), [json!({"a": 1}), json!({"a": 2})]);
    let second = function.invoke(&json!({}), LONG).await;
    assert!(second.log_lines.is_empty(), "{:?}", second.log_lines);
}

#[tokio::test]
async fn what_is_written_after_the_answer_is_seen_once_the_function_is_idle() {
    let function = start().await;
    let invocation = function.invoke(&json!({"do": "log late"}), LONG).await;
    assert!(matches!(invocation.outcome, Outcome::Response(_)), "{:?}", invocation.outcome);
    function.idle().await;
    assert_eq!(function.stdout_lines(), ["starting", "after the answer"]);
}

#[tokio::test]
async fn an_answer_that_is_not_json_is_kept_as_bytes() {
    let function = start().await;
    let invocation = function.invoke(&json!({"do": "text", "text": "plain"}), LONG).await;
    assert_eq!(invocation.outcome, Outcome::Response("plain".into()));
}

#[tokio::test]
async fn an_answer_to_an_unknown_invocation_is_refused() {
    let function = start().await;
    assert_eq!(function.invoke(&json!({"do": "answer for another"}), LONG).await.log_lines, ["400"]);
}

#[tokio::test]
async fn a_process_that_ends_in_an_invocation_is_an_outcome() {
    let function = start().await;
    let invocation = function.invoke(&json!({"do": "exit", "code": 7}), LONG).await;
    assert!(matches!(invocation.outcome, Outcome::Exited(status) if status.code() == Some(7)), "{:?}", invocation.outcome);
    assert!(!function.is_running());
    let next = function.invoke(&json!({}), LONG).await;
    assert!(matches!(next.outcome, Outcome::Exited(_)), "{:?}", next.outcome);
}

#[tokio::test]
async fn a_function_that_misses_its_deadline_is_killed() {
    let function = start().await;
    let limit = Duration::from_millis(300);
    let invocation = function.invoke(&json!({"do": "hang"}), Deadline::In(limit)).await;
    assert_eq!(invocation.outcome, Outcome::TimedOut);
    assert_eq!(invocation.log_lines, ["hanging"]);
    assert!(invocation.duration >= limit, "{:?}", invocation.duration);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&function.exited().await), Some(9));
}

#[tokio::test]
async fn a_killed_process_fails_the_invocation_it_was_working_on() {
    let function = start().await;
    let event = json!({"do": "hang"});
    let hanging = function.invoke(&event, LONG);
    let kill = async {
        until(|| function.stdout_lines().contains(&"hanging".to_owned())).await;
        function.kill().await
    };
    let (invocation, status) = tokio::join!(hanging, kill);
    assert_eq!(invocation.outcome, Outcome::Exited(status));
    assert_eq!(function.kill().await, status, "killing the dead changes nothing");
}

#[tokio::test]
async fn dropping_a_function_kills_its_process() {
    let function = start().await;
    let process_folder = PathBuf::from(format!("/proc/{}", function.pid()));
    let event = json!({"do": "hang"});
    // Hanging, it does not notice that its runtime API went away, which would end it too.
    tokio::select! {
        invocation = function.invoke(&event, LONG) => panic!("it hangs: {invocation:?}"),
        () = until(|| function.stdout_lines().contains(&"hanging".to_owned())) => {}
    }
    assert!(is_running(&process_folder));
    drop(function);
    until(|| !is_running(&process_folder)).await;
}

/// Waits for something that tells nobody when it happens. The limit is only there so that a mistake fails instead of hanging.
async fn until(happened: impl Fn() -> bool) {
    let wait = async {
        while !happened() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it happens");
}

/// Whether the process of this folder of /proc runs; one that has ended and was not yet asked for its status does not.
fn is_running(folder: &Path) -> bool {
    fs::read_to_string(folder.join("stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn init_time_and_memory_are_measured() {
    let function = start().await;
    let memory = function.memory().expect("it runs");
    assert!(memory.resident_bytes > 1_000_000, "an interpreter needs more than a megabyte: {memory:?}");
    assert!(function.init_duration() > Duration::from_millis(1), "{:?}", function.init_duration());
    function.kill().await;
    assert!(function.memory().is_err());
}

#[tokio::test]
async fn a_function_that_reports_an_error_in_init_does_not_start() {
    let error = FunctionProcess::start(child(), [("MODE", "report in init")]).await.err().expect("an error");
    assert!(matches!(&error, StartError::InitError { .. }), "{error}");
    assert!(error.to_string().contains("no table"), "{error}");
    assert!(error.to_string().contains("to standard error"), "{error}");
}

#[tokio::test]
async fn a_function_that_ends_in_init_does_not_start() {
    let error = FunctionProcess::start(child(), [("MODE", "exit in init")]).await.err().expect("an error");
    assert!(matches!(&error, StartError::Exited { status, .. } if status.code() == Some(3)), "{error}");
}

#[tokio::test]
async fn a_binary_that_does_not_exist_is_named() {
    let error = FunctionProcess::start("no/such/binary", NO_VARIABLES).await.err().expect("an error");
    assert_eq!(error.to_string(), "function no/such/binary cannot be started");
}
