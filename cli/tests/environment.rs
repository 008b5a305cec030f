//! The local environment on the real engine, with a stand-in for the function binaries.

use std::collections::BTreeMap;
use std::path::Path;

use ikkai_cli::local::build::{FUNCTIONS, Package};
use ikkai_cli::local::engine::EngineKind;
use ikkai_cli::local::environment::{LocalAws, LocalError, Options};
use ikkai_cli::local::process;
use ikkai_cli::local::proxy::Ending;

fn stand_ins() -> Vec<Package> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in.py");
    FUNCTIONS.iter().map(|name| Package::of(name, &script).unwrap()).collect()
}

async fn start(options: Options) -> Result<LocalAws, LocalError> {
    let engine = EngineKind::from_environment().unwrap();
    // The consumer stays off: the stand-in knows nothing of batches.
    LocalAws::start(options.engine(engine).packages(stand_ins()).parameter("EmailConsumerEnabled", "false")).await
}

#[tokio::test]
async fn a_stack_serves_its_api_through_the_proxy_and_leaves_nothing_running() {
    let local = start(Options::new("test-environment")).await.unwrap();
    let answer = local.stack().api("alice").unwrap().post_job("k1", &serde_json::json!({"type": "email.send"})).await.unwrap();
    assert_eq!(answer.status(), 200, "{answer:?}");
    let seen: serde_json::Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(seen["endpoint"], local.proxy().url());
    assert_eq!(seen["path"], "/v1/jobs");
    assert_eq!(seen["body"], r#"{"type":"email.send"}"#);
    assert!(seen["authorization"].as_str().unwrap().contains("Credential=alice/"), "{seen}");
    assert!(seen["tables"].as_array().unwrap().iter().any(|table| table == local.stack().jobs_table()), "{seen}");
    assert!(
        seen["home"].as_str().unwrap().contains("/.ikkai/test-environment"),
        "the user's own AWS files are out of reach: {seen}"
    );

    let calls = local.proxy().calls();
    assert_eq!((calls.count("dynamodb.ListTables"), calls.connections), (1, 1), "only the function's call passes the proxy");
    assert_eq!(calls.calls[0].ending, Ending::Forwarded(200));

    let contacts = aws_sdk_dynamodb::Client::new(&local.sdk_config()).scan().table_name(local.stack().contacts_table());
    assert!(contacts.send().await.unwrap().count() >= 6);
    assert_eq!(local.stack().queue_counts(local.stack().email_queue()).await.unwrap().all(), 0);
    assert!(local.mails().await.unwrap().is_empty());

    let other = local.deploy("other", &BTreeMap::from([("EmailConsumerEnabled".into(), "false".into())])).await.unwrap();
    assert_ne!(other.jobs_table(), local.stack().jobs_table());

    let workers = local.function_processes(local.stack().producer());
    assert_eq!(workers.len(), 1);
    assert_eq!(local.function_processes(other.producer()), [] as [i32; 0]);
    assert_eq!(local.kill_function(local.stack().producer()), 1);
    let answer = local.stack().api("alice").unwrap().job("j").await.unwrap();
    assert_eq!(answer.status(), 200, "a new process takes the next call: {answer:?}");

    let group = local.engine_pid();
    if local.engine_address().kind == EngineKind::Localstack {
        let has_database = process::members(group).iter().any(|member| member.command.contains("dynamodb_local"));
        assert!(has_database, "what ends the engine ends its database: {:?}", process::members(group));
    }
    local.stop().await;
    assert_eq!(process::members(group), []);
    assert!(!process::is_alive(group));
}

#[tokio::test]
async fn a_stack_that_fails_names_the_resource_and_the_reason_and_stops_everything() {
    let error = start(Options::new("test-failure").parameter("EmailFunctionTimeoutSeconds", "7")).await.unwrap_err().to_string();
    assert!(error.contains("7") || error.contains("EmailFunctionTimeoutSeconds"), "{error}");
}
