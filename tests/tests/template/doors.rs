//! Doors of the API.

use ikkai_tests::template::{api, parameters, synthesize};
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
    for (door, urls, apis) in [("FunctionUrl", 1, 0), ("HttpApi", 0, 1), ("Both", 1, 1)] {
        let stack = &synthesize(&[parameters(&[("ApiDoor", door)])]).stacks[0];
        assert_eq!(stack.of_type("AWS::Lambda::Url").count(), urls, "{door}");
        assert_eq!(stack.of_type("AWS::ApiGatewayV2::Route").count(), apis, "{door}");
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
