//! The JSON Schemas of requests and answers, made from their types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::VERSION;
use super::changes::{Cancel, Discard, MoveTaskRequest, Redrive, Resolve};
use super::error::Refusal;
use super::found::{Cancelled, Inspection, ListAnswer, Resolved};
use super::looks::{HistoryRequest, Inspect, List, StatusRequest};
use super::queue_status::{MoveTaskAnswer, StatusAnswer};
use super::request::Action;
use super::run::{DiscardAnswer, History, RedriveAnswer};

/// Of a request, of any action.
#[must_use]
pub fn request_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let actions = Action::ALL.map(|action| request_of(action, &mut generator));
    document("What Ikkai's operators' function is asked.", &actions, generator)
}

/// Of an answer, to any action. Newer functions may add members.
#[must_use]
pub fn answer_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut answers: Vec<_> = Action::ALL.iter().map(|action| answer_to(*action, &mut generator)).collect();
    answers.push(refused(&mut generator));
    document("What Ikkai's operators' function answers.", &answers, generator)
}

fn document(description: &str, variants: &[Value], mut generator: SchemaGenerator) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": description,
        "oneOf": variants,
        "$defs": generator.take_definitions(true),
    })
}

/// The action's own members stand beside `action` and `version`, and no others do.
fn request_of(action: Action, generator: &mut SchemaGenerator) -> Value {
    let schema = match action {
        Action::Status => StatusRequest::json_schema(generator),
        Action::List => List::json_schema(generator),
        Action::Inspect => Inspect::json_schema(generator),
        Action::Redrive => Redrive::json_schema(generator),
        Action::MoveTask => MoveTaskRequest::json_schema(generator),
        Action::Discard => Discard::json_schema(generator),
        Action::Resolve => Resolve::json_schema(generator),
        Action::Cancel => Cancel::json_schema(generator),
        Action::History => HistoryRequest::json_schema(generator),
    };
    let mut schema = schema.to_value();
    schema["properties"]["action"] = json!({"const": action.as_str()});
    schema["properties"]["version"] =
        json!({"const": VERSION, "description": "The version of the request; the newest unless it is given."});
    let mut required = vec![json!("action")];
    required.extend(schema["required"].as_array().cloned().unwrap_or_default());
    schema["required"] = Value::Array(required);
    schema["title"] = json!(action.as_str());
    schema
}

fn answer_to(action: Action, generator: &mut SchemaGenerator) -> Value {
    let body = match action {
        Action::Status => of::<StatusAnswer>(generator),
        Action::List => of::<ListAnswer>(generator),
        Action::Inspect => of::<Inspection>(generator),
        Action::Redrive => of::<RedriveAnswer>(generator),
        Action::MoveTask => of::<MoveTaskAnswer>(generator),
        Action::Discard => of::<DiscardAnswer>(generator),
        Action::Resolve => of::<Resolved>(generator),
        Action::Cancel => of::<Cancelled>(generator),
        Action::History => of::<History>(generator),
    };
    let ok = "Whether everything was done that was asked for. What was left on purpose is no failure; what failed is.";
    let mut members = Map::from_iter([
        ("version".to_owned(), json!({"const": VERSION})),
        ("action".to_owned(), json!({"const": action.as_str()})),
        ("ok".to_owned(), json!({"type": "boolean", "description": ok})),
    ]);
    // Only an answer about messages can have failed in part.
    if !matches!(action, Action::Redrive | Action::Discard) {
        members.insert("ok".to_owned(), json!({"const": true}));
    }
    json!({
        "title": action.as_str(),
        "allOf": [body],
        "type": "object",
        "properties": members,
        "required": ["version", "action", "ok"],
        "not": {"required": ["error"]},
    })
}

fn refused(generator: &mut SchemaGenerator) -> Value {
    json!({
        "title": "refused",
        "description": "Nothing was done. `action` is missing where the request named none that is known.",
        "type": "object",
        "properties": {
            "version": {"const": VERSION},
            "action": of::<Action>(generator),
            "ok": {"const": false},
            "error": of::<Refusal>(generator),
        },
        "required": ["version", "ok", "error"],
    })
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let schema: Schema = generator.subschema_for::<T>();
    schema.to_value()
}
