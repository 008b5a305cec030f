//! The schema files are the ones that the types make, and the examples are requests.

use std::path::{Path, PathBuf};

use dlq_redrive::protocol::{Action, Request, VERSION, answer_schema, request_schema};
use serde_json::{Value, json};

/// Set to write the schema files anew instead of comparing them.
const UPDATE_VARIABLE: &str = "IKKAI_UPDATE_SCHEMAS";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn the_schema_files_are_the_ones_that_the_types_make() {
    for (name, schema) in [("request", request_schema()), ("answer", answer_schema())] {
        let file = format!("{name}.v{VERSION}.json");
        let path = folder("schemas").join(&file);
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).expect("a schema is JSON"));
        if std::env::var_os(UPDATE_VARIABLE).is_some() {
            std::fs::write(&path, &text).expect("the schema file is writable");
        }
        let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            checked_in, text,
            "schemas/{file} is not what the types say now.\nIf the change is meant and only adds: run\n    {UPDATE_VARIABLE}=1 cargo test --test \
             schemas"
        );
    }
}

#[test]
fn every_example_is_a_request_and_every_action_has_one() {
    let schema = jsonschema::validator_for(&request_schema()).expect("a schema");
    let mut shown = Vec::new();
    for file in std::fs::read_dir(folder("events")).expect("examples") {
        let path = file.expect("an example").path();
        let example: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("a text")).expect("JSON");
        schema.validate(&example).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let request = Request::read(example.clone()).unwrap_or_else(|refusal| panic!("{}: {refusal}", path.display()));
        shown.push(request.action());
        // Nothing of the example is lost on the way through the types.
        let read = request.to_json();
        for (name, value) in example.as_object().expect("an object") {
            assert_eq!(&read[name], value, "{}: {name}", path.display());
        }
    }
    for action in Action::ALL {
        assert!(shown.contains(&action), "{}", action.as_str());
    }
}

#[test]
fn schema_and_types_agree_on_every_member() {
    let schema = jsonschema::validator_for(&request_schema()).expect("a schema");
    let samples = [json!(null), json!(true), json!(-1), json!("text"), json!([]), json!(["a"]), json!({}), json!({"x": 1})];
    let mut verdicts = [0, 0];
    for file in std::fs::read_dir(folder("events")).expect("examples") {
        let text = std::fs::read_to_string(file.expect("an example").path()).expect("a text");
        let example: Value = serde_json::from_str(&text).expect("JSON");
        let names: Vec<_> = example.as_object().expect("an object").keys().cloned().chain(["another".to_owned()]).collect();
        for name in &names {
            let mut changed: Vec<_> = samples.iter().map(|sample| with(&example, name, Some(sample))).collect();
            changed.push(with(&example, name, None));
            for request in changed {
                let by_type = Request::read(request.clone());
                assert_eq!(schema.is_valid(&request), by_type.is_ok(), "{request}: {by_type:?}");
                verdicts[usize::from(by_type.is_ok())] += 1;
            }
        }
    }
    assert!(verdicts[0] > 50 && verdicts[1] > 5, "{verdicts:?}");
}

fn with(request: &Value, name: &str, value: Option<&Value>) -> Value {
    let mut members = request.as_object().expect("an object").clone();
    match value {
        Some(value) => members.insert(name.to_owned(), value.clone()),
        None => members.remove(name),
    };
    Value::Object(members)
}
