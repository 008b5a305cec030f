//! Secrets.

use serde_json::Value;

use super::roles::statements_of;
use crate::template::stack::{Stack, listed, logical_id};

/// A generated secret has at least so many characters.
const LEAST_LENGTH: u64 = 32;

/// What a variable's name ends in when it holds the id of a secret.
const ID: &str = "_SECRET_ID";

/// No secret's value is in the template or in an environment: a secret is made empty, or generated.
#[must_use]
pub fn values_stay_out_of_the_template(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for secret in stack.of_type("AWS::SecretsManager::Secret") {
        if !secret.at("/SecretString").is_null() {
            violations.push(format!("{}: its value is in the template", secret.name));
        }
        let generated = secret.at("/GenerateSecretString");
        if generated.is_null() {
            continue;
        }
        if !matches!(generated["SecretStringTemplate"].as_str(), None | Some("{}")) {
            violations.push(format!("{}: a part of its value is in the template", secret.name));
        }
        // Secrets Manager's own default is 32.
        if crate::template::stack::number(&generated["PasswordLength"]).is_some_and(|length| length < LEAST_LENGTH) {
            violations.push(format!("{}: shorter than {LEAST_LENGTH} characters", secret.name));
        }
    }
    for function in stack.of_type("AWS::Lambda::Function") {
        for variable in variables(function.at("/Environment/Variables")) {
            if variable.contains("SECRET") && !variable.ends_with(ID) {
                violations.push(format!("{}: {variable} is not the id of a secret", function.name));
            }
        }
    }
    violations
}

/// A function reads the secrets whose ids it is told, and does nothing else with secrets.
#[must_use]
pub fn functions_read_their_own(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let told: Vec<Option<&str>> = variables(function.at("/Environment/Variables"))
            .filter(|variable| variable.ends_with(ID))
            .map(|variable| logical_id(function.environment(variable)))
            .collect();
        let mut granted = Vec::new();
        for statement in statements_of(stack, &function) {
            let actions = listed(&statement["Action"]);
            let for_secrets = |action: &&Value| action.as_str().is_some_and(|action| action.starts_with("secretsmanager:"));
            if !actions.iter().any(for_secrets) {
                continue;
            }
            if actions != ["secretsmanager:GetSecretValue"] {
                violations.push(format!("{}: does more with secrets than read them", function.name));
            }
            granted.extend(listed(&statement["Resource"]).into_iter().map(logical_id));
        }
        if granted != told {
            violations.push(format!("{}: may read {granted:?} and is told of {told:?}", function.name));
        }
    }
    violations
}

fn variables(environment: &Value) -> impl Iterator<Item = &str> {
    environment.as_object().into_iter().flatten().map(|(name, _)| name.as_str())
}
