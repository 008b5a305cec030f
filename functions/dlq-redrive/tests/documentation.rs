//! The page says what is so: its requests are requests, its answers are answers, and its tables leave nothing out.

use dlq_redrive::protocol::{Action, Answer, Request, answer_schema, request_schema};
use ikkai::job::JobId;
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/redrive.md");

/// The page's JSON documents, in order.
fn documents() -> Vec<Value> {
    let blocks = PAGE.split("```json\n").skip(1).map(|rest| rest.split_once("\n```").expect("the block ends").0);
    blocks.map(|block| serde_json::from_str(block).unwrap_or_else(|error| panic!("{error}: {block}"))).collect()
}

#[test]
fn every_action_is_shown_with_a_request_and_the_answer_to_it() {
    let requests = jsonschema::validator_for(&request_schema()).expect("a schema");
    let answers = jsonschema::validator_for(&answer_schema()).expect("a schema");
    let (mut asked, mut shown) = (None, Vec::new());
    for document in documents() {
        if document.get("ok").is_none() {
            requests.validate(&document).unwrap_or_else(|error| panic!("{error}: {document}"));
            let request = Request::read(document.clone()).unwrap_or_else(|refusal| panic!("{refusal}: {document}"));
            asked = Some(request.action());
            continue;
        }
        answers.validate(&document).unwrap_or_else(|error| panic!("{error}: {document}"));
        let answer = Answer::read(document.clone()).expect("an answer");
        assert_eq!(answer.to_json(), document, "the answer as the function writes it");
        if answer.is_ok() {
            assert_eq!(answer.action(), asked.take(), "{document}");
            shown.extend(answer.action());
        }
    }
    assert_eq!(
        shown,
        [
            Action::Status,
            Action::List,
            Action::Inspect,
            Action::Redrive,
            Action::MoveTask,
            Action::Discard,
            Action::Resolve,
            Action::Cancel,
            Action::History
        ]
    );
}

#[test]
fn the_ids_on_the_page_are_ids_of_jobs() {
    let text = PAGE.split(|letter: char| !letter.is_ascii_alphanumeric() && !"-.".contains(letter));
    let ids: Vec<_> = text.filter(|word| word.contains("email.send-") || word.contains("billing.charge-")).collect();
    assert!(ids.len() > 5);
    for id in ids {
        JobId::parse_stored(id).unwrap_or_else(|error| panic!("{id}: {error}"));
    }
}

#[test]
fn every_verdict_every_reason_and_every_stop_is_explained() {
    let schema = answer_schema();
    for name in ["VerdictCode", "RefusalCode", "Stopped"] {
        let definition = &schema["$defs"][name];
        let variants = definition["oneOf"].as_array().unwrap_or_else(|| panic!("{name}: {definition}"));
        assert!(variants.len() >= 5, "{name}");
        for variant in variants {
            let code = variant["const"].as_str().expect("a name");
            assert!(PAGE.contains(&format!("`{code}`")), "{name}: {code}");
        }
    }
}

#[test]
fn every_member_of_a_request_is_named() {
    let schema = request_schema();
    let mut objects = schema["oneOf"].as_array().expect("actions").clone();
    objects.push(schema["$defs"]["Filter"].clone());
    for object in objects {
        for name in object["properties"].as_object().expect("members").keys() {
            assert!(
                PAGE.contains(&format!("`{name}`"))
                    || PAGE.contains(&format!("\"{name}\""))
                    || PAGE.contains(&format!("`{name}:")),
                "{name}"
            );
        }
    }
}

#[test]
fn every_setting_is_named() {
    let source = include_str!("../src/settings.rs");
    let names =
        source.split(|letter: char| !letter.is_ascii_uppercase() && letter != '_').filter(|word| word.starts_with("IKKAI_"));
    let names: std::collections::BTreeSet<_> = names.collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
}
