//! The API's doors: nobody comes in without a signature that is theirs and a permission for this function, or this API.

use aws_sdk_sqs::config::Credentials;
use serde_json::{Value, json};

use crate::lab::{ACCOUNT, Door, Lab, on_engine};

const DOORS: [Door; 2] = [Door::FunctionUrl, Door::HttpApi];

/// In AWS a function URL asks for both (<https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html>); the engine asks for the first.
const TO_COME_IN: [&str; 2] = ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"];

/// May do this to a function.
fn may(actions: &[&str], function: &str) -> Value {
    let region = ikkai_cli::local::engine::REGION;
    json!({"Effect": "Allow", "Action": actions, "Resource": format!("arn:aws:lambda:{region}:{ACCOUNT}:function:{function}")})
}

/// May do this to what is behind a path of an HTTP API
/// (<https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-control-access-using-iam-policies-to-invoke-api.html>).
fn may_at(action: &str, api: &str, request: &str) -> Value {
    let region = ikkai_cli::local::engine::REGION;
    json!({"Effect": "Allow", "Action": action, "Resource": format!("arn:aws:execute-api:{region}:{ACCOUNT}:{api}/$default/{request}")})
}

/// What lets somebody in by a door, and no further.
fn key(lab: &Lab, door: Door) -> Value {
    match door {
        Door::FunctionUrl => may(&TO_COME_IN, lab.stack().producer()),
        Door::HttpApi => may_at("execute-api:Invoke", lab.http_api(), "POST/v1/jobs"),
    }
}

async fn knock(lab: &Lab, door: Door, credentials: Option<&Credentials>) -> (u16, String) {
    let answer = lab.knock(door, credentials).await;
    (answer.status, answer.text)
}

#[test]
fn whoever_may_comes_in() {
    on_engine(async |lab| {
        for door in DOORS {
            let principal = lab.principal().await;
            lab.allow(&principal, &[key(lab, door)]).await;
            assert_eq!(knock(lab, door, Some(&principal.credentials)).await, (200, "reached".to_owned()), "{door:?}");
        }
    });
}

#[test]
fn nobody_comes_in_without_a_signature() {
    on_engine(async |lab| {
        for door in DOORS {
            assert_eq!(knock(lab, door, None).await.0, 403, "{door:?}");
        }
    });
}

#[test]
fn nobody_comes_in_with_a_signature_that_is_not_theirs() {
    on_engine(async |lab| {
        for door in DOORS {
            let principal = lab.principal().await;
            lab.allow(&principal, &[key(lab, door)]).await;
            let known = &principal.credentials;
            let token = known.session_token().map(str::to_owned);
            let guessed = Credentials::new(known.access_key_id(), "x".repeat(40), token, None, "probe");
            assert_eq!(knock(lab, door, Some(&guessed)).await.0, 403, "{door:?}");
            let invented = Credentials::new("AKIAXXXXXXXXXXXXXXXX", known.secret_access_key(), None, None, "probe");
            assert_eq!(knock(lab, door, Some(&invented)).await.0, 403, "{door:?}");
            let without_its_token = Credentials::new(known.access_key_id(), known.secret_access_key(), None, None, "probe");
            assert_eq!(knock(lab, door, Some(&without_its_token)).await.0, 403, "{door:?}");
        }
    });
}

#[test]
fn nobody_comes_in_by_the_url_without_a_permission_for_this_function() {
    let door = Door::FunctionUrl;
    on_engine(async |lab| {
        let principal = lab.principal().await;
        assert_eq!(knock(lab, door, Some(&principal.credentials)).await.0, 403, "without any");
        for statement in [
            may(&["lambda:InvokeFunction"], lab.stack().producer()),
            may(&TO_COME_IN, lab.stack().email_consumer()),
            may(&["lambda:GetFunction"], lab.stack().producer()),
            key(lab, Door::HttpApi),
        ] {
            lab.allow(&principal, std::slice::from_ref(&statement)).await;
            assert_eq!(knock(lab, door, Some(&principal.credentials)).await.0, 403, "{statement}");
        }
        lab.allow(&principal, &[may(&TO_COME_IN[..1], lab.stack().producer())]).await;
        let came_in = knock(lab, door, Some(&principal.credentials)).await.0;
        assert_eq!(came_in, 200, "the engine asks for no more; the template's tests do");
    });
}

#[test]
fn nobody_comes_in_by_the_http_api_without_a_permission_for_it() {
    let door = Door::HttpApi;
    on_engine(async |lab| {
        let principal = lab.principal().await;
        assert_eq!(knock(lab, door, Some(&principal.credentials)).await.0, 403, "without any");
        for statement in [
            key(lab, Door::FunctionUrl),
            may_at("execute-api:Invoke", "ffffffff", "POST/v1/jobs"),
            may_at("execute-api:Invoke", lab.http_api(), "GET/v1/jobs"),
            may_at("execute-api:Invoke", lab.http_api(), "POST/v1/jobs/batch"),
            may_at("execute-api:ManageConnections", lab.http_api(), "POST/v1/jobs"),
        ] {
            lab.allow(&principal, std::slice::from_ref(&statement)).await;
            assert_eq!(knock(lab, door, Some(&principal.credentials)).await.0, 403, "{statement}");
        }
        lab.allow(&principal, &[key(lab, door)]).await;
        assert_eq!(knock(lab, door, Some(&principal.credentials)).await.0, 200);
    });
}
