//! Secrets.

use ikkai_tests::template::rules::secrets;
use serde_json::json;

use crate::stacks::{holds, notices, set_in_statement, variable};

#[test]
fn no_secret_has_its_value_in_the_template() {
    let rule = secrets::values_stay_out_of_the_template;
    holds(rule);
    notices(rule, "PaymentSecret", |stack| stack.set("PaymentSecret", "/SecretString", json!("sk_live_1")));
    notices(rule, "WebhookSecret", |stack| {
        stack.set("WebhookSecret", "/GenerateSecretString/SecretStringTemplate", json!(r#"{"previous":"known"}"#));
    });
    notices(rule, "WebhookSecret", |stack| stack.set("WebhookSecret", "/GenerateSecretString/PasswordLength", json!(31)));
    notices(rule, "BillingConsumerFunction", |stack| {
        stack.set("BillingConsumerFunction", &variable("IKKAI_PAYMENT_SECRET"), json!("sk_live_1"));
    });
}

#[test]
fn functions_read_the_secrets_that_they_are_told_of_and_no_others() {
    let rule = secrets::functions_read_their_own;
    holds(rule);
    for (function, role, sid, own) in [
        ("BillingConsumerFunction", "BillingConsumerRole", "PaymentKey", "PaymentSecret"),
        ("WebhookConsumerFunction", "WebhookConsumerRole", "SigningSecret", "WebhookSecret"),
    ] {
        let other = if own == "PaymentSecret" { "WebhookSecret" } else { "PaymentSecret" };
        notices(rule, function, |stack| set_in_statement(stack, role, sid, "/Resource", json!({"Ref": other})));
        notices(rule, function, |stack| set_in_statement(stack, role, sid, "/Action", json!("secretsmanager:PutSecretValue")));
        notices(rule, function, |stack| set_in_statement(stack, role, sid, "/Resource", json!([{"Ref": own}, {"Ref": other}])));
    }
}
