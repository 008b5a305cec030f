//! Doors of the API.

use ikkai_tests::template::{parameters, rules::api, synthesize};
use serde_json::json;

use crate::stacks::{holds, notices};

#[test]
fn every_door_asks_who_is_calling() {
    holds(api::every_door_asks_who_is_calling);
    notices(api::every_door_asks_who_is_calling, "ProducerApiUrl", |stack| {
        stack.set("ProducerApiUrl", "/AuthType", json!("NONE"));
    });
    notices(api::every_door_asks_who_is_calling, "HttpApiRoute", |stack| stack.remove("HttpApiRoute", "/AuthorizationType"));
    notices(api::every_door_asks_who_is_calling, "HttpApiRoute", |stack| {
        stack.set("HttpApiRoute", "/AuthorizationType", json!("JWT"));
    });
}

#[test]
fn each_door_exists_when_it_was_chosen() {
    for (door, urls, apis) in [("url", 1, 0), ("http", 0, 1), ("both", 1, 1)] {
        let stack = &synthesize(&[parameters(&[("Api", door)])]).stacks[0];
        assert_eq!(stack.of_type("AWS::Lambda::Url").count(), urls, "{door}");
        assert_eq!(stack.of_type("AWS::ApiGatewayV2::Route").count(), apis, "{door}");
    }
}

#[test]
fn the_http_api_is_throttled_and_its_log_tells_nothing_about_people() {
    let rule = api::calls_are_bounded_and_logged;
    holds(rule);
    let (stage, format) = ("HttpApiStage", "/AccessLogSettings/Format");
    notices(rule, "HttpApi: has no stage", |stack| stack.drop_resource(stage));
    notices(rule, stage, |stack| stack.remove(stage, "/DefaultRouteSettings/ThrottlingRateLimit"));
    notices(rule, stage, |stack| stack.set(stage, "/DefaultRouteSettings/ThrottlingBurstLimit", json!("0")));
    notices(rule, stage, |stack| stack.remove(stage, "/AccessLogSettings"));
    notices(rule, stage, |stack| stack.drop_resource("HttpApiLogGroup"));
    notices(rule, stage, |stack| stack.set(stage, format, json!("$context.requestId")));
    for personal in ["identity.sourceIp", "identity.userAgent", "authorizer.claims.email", "path"] {
        notices(rule, &format!("{stage}: logs $context.{personal}"), |stack| {
            stack.set(stage, format, json!(format!(r#"{{"who":"$context.{personal}"}}"#)));
        });
    }
}

#[test]
fn permissions_name_their_holders() {
    holds(api::permissions_name_their_holders);
    notices(api::permissions_name_their_holders, "ProducerApiUrlPermission", |stack| {
        stack.set("ProducerApiUrlPermission", "/Principal", json!("*"));
    });
    notices(api::permissions_name_their_holders, "ProducerApiInvokePermission", |stack| {
        stack.remove("ProducerApiInvokePermission", "/InvokedViaFunctionUrl");
    });
    notices(api::permissions_name_their_holders, "HttpApiPermission", |stack| {
        stack.remove("HttpApiPermission", "/SourceArn");
    });
}

#[test]
fn whoever_may_call_the_function_url_has_both_permissions() {
    holds(api::function_urls_can_be_called);
    for permission in ["ProducerApiUrlPermission", "ProducerApiInvokePermission"] {
        notices(api::function_urls_can_be_called, "ProducerApiUrl", |stack| stack.drop_resource(permission));
    }
}
