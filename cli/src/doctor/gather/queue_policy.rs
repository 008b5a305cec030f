//! What a queue's policy says about requests without TLS.

use serde_json::Value;

/// Whether a statement denies everybody everything without TLS.
pub(super) fn refuses_plain_requests(policy: &Value) -> bool {
    one_or_many(&policy["Statement"]).iter().any(|statement| {
        statement["Effect"] == "Deny"
            && meets_everybody(statement)
            && meets_every_action(statement)
            && asks_for_tls(&statement["Condition"])
    })
}

fn meets_everybody(statement: &Value) -> bool {
    let principal = &statement["Principal"];
    principal == "*" || one_or_many(&principal["AWS"]).iter().any(|principal| **principal == "*")
}

fn meets_every_action(statement: &Value) -> bool {
    let every = |action: &str| action == "*" || action.eq_ignore_ascii_case("sqs:*");
    one_or_many(&statement["Action"]).iter().any(|action| action.as_str().is_some_and(every))
}

/// The condition that is met by a request without TLS, and nothing beside it, which would narrow it.
fn asks_for_tls(condition: &Value) -> bool {
    let Some((operator, keys)) = single(condition) else { return false };
    let Some((key, value)) = single(keys) else { return false };
    let is_false = |value: &Value| value == "false" || *value == Value::Bool(false);
    matches!(operator, "Bool" | "BoolIfExists")
        && key.eq_ignore_ascii_case("aws:SecureTransport")
        && one_or_many(value).iter().any(|value| is_false(value))
}

/// The only member of an object.
fn single(object: &Value) -> Option<(&str, &Value)> {
    let members = object.as_object().filter(|members| members.len() == 1)?;
    members.iter().next().map(|(name, value)| (name.as_str(), value))
}

/// Policies write a list of one as the one.
fn one_or_many(value: &Value) -> Vec<&Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().collect(),
        one => vec![one],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn statement() -> Value {
        let condition = json!({"Bool": {"aws:SecureTransport": "false"}});
        json!({"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "q", "Condition": condition})
    }

    #[test]
    fn the_templates_policy_refuses_plain_requests_however_it_is_written() {
        assert!(refuses_plain_requests(&json!({ "Statement": [statement()] })));
        assert!(refuses_plain_requests(&json!({ "Statement": statement() })));
        for (member, value) in [
            ("Principal", json!({"AWS": "*"})),
            ("Principal", json!({"AWS": ["*"]})),
            ("Action", json!(["SQS:*"])),
            ("Action", json!("*")),
            ("Condition", json!({"Bool": {"aws:securetransport": false}})),
            ("Condition", json!({"Bool": {"aws:SecureTransport": ["false"]}})),
        ] {
            let mut statement = statement();
            statement[member] = value;
            assert!(refuses_plain_requests(&json!({ "Statement": [statement] })), "{member}");
        }
    }

    #[test]
    fn a_policy_that_lets_some_plain_requests_in_does_not() {
        assert!(!refuses_plain_requests(&Value::Null));
        for (member, value) in [
            ("Effect", json!("Allow")),
            ("Principal", json!({"AWS": "arn:aws:iam::1:root"})),
            ("Action", json!("sqs:SendMessage")),
            ("Condition", json!({"Bool": {"aws:SecureTransport": "true"}})),
            ("Condition", json!({"Bool": {"aws:SecureTransport": "false", "aws:ViaAWSService": "false"}})),
            ("Condition", json!({})),
        ] {
            let mut statement = statement();
            statement[member] = value;
            assert!(!refuses_plain_requests(&json!({ "Statement": [statement] })), "{member}");
        }
    }
}
