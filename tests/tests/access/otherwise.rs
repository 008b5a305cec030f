//! What the engine reads otherwise than AWS. A statement is rewritten only while it is itself looked at, and only as far as it says here; the
//! template's own tests hold what is left out ([`ikkai_tests::template`]: conditions and resources are evaluated there with the keys that AWS
//! gives).

use serde_json::{Value, json};

use crate::lab::{ACCOUNT, Transport, on_engine};
use crate::roles::{actions_of, probes};

/// How a statement has to be written for the engine.
#[derive(Clone, Copy)]
enum Rewrite {
    /// It does not give the key that the condition is about.
    WithoutCondition,
    /// It does not know what the call is about.
    AnyResource,
    /// It calls the resource something else.
    Resource(fn(&str) -> String),
}

/// Actions by their beginning, the condition key (where it is about one), the rewriting and why.
const OTHERWISE: [(&str, &str, Rewrite, &str); 6] = [
    ("dynamodb:", "dynamodb:LeadingKeys", Rewrite::WithoutCondition, "the keys of a request are not given to conditions"),
    ("dynamodb:BatchGetItem", "dynamodb:Attributes", Rewrite::WithoutCondition, "a projection is found in single reads alone"),
    ("ses:SendEmail", "ses:FromAddress", Rewrite::AnyResource, "neither the sender nor its identity is found in a request"),
    ("sqs:", "", Rewrite::AnyResource, "the queue of a move task is not found in a request"),
    ("logs:", "", Rewrite::Resource(group_alone), "a log group's streams are not told from the group"),
    ("secretsmanager:", "", Rewrite::Resource(arn_of_secret), "a reference to a secret is its name, and in AWS its ARN"),
];

/// Actions that the engine does not ask for, and why. They are covered by the template's own tests alone.
pub(crate) const NEVER_ASKED: [(&str, &str); 1] =
    [("ses:SendRawEmail", "every mail through version 2 of SES is asked for as ses:SendEmail")];

/// The statement as the engine has to have it for `action` to be allowed, and whether it still says where.
pub(crate) fn rewritten(statement: &Value, action: &str) -> (Value, Scope) {
    let mut statement = statement.clone();
    let mut scope = Scope::Resource;
    for (beginning, key, rewrite, _) in OTHERWISE {
        if !action.starts_with(beginning)
            || (beginning == "sqs:" && !action.contains("MessageMoveTask"))
            || !has_key(&statement, key)
        {
            continue;
        }
        match rewrite {
            Rewrite::WithoutCondition => remove_condition(&mut statement),
            Rewrite::AnyResource => {
                remove_condition(&mut statement);
                statement["Resource"] = json!("*");
                scope = Scope::Anything;
            }
            Rewrite::Resource(spell) => {
                statement["Resource"] = json!(spell(statement["Resource"].as_str().expect("one resource")));
            }
        }
    }
    (statement, scope)
}

fn remove_condition(statement: &mut Value) {
    if let Some(members) = statement.as_object_mut() {
        members.remove("Condition");
    }
}

/// Whether a statement that was rewritten still names a resource.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Resource,
    Anything,
}

fn has_key(statement: &Value, key: &str) -> bool {
    key.is_empty() || statement["Condition"].to_string().contains(&format!("\"{key}\""))
}

fn group_alone(arn: &str) -> String {
    arn.trim_end_matches(":*").to_owned()
}

fn arn_of_secret(name: &str) -> String {
    format!("arn:aws:secretsmanager:{}:{ACCOUNT}:secret:{name}-*", ikkai_cli::local::engine::REGION)
}

/// As soon as the engine reads one of them as AWS does, this says so, and its line goes.
#[test]
#[expect(clippy::print_stdout, reason = "what the engine does not prove has to be seen")]
fn what_is_rewritten_for_the_engine_is_still_refused_by_it_as_it_stands() {
    on_engine(async |lab| {
        let principal = lab.principal().await;
        for function in lab.stack().functions() {
            let statements = lab.statements_of(function).await;
            for probe in probes(&statements) {
                let (for_engine, _) = rewritten(probe.statement, &probe.action);
                if for_engine == *probe.statement {
                    continue;
                }
                lab.allow(&principal, std::slice::from_ref(probe.statement)).await;
                let answer = lab.call(&principal, &probe.call, Transport::Tls).await;
                assert!(
                    answer.is_refused(),
                    "{function}: the engine has learned to read {} of {}",
                    probe.action,
                    probe.statement
                );
            }
        }
        for (action, _, _, why) in OTHERWISE {
            println!("not as in AWS: {action} ({why})");
        }
        for (action, why) in NEVER_ASKED {
            println!("not asked for: {action} ({why})");
        }
    });
}

/// The lists name what roles have.
#[test]
fn nothing_is_excused_that_no_role_has() {
    on_engine(async |lab| {
        let mut actions = Vec::new();
        for function in lab.stack().functions() {
            actions.extend(lab.statements_of(function).await.iter().flat_map(actions_of));
        }
        for (beginning, ..) in OTHERWISE {
            assert!(actions.iter().any(|action| action.starts_with(beginning)), "{beginning}");
        }
        for (action, _) in NEVER_ASKED {
            assert!(actions.iter().any(|known| known == action), "{action}");
        }
    });
}
