//! `ikkai local check` from outside, against an engine of its own: what it measures, whom it lets into an account, what it leaves.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ikkai_cli::local::check::{FreshEngine, all, local_config};
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::engine::EngineKind;
use ikkai_cli::local::process;
use ikkai_cli::progress::Progress;
use serde_json::Value;

/// The account that the engine plays.
const ACCOUNT: &str = "000000000000";

async fn engine() -> FreshEngine {
    let checkout = Checkout::around(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    FreshEngine::start(EngineKind::default(), &checkout, &Progress::silent()).await.unwrap()
}

fn check(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ikkai"));
    command.args(["local", "check"]).args(arguments).env_remove("CI").stdin(Stdio::null());
    command
}

/// As on a machine whose AWS settings lead to the engine.
fn check_account(endpoint: &str, arguments: &[&str]) -> Command {
    let mut command = check(&[&["--engine", "aws", "--region", "us-east-1"], arguments].concat());
    command
        .env("AWS_ENDPOINT_URL", endpoint)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env_remove("AWS_PROFILE")
        .env("AWS_CONFIG_FILE", "/nonexistent")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent");
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Everything on the engine that bears the prefix of a check.
async fn left_behind(endpoint: &str) -> Vec<String> {
    let config = local_config(endpoint);
    let queues = aws_sdk_sqs::Client::new(&config).list_queues().send().await.unwrap().queue_urls.unwrap_or_default();
    let tables = aws_sdk_dynamodb::Client::new(&config).list_tables().send().await.unwrap().table_names.unwrap_or_default();
    let s3 = aws_sdk_s3::config::Builder::from(&config).force_path_style(true).build();
    let buckets = aws_sdk_s3::Client::from_conf(s3).list_buckets().send().await.unwrap().buckets.unwrap_or_default();
    let buckets = buckets.into_iter().filter_map(|bucket| bucket.name);
    queues.into_iter().chain(tables).chain(buckets).filter(|name| name.contains("ikkai-check-")).collect()
}

#[tokio::test]
async fn an_engine_is_measured_and_nothing_of_it_is_left() {
    let engine = engine().await;
    let url = engine.endpoint();
    let probes = "conditional-race,visibility-limit,redrive-policy,s3-key-encoding";
    let output = check(&["--endpoint", &url, "--only", probes, "--output", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["engine"], "ministack");
    assert!(record["version"].as_str().unwrap().starts_with(|first: char| first.is_ascii_digit()), "{record}");
    let measured = record["probes"].as_array().unwrap();
    let names: Vec<_> = measured.iter().map(|probe| probe["probe"].as_str().unwrap()).collect();
    let wanted: Vec<_> = all().iter().map(|probe| probe.id).filter(|id| probes.split(',').any(|name| name == *id)).collect();
    assert_eq!(names, wanted);
    for probe in measured {
        // MiniStack takes any visibility timeout.
        let expected = if probe["probe"] == "visibility-limit" { "differs" } else { "as-aws" };
        assert_eq!(probe["verdict"], expected, "{probe}");
        assert!(!probe["aws"].as_str().unwrap().is_empty() && !probe["seen"].as_str().unwrap().is_empty(), "{probe}");
    }
    assert!(record["calls"]["SQS"].as_u64().unwrap() > 5 && record["made"]["table"] == 1, "{record}");
    assert_eq!(left_behind(&url).await, [] as [String; 0]);
}

#[tokio::test]
async fn an_interrupted_check_removes_what_it_has_made() {
    let engine = engine().await;
    let url = engine.endpoint();
    // These take seconds, because they wait for visibility timeouts.
    let running = check(&["--endpoint", &url, "--only", "change-visibility,visibility-timeout,delay-seconds"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while left_behind(&url).await.is_empty() {
        assert!(started.elapsed() < Duration::from_secs(30), "the check makes queues");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    process::terminate(i32::try_from(running.id()).unwrap());
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    assert!(text(&output).contains("interrupted"), "{}", text(&output));
    assert_eq!(left_behind(&url).await, [] as [String; 0]);
}

#[tokio::test]
async fn an_account_is_measured_only_when_it_is_the_one_that_was_named_and_after_a_yes() {
    let engine = engine().await;
    let url = engine.endpoint();
    let only = ["--only", "conditional-race"];
    let refused = |arguments: &[&str], ci: bool, code: i32, words: &[&str]| {
        let mut command = check_account(&url, &[arguments, &only].concat());
        if ci {
            command.env("CI", "true");
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        for word in words {
            assert!(text(&output).contains(word), "no `{word}` in {}", text(&output));
        }
    };
    refused(&["--account", "123456789012", "--yes"], false, 1, &["123456789012", ACCOUNT, "nothing was done"]);
    refused(&["--account", ACCOUNT], true, 1, &["CI", "--yes"]);
    refused(&["--account", ACCOUNT], false, 2, &["ikkai-check-", "--yes"]);
    refused(&["--account", "1234"], false, 2, &["12 digits"]);
    refused(&[], false, 2, &["--account"]);
    assert_eq!(left_behind(&url).await, [] as [String; 0]);

    let output =
        check_account(&url, &[&["--account", ACCOUNT, "--yes", "--output", "json"], &only[..]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&record["engine"], &record["probes"][0]["verdict"]), (&"aws".into(), &"as-aws".into()), "{record}");
    assert!(text(&output).contains("removes them when it ends"), "{}", text(&output));
}

#[test]
fn what_cannot_be_measured_is_said_before_anything_starts() {
    let output = check(&["--only", "conditional-rase"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("conditional-race"), "the nearest name: {}", text(&output));
    let output = check(&["--endpoint", "http://127.0.0.1:1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("nothing answers"), "{}", text(&output));
    let output = check(&["--account", ACCOUNT, "--region", "us-east-1"]).output().unwrap();
    assert!(text(&output).contains("--engine aws"), "{}", text(&output));
}
