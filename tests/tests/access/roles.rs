//! Every action of every role: allowed with it, refused without it, and refused on what is another's.

use serde_json::{Value, json};

use crate::call::Call;
use crate::lab::{ACCOUNT, Lab, Transport, on_engine};
use crate::otherwise::{NEVER_ASKED, Scope, rewritten};

/// One action of one statement, and the call that needs it.
pub(crate) struct Probe<'a> {
    place: usize,
    pub(crate) statement: &'a Value,
    pub(crate) action: String,
    pub(crate) call: Call,
}

/// A probe for every action of a role but those that the engine never asks for.
pub(crate) fn probes(statements: &[Value]) -> Vec<Probe<'_>> {
    let mut probes = Vec::new();
    for (place, statement) in statements.iter().enumerate() {
        for action in actions_of(statement) {
            if NEVER_ASKED.iter().any(|(never, _)| *never == action) {
                continue;
            }
            let resource = listed(&statement["Resource"])[0].as_str().expect("an ARN");
            let call = Call::of(&action, resource).unwrap_or_else(|| panic!("no call is known for {action}; add it to call.rs"));
            let call = if is_limited_read(statement, &action) { limited_read(resource, statement) } else { call };
            probes.push(Probe { place, statement, action, call });
        }
    }
    probes
}

/// The actions that a statement allows.
pub(crate) fn actions_of(statement: &Value) -> Vec<String> {
    listed(&statement["Action"]).into_iter().filter_map(|action| action.as_str().map(str::to_owned)).collect()
}

#[test]
fn each_action_is_allowed_where_it_stands_and_refused_where_it_does_not() {
    on_engine(async |lab| {
        let principal = lab.principal().await;
        for function in lab.stack().functions() {
            let statements = lab.statements_of(function).await;
            assert!(!statements.is_empty(), "{function} has a role");
            for probe in probes(&statements) {
                let what = format!("{function}: {} of {}", probe.action, probe.statement["Sid"]);
                let (whole, scope) = with(&statements, &probe);
                lab.allow(&principal, &whole).await;
                let answer = lab.call(&principal, &probe.call, Transport::Tls).await;
                assert!(!answer.is_refused(), "{what} is allowed: {answer:?}");
                if scope == Scope::Resource {
                    let elsewhere = elsewhere(lab, &statements, &probe.action);
                    let call = Call::of(&probe.action, &elsewhere).expect("a call");
                    let answer = lab.call(&principal, &call, Transport::Tls).await;
                    assert!(answer.is_refused(), "{what} is refused on {elsewhere}: {answer:?}");
                }
                lab.allow(&principal, &without(whole, &probe)).await;
                let answer = lab.call(&principal, &probe.call, Transport::Tls).await;
                assert!(answer.is_refused(), "{what} is refused without the action: {answer:?}");
            }
        }
    });
}

#[test]
fn records_of_ended_jobs_are_read_without_what_is_in_them() {
    on_engine(async |lab| {
        let principal = lab.principal().await;
        lab.allow(
            &principal,
            &lab.statements_of(lab.stack().consumer(ikkai_cli::local::stack::Consumer::Webhook).function).await,
        )
        .await;
        for (attributes, refused) in [("job_id", false), ("#status, job_id", false), ("payload", true), ("job_id, payload", true)]
        {
            let mut call = Call::of_attributes(lab.stack().jobs_table(), attributes);
            if attributes.contains('#') {
                let mut body: Value = serde_json::from_str(&call.body).expect("JSON");
                body["ExpressionAttributeNames"] = json!({"#status": "status"});
                call.body = body.to_string();
            }
            let answer = lab.call(&principal, &call, Transport::Tls).await;
            assert_eq!(answer.is_refused(), refused, "{attributes}: {answer:?}");
        }
    });
}

/// All statements of the role, the probed one as the engine reads it.
fn with(statements: &[Value], probe: &Probe<'_>) -> (Vec<Value>, Scope) {
    let (statement, scope) = rewritten(probe.statement, &probe.action);
    let mut whole = statements.to_vec();
    whole[probe.place] = statement;
    (whole, scope)
}

/// The same without the probed action.
fn without(mut statements: Vec<Value>, probe: &Probe<'_>) -> Vec<Value> {
    let left: Vec<String> = actions_of(&statements[probe.place]).into_iter().filter(|action| *action != probe.action).collect();
    if left.is_empty() {
        statements.remove(probe.place);
    } else {
        statements[probe.place]["Action"] = json!(left);
    }
    statements
}

/// Whether a statement lets somebody read some attributes alone, in a way that the engine sees.
fn is_limited_read(statement: &Value, action: &str) -> bool {
    action == "dynamodb:GetItem" && !statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"].is_null()
}

fn limited_read(resource: &str, statement: &Value) -> Call {
    let attributes = &statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"];
    let attribute = attributes.as_array().and_then(|names| names.iter().find(|name| *name == "job_id")).expect("the key");
    Call::of_attributes(resource.rsplit('/').next().expect("a table"), attribute.as_str().expect("a name"))
}

/// A resource of the same kind that no statement of the role allows the action on.
fn elsewhere(lab: &Lab, statements: &[Value], action: &str) -> String {
    let allowing = statements.iter().filter(|statement| actions_of(statement).iter().any(|known| known == action));
    let granted: Vec<&str> = allowing.flat_map(|statement| listed(&statement["Resource"])).filter_map(Value::as_str).collect();
    let covers = |granted: &&str, candidate: &str| {
        *granted == candidate
            || granted.trim_end_matches(":*") == candidate
            || granted.split_once("/index/").is_some_and(|(table, _)| table == candidate)
    };
    let mut candidates = candidates(lab, action).into_iter();
    let found = candidates.find(|candidate| !granted.iter().any(|granted| covers(granted, candidate)));
    found.unwrap_or_else(|| panic!("nothing is left that {action} is not allowed on"))
}

fn candidates(lab: &Lab, action: &str) -> Vec<String> {
    let region = ikkai_cli::local::engine::REGION;
    let outputs = lab.stack().outputs();
    let named =
        |end: &str| outputs.iter().filter(|(name, _)| name.ends_with(end)).map(|(_, value)| value.clone()).collect::<Vec<_>>();
    match action.split(':').next().unwrap_or_default() {
        "sqs" => {
            let queues = named("QueueName").into_iter().chain([format!("{}-ses-feedback-dlq", lab.stack().name())]);
            queues.map(|queue| format!("arn:aws:sqs:{region}:{ACCOUNT}:{queue}")).collect()
        }
        "dynamodb" => {
            named("TableName").iter().map(|table| format!("arn:aws:dynamodb:{region}:{ACCOUNT}:table/{table}")).collect()
        }
        "logs" => named("FunctionName")
            .iter()
            .map(|function| format!("arn:aws:logs:{region}:{ACCOUNT}:log-group:/aws/lambda/{function}"))
            .collect(),
        "secretsmanager" => named("SecretId"),
        "s3" if action == "s3:ListBucket" => named("BucketName").iter().map(|bucket| format!("arn:aws:s3:::{bucket}")).collect(),
        "s3" => named("BucketName").iter().map(|bucket| format!("arn:aws:s3:::{bucket}/elsewhere/probe")).collect(),
        other => panic!("resources of {other} are not known here"),
    }
}

fn listed(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        one => vec![one],
    }
}
