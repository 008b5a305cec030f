//! The API's door: nobody comes in without a signature that is theirs and a permission for this function.

use aws_sdk_sqs::config::Credentials;
use serde_json::{Value, json};

use crate::lab::{ACCOUNT, Lab, on_engine};

/// In AWS a function URL asks for both (<https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html>); the engine asks for the first.
const TO_COME_IN: [&str; 2] = ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"];

fn may(actions: &[&str], function: &str) -> Value {
    let region = ikkai_cli::local::engine::REGION;
    json!({"Effect": "Allow", "Action": actions, "Resource": format!("arn:aws:lambda:{region}:{ACCOUNT}:function:{function}")})
}

async fn knock(lab: &Lab, credentials: Option<&Credentials>) -> (u16, String) {
    let answer = lab.knock(credentials).await;
    (answer.status, answer.text)
}

#[test]
fn whoever_may_comes_in() {
    on_engine(async |lab| {
        let principal = lab.principal().await;
        lab.allow(&principal, &[may(&TO_COME_IN, lab.stack().producer())]).await;
        assert_eq!(knock(lab, Some(&principal.credentials)).await, (200, "reached".to_owned()));
    });
}

#[test]
fn nobody_comes_in_without_a_signature() {
    on_engine(async |lab| assert_eq!(knock(lab, None).await.0, 403));
}

#[test]
fn nobody_comes_in_with_a_signature_that_is_not_theirs() {
    on_engine(async |lab| {
        let principal = lab.principal().await;
        lab.allow(&principal, &[may(&TO_COME_IN, lab.stack().producer())]).await;
        let known = &principal.credentials;
        let token = known.session_token().map(str::to_owned);
        let guessed = Credentials::new(known.access_key_id(), "x".repeat(40), token, None, "probe");
        assert_eq!(knock(lab, Some(&guessed)).await.0, 403);
        let invented = Credentials::new("AKIAXXXXXXXXXXXXXXXX", known.secret_access_key(), None, None, "probe");
        assert_eq!(knock(lab, Some(&invented)).await.0, 403);
        let without_its_token = Credentials::new(known.access_key_id(), known.secret_access_key(), None, None, "probe");
        assert_eq!(knock(lab, Some(&without_its_token)).await.0, 403);
    });
}

#[test]
fn nobody_comes_in_without_a_permission_for_this_function() {
    on_engine(async |lab| {
        let principal = lab.principal().await;
        assert_eq!(knock(lab, Some(&principal.credentials)).await.0, 403, "without any");
        for statement in [
            may(&["lambda:InvokeFunction"], lab.stack().producer()),
            may(&TO_COME_IN, lab.stack().email_consumer()),
            may(&["lambda:GetFunction"], lab.stack().producer()),
        ] {
            lab.allow(&principal, std::slice::from_ref(&statement)).await;
            assert_eq!(knock(lab, Some(&principal.credentials)).await.0, 403, "{statement}");
        }
        lab.allow(&principal, &[may(&TO_COME_IN[..1], lab.stack().producer())]).await;
        assert_eq!(knock(lab, Some(&principal.credentials)).await.0, 200, "the engine asks for no more; the template's tests do");
    });
}
