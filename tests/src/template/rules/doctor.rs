//! What `ikkai doctor` asks IAM about the roles, held against the template's roles.

use std::collections::BTreeSet;

use ikkai_cli::doctor::facts::{Fact, Gap};
use ikkai_cli::doctor::needs::{ContextValue, Need, Scope, Subject};
use serde_json::{Map, Value};

use super::functions::binary;
use super::permissions::is_of_every_function;
use super::roles::{statements_of, texts};
use super::settings::text;
use crate::template::policy::{Request, arn};
use crate::template::stack::{Resource, Stack, listed, logical_id};

/// Some role of the synthesized stacks' account.
const ROLE: &str = "arn:aws:iam::123456789012:role/r";

/// The region of the synthesized stacks.
const REGION: &str = "us-east-1";

/// The doctor asks about every action that a role allows on every resource, and about nothing else. What services do in the name of every function
/// (logs, traces, keys) is not asked about.
#[must_use]
pub fn questions_are_about_what_the_roles_allow(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let Some(binary) = binary(&function) else { continue };
        let mut asked = BTreeSet::new();
        for need in subject(stack, &function, binary).needs() {
            match need {
                Fact::Known(need) => asked.extend(pairs(&need)),
                Fact::Unknown(gap) => violations.push(format!("{}: the doctor cannot ask: {gap}", function.name)),
            }
        }
        let granted: BTreeSet<(String, String)> = statements_of(stack, &function).into_iter().flat_map(granted).collect();
        let unasked = granted.difference(&asked).map(|(action, on)| format!("the doctor does not ask about {action} on {on}"));
        let refused =
            asked.difference(&granted).map(|(action, on)| format!("the doctor asks about {action} on {on}, which it may not"));
        violations.extend(unasked.chain(refused).map(|said| format!("{}: {said}", function.name)));
    }
    violations
}

/// The doctor's questions about a function, by its logical id, as requests that the function would make.
///
/// # Panics
/// Without the function, or where the doctor cannot ask.
#[must_use]
pub fn questions(stack: &Stack, name: &str) -> Vec<(&'static str, String, Value)> {
    let function = stack.of_type("AWS::Lambda::Function").find(|function| function.name == name).expect("a function");
    let needs = subject(stack, &function, binary(&function).expect("a function of ours")).needs();
    let needs = needs.into_iter().map(|need| need.known().expect("the settings tell it").clone());
    needs
        .flat_map(|need| {
            let context = context(&need);
            let of_resource = |resource: &String| {
                let (place, context) = (place(resource), context.clone());
                need.actions.iter().map(move |action| (*action, place.clone(), context.clone())).collect::<Vec<_>>()
            };
            need.resources.iter().flat_map(of_resource).collect::<Vec<_>>()
        })
        .collect()
}

/// The question as a request.
#[must_use]
pub fn request<'a>((action, resource, context): &'a (&'static str, String, Value)) -> Request<'a> {
    Request { action, resource, context: context.clone() }
}

/// The function as the doctor learns of it, with logical ids for names.
fn subject(stack: &Stack, function: &Resource<'_>, binary: &str) -> Subject {
    let is_secret = |value: &Value| stack.target(value).is_some_and(|target| target.is("AWS::SecretsManager::Secret"));
    let told = |value: &Value| if is_secret(value) { arn(&text(value)) } else { text(value) };
    let variables = function.at("/Environment/Variables").as_object().into_iter().flatten();
    let queue = logical_id(function.environment("IKKAI_QUEUE_NAME"));
    let job_type = stack.routes().into_iter().find(|(_, of_type)| Some(of_type.as_str()) == queue);
    Subject {
        package: binary.to_owned(),
        scope: Scope::of(ROLE, REGION).expect("a role"),
        settings: variables.map(|(name, value)| (name.clone(), told(value))).collect(),
        job_type: job_type.map_or(Fact::Unknown(Gap::Missing), |(job_type, _)| Fact::Known(job_type)),
        sender_identity: identity_of_an_address(stack, function),
        dead_letter_target: logical_id(function.at("/DeadLetterConfig/TargetArn")).map(arn),
    }
}

/// A parameter, where it is not the sender's domain.
fn identity_of_an_address(stack: &Stack, function: &Resource<'_>) -> Option<String> {
    let resources = statements_of(stack, function).into_iter().flat_map(|statement| texts(&statement["Resource"]));
    resources.filter(|resource| resource.contains(":identity/") && resource.contains('@')).map(str::to_owned).next()
}

fn pairs(need: &Need) -> Vec<(String, String)> {
    let on = |resource: &String| need.actions.iter().map(|action| ((*action).to_owned(), place(resource))).collect::<Vec<_>>();
    need.resources.iter().flat_map(on).collect()
}

fn granted(statement: &Value) -> Vec<(String, String)> {
    let actions = texts(&statement["Action"]).into_iter().filter(|action| !is_of_every_function(action));
    let resources: Vec<String> = listed(&statement["Resource"]).into_iter().map(granted_place).collect();
    actions
        .flat_map(|action| resources.iter().map(|resource| (action.to_owned(), resource.clone())).collect::<Vec<_>>())
        .collect()
}

/// `Bucket/key` and `Table/index/name`: the logical id of a resource with what is below it. The object that the doctor asks about is `x`.
fn granted_place(resource: &Value) -> String {
    let Some(path) = resource["Fn::Sub"].as_str() else { return text(resource) };
    path.replacen("${", "", 1).replacen(".Arn}", "", 1).replace('*', "x")
}

/// The same of an ARN that the doctor has made.
fn place(resource: &str) -> String {
    let parts: Vec<&str> = resource.splitn(6, ':').collect();
    match parts[..] {
        ["arn", _, "dynamodb", _, _, table] => table.trim_start_matches("table/").to_owned(),
        ["arn", _, "sqs" | "s3" | "stack", _, _, name] => name.to_owned(),
        _ => resource.to_owned(),
    }
}

/// Keys as the evaluator wants them.
fn context(need: &Need) -> Value {
    let value = |value: &ContextValue| match value {
        ContextValue::Text(text) => text.as_str().into(),
        ContextValue::List(texts) => texts.clone().into(),
    };
    need.context.iter().map(|given| (given.key.to_lowercase(), value(&given.value))).collect::<Map<_, _>>().into()
}
