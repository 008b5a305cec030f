//! Decides requests by a role's policies, to see that a condition means what it is meant to.

use serde_json::{Value, json};

use super::stack::{Stack, listed, logical_id};
use super::synthesis::{checkout, run_python};

/// A request of a function.
#[derive(Debug)]
pub struct Request<'a> {
    /// What is to be done, such as `dynamodb:GetItem`.
    pub action: &'a str,
    /// Logical id of the resource, with a path below it if there is one (`Bucket/key`), or an ARN.
    pub resource: &'a str,
    /// Condition keys (lower case) and their values.
    pub context: Value,
}

/// Whether each request is allowed to the function of this logical id.
///
/// # Panics
/// When there is no such function, or the policies cannot be evaluated.
#[must_use]
pub fn allows(stack: &Stack, function: &str, requests: &[Request<'_>]) -> Vec<bool> {
    let function = stack.target(&json!({"Ref": function})).expect("a function of this stack");
    let role = stack.target(function.at("/Role")).expect("the function has a role");
    let policies: Vec<Value> =
        listed(role.at("/Policies")).into_iter().map(|policy| with_arns(&policy["PolicyDocument"])).collect();
    let requests: Vec<Value> = requests
        .iter()
        .map(|request| {
            let resource = if request.resource.starts_with("arn:") { request.resource.to_owned() } else { arn(request.resource) };
            json!({"policies": policies, "action": request.action, "resource": resource, "context": request.context})
        })
        .collect();
    let output = run_python(&[checkout().file("tests/src/template/decide.py")], &json!(requests));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let decisions: Vec<String> = serde_json::from_slice(&output.stdout).expect("a list of decisions");
    decisions.iter().map(|decision| decision == "Allow").collect()
}

/// The document with an ARN in place of each reference.
fn with_arns(node: &Value) -> Value {
    if let Some(name) = logical_id(node) {
        return json!(arn(name));
    }
    if let Some(text) = node["Fn::Sub"].as_str() {
        // Of the form `${Bucket.Arn}/prefix/*`.
        let path = text.strip_prefix("${").and_then(|text| text.split_once(".Arn}"));
        return path.map_or_else(|| json!(text), |(name, path)| json!(arn(&format!("{name}{path}"))));
    }
    match node {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), with_arns(value))).collect(),
        Value::Array(items) => items.iter().map(with_arns).collect(),
        other => other.clone(),
    }
}

/// What stands for the ARN of a resource, with a path below it if there is one.
pub(super) fn arn(logical_id: &str) -> String {
    format!("arn:aws:stack:us-east-1:123456789012:{logical_id}")
}
