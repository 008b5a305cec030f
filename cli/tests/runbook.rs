//! The runbook says what the commands and the operators' function understand.

use std::path::Path;

use clap::Parser;
use dlq_redrive::protocol::Request;
use ikkai_cli::command::Ikkai;
use serde_json::Value;

/// A line of a code block, as a shell takes it: words, with single and double quotes.
type Words = Vec<String>;

fn code_lines() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/runbook.md");
    let text = std::fs::read_to_string(path).unwrap();
    // Code blocks are indented, and further so below an item of a list.
    let code = text.lines().filter(|line| line.starts_with("    ")).map(str::trim_start);
    code.map(ToOwned::to_owned).collect()
}

fn words(line: &str) -> Words {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (None, '#') if word.is_none() => break,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), letter) if open == letter => quote = None,
            (None, ' ') => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn every_command_of_the_runbook_can_be_typed() {
    let commands: Vec<Words> = code_lines().iter().filter(|line| line.starts_with("ikkai ")).map(|line| words(line)).collect();
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        let parsed = Ikkai::try_parse_from(&command);
        assert!(parsed.is_ok(), "{command:?}: {}", parsed.unwrap_err());
    }
}

#[test]
fn every_request_of_the_runbook_is_understood() {
    let requests: Vec<Words> = code_lines().iter().filter(|line| line.starts_with("redrive '")).map(|line| words(line)).collect();
    assert!(requests.len() > 12, "{requests:?}");
    let mut actions = std::collections::BTreeSet::new();
    for request in requests {
        let json: Value = serde_json::from_str(&request[1]).unwrap_or_else(|error| panic!("{}: {error}", request[1]));
        let read = Request::read(json).unwrap_or_else(|refusal| panic!("{}: {refusal}", request[1]));
        actions.insert(read.action().as_str());
    }
    let all = ["discard", "history", "inspect", "list", "moveTask", "redrive", "resolve", "status"];
    assert_eq!(Vec::from_iter(actions), all);
}

#[test]
fn commands_in_the_text_can_be_typed_too() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/runbook.md");
    let text = std::fs::read_to_string(path).unwrap();
    let spans = text.split('`').skip(1).step_by(2).filter(|span| span.starts_with("ikkai ") && !span.contains('\n'));
    for span in spans {
        // A command that is only named has its required options left out; what it is called has to be right.
        if let Err(error) = Ikkai::try_parse_from(words(span)) {
            use clap::error::ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, MissingRequiredArgument};
            assert!(
                matches!(error.kind(), MissingRequiredArgument | DisplayHelpOnMissingArgumentOrSubcommand),
                "{span}: {error}"
            );
        }
    }
}

#[test]
fn what_the_text_points_to_is_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let text = std::fs::read_to_string(folder.join("runbook.md")).unwrap();
    for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|link| !link.starts_with("http")) {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = if file.is_empty() { text.clone() } else { std::fs::read_to_string(folder.join(file)).expect(link) };
        let anchors = target.lines().filter(|line| line.starts_with('#')).map(anchor_of);
        assert!(anchor.is_empty() || anchors.into_iter().any(|found| found == anchor), "{link} leads nowhere");
    }
}

/// The anchor that a Markdown heading gets.
fn anchor_of(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}
