//! The commands of the page, one after the other.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::shell::Shell;

/// The commands of a section of the page, each in words as a shell would split them.
fn commands(section: &str) -> Vec<Vec<String>> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/deploy.md")).expect("the page");
    let (_, rest) = page.split_once(&format!("\n### {section}\n")).expect("the section");
    let section = rest.split("\n#").next().unwrap_or_default();
    let lines = section.lines().filter_map(|line| line.strip_prefix("    cargo ikkai "));
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_page_end_in_a_stack_that_the_doctor_finds_healthy_and_take_it_away_again() {
    let shell = Shell::open().await;
    let commands = commands("On a local engine");
    let verbs: Vec<&str> = commands.iter().map(|command| command[0].as_str()).collect();
    assert_eq!(verbs, ["local", "deploy", "doctor", "destroy"]);

    let deploy: Vec<&str> = commands[1].iter().map(String::as_str).collect();
    let first = shell.done(&deploy);
    assert!(first.contains("EmailQueue") && first.contains("add ") && first.contains("API  http"), "{first}");
    let doctor: Vec<&str> = commands[2].iter().map(String::as_str).chain(["--output", "json"]).collect();
    let report: Value = serde_json::from_str(&shell.done(&doctor)).expect("JSON");
    assert_eq!(report["counts"]["error"], 0, "{report}");
    assert_eq!(report["counts"]["warning"], 0, "{report}");

    // The same again changes nothing.
    let again: Value = serde_json::from_str(&shell.done(&[&deploy[..], &["--output", "json"]].concat())).expect("JSON");
    assert_eq!(again["stacks"][0]["changes"], serde_json::json!([]), "{again}");

    // What would change is shown, and nothing changes; what is not given stays.
    let dry =
        ["deploy", "--stack", "first", "--profile", "local", "--parameter", "EmailBatchSize=5", "--dry-run", "--output", "json"];
    let told: Value = serde_json::from_str(&shell.done(&dry)).expect("JSON");
    assert_eq!(told["executed"], false);
    let changed = told["stacks"][0]["changes"].as_array().expect("changes");
    let resources: Vec<_> = changed.iter().map(|change| change["resource"].as_str().unwrap_or_default()).collect();
    assert_eq!(resources, ["EmailConsumerFunctionEmailQueue"], "{told}");

    // A queue with a message in it is not thrown away.
    let sqs = aws_sdk_sqs::Client::new(&shell.config());
    let queue = sqs.get_queue_url().queue_name("first-email-dlq").send().await.expect("a queue").queue_url.expect("a URL");
    sqs.send_message().queue_url(&queue).message_body("kept").send().await.expect("the queue takes it");
    let said = shell.refused(&["destroy", "--stack", "first", "--yes"], 1);
    assert!(said.contains("first-email-dlq holds 1 messages") && said.contains("--discard-messages"), "{said}");

    let left = shell.done(&["destroy", "--stack", "first", "--yes", "--discard-messages"]);
    assert!(left.contains("first-jobs") && shell.tables().await.contains(&"first-jobs".to_owned()), "{left}");

    // The names of what is left are taken, so the last command of the page is tried on another stack.
    let other = |words: &[String]| words.iter().map(|word| word.replace("first", "third")).collect::<Vec<_>>();
    let (deploy, destroy) = (other(&commands[1]), other(&commands[3]));
    shell.done(&deploy.iter().map(String::as_str).collect::<Vec<_>>());
    until_empty(&sqs, "third-image").await;
    let gone = shell.done(&destroy.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(gone.contains("and its data are gone"), "{gone}");
    assert!(!shell.tables().await.iter().any(|table| table.starts_with("third-")));
}

/// Waits until the queue has no message: a new bucket tells its queue of itself, and a queue with a message is not thrown away.
async fn until_empty(sqs: &aws_sdk_sqs::Client, queue: &str) {
    use aws_sdk_sqs::types::QueueAttributeName::{ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible};

    let url = sqs.get_queue_url().queue_name(queue).send().await.expect("a queue").queue_url.expect("a URL");
    let asked = Instant::now();
    loop {
        let counts = [ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible];
        let told = sqs.get_queue_attributes().queue_url(&url).set_attribute_names(Some(counts.into())).send().await;
        let told = told.expect("the queue tells").attributes.unwrap_or_default();
        if told.len() == 2 && told.values().all(|count| count == "0") {
            return;
        }
        assert!(asked.elapsed() < Duration::from_secs(90), "{queue} is worked off: {told:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_deployed_is_refused_before_anything_is_built() {
    let shell = Shell::open().await;
    let deploy = |more: &[&'static str]| [&["deploy", "--stack", "second", "--yes", "--profile", "local"], more].concat();
    let said = shell.refused(&deploy(&[]), 1);
    assert!(said.contains("`EmailFrom` has no default") && said.contains("--parameter EmailFrom=mail@example.com"), "{said}");
    let said = shell.refused(&deploy(&["--parameter", "EmailForm=x"]), 1);
    assert!(said.contains("no parameter `EmailForm`"), "{said}");
    let said = shell.refused(&deploy(&["--parameter", "EmailFrom"]), 2);
    assert!(said.contains("NAME=VALUE"), "{said}");
    let said =
        shell.refused(&["deploy", "--stack", "Second", "--yes", "--profile", "local", "--parameter", "EmailFrom=a@b.example"], 1);
    assert!(said.contains("`Second` cannot be the name of a stack"), "{said}");
    let said = shell.refused(&["deploy", "--stack", "second"], 2);
    assert!(said.contains("--yes"), "{said}");
    let said = shell.refused(&["destroy", "--stack", "second", "--yes"], 1);
    assert!(said.contains("no stack `second`"), "{said}");
    let said = shell.refused(&["destroy", "--stack", "ikkai", "--with-data", "--confirm", "ikka"], 2);
    assert!(said.contains("is not the stack `ikkai`"), "{said}");
}
