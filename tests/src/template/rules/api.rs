//! Doors of the producer API.

use serde_json::Value;

use crate::template::stack::{Stack, listed};

/// What Lambda checks when a function URL is called, since October 2025 both (<https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html>).
const URL_ACTIONS: [&str; 2] = ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"];

/// Every function URL and every route of an HTTP API asks who is calling.
#[must_use]
pub fn every_door_asks_who_is_calling(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for url in stack.of_type("AWS::Lambda::Url") {
        if url.at("/AuthType") != "AWS_IAM" {
            violations.push(format!("{}: is open to everybody", url.name));
        }
    }
    for route in stack.of_type("AWS::ApiGatewayV2::Route") {
        let asks = match route.at("/AuthorizationType").as_str() {
            Some("AWS_IAM") => true,
            Some("JWT") => {
                stack.target(route.at("/AuthorizerId")).is_some_and(|target| target.is("AWS::ApiGatewayV2::Authorizer"))
            }
            _ => false,
        };
        if !asks {
            violations.push(format!("{}: is open to everybody", route.name));
        }
    }
    for api in stack.of_type("AWS::ApiGatewayV2::Api") {
        let any_origin = listed(api.at("/CorsConfiguration/AllowOrigins")).iter().any(|origin| **origin == "*");
        if any_origin {
            violations.push(format!("{}: lets pages of every origin in", api.name));
        }
    }
    violations
}

/// Every permission to call a function names who has it: an account, a role or user, or a service together with the source it acts for.
#[must_use]
pub fn permissions_name_their_holders(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for permission in stack.of_type("AWS::Lambda::Permission") {
        let principal = permission.at("/Principal").as_str().unwrap_or_default();
        let is_account = principal.len() == 12 && principal.bytes().all(|byte| byte.is_ascii_digit());
        let is_arn = principal.starts_with("arn:aws") && !principal.contains('*');
        let is_bound_service = principal.ends_with(".amazonaws.com") && !permission.at("/SourceArn").is_null();
        if !is_account && !is_arn && !is_bound_service {
            violations.push(format!("{}: held by `{principal}`", permission.name));
        }
        let via_url = permission.is_true("/InvokedViaFunctionUrl") || permission.at("/FunctionUrlAuthType") == "AWS_IAM";
        if !is_bound_service && !via_url {
            violations.push(format!("{}: reaches past the function URL", permission.name));
        }
    }
    violations
}

/// What an access log may hold of a request: nothing that tells who sent it, and nothing in which a client may write what it likes.
const LOGGED: [&str; 11] = [
    "$context.authorizer.error",
    "$context.error.responseType",
    "$context.httpMethod",
    "$context.integration.error",
    "$context.integration.status",
    "$context.integrationLatency",
    "$context.requestId",
    "$context.requestTimeEpoch",
    "$context.responseLatency",
    "$context.responseLength",
    "$context.status",
];

/// An HTTP API lets so many requests through and no more, and writes each of them, as JSON without anything personal, to a log group that keeps
/// it for a time.
#[must_use]
pub fn calls_are_bounded_and_logged(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for api in stack.of_type("AWS::ApiGatewayV2::Api") {
        let of_api = |stage: &crate::template::stack::Resource<'_>| {
            stack.target(stage.at("/ApiId")).is_some_and(|target| target.name == api.name)
        };
        if !stack.of_type("AWS::ApiGatewayV2::Stage").any(|stage| of_api(&stage)) {
            violations.push(format!("{}: has no stage", api.name));
        }
    }
    for stage in stack.of_type("AWS::ApiGatewayV2::Stage") {
        for limit in ["ThrottlingRateLimit", "ThrottlingBurstLimit"] {
            if stage.number(&format!("/DefaultRouteSettings/{limit}")).is_none_or(|limit| limit == 0) {
                violations.push(format!("{}: without {limit}", stage.name));
            }
        }
        let group = stack.target(stage.at("/AccessLogSettings/DestinationArn"));
        if !group.is_some_and(|group| group.is("AWS::Logs::LogGroup")) {
            violations.push(format!("{}: calls are not logged in this stack", stage.name));
        }
        let format = stage.at("/AccessLogSettings/Format").as_str().unwrap_or_default();
        match serde_json::from_str::<Value>(format) {
            Ok(Value::Object(members)) => {
                let logged = members.values().filter_map(Value::as_str);
                let others = logged.filter(|variable| !LOGGED.contains(variable));
                violations.extend(others.map(|variable| format!("{}: logs {variable}", stage.name)));
            }
            _ => violations.push(format!("{}: its log lines are no JSON object", stage.name)),
        }
    }
    violations
}

/// Whoever may call a function URL has both permissions that a call needs.
#[must_use]
pub fn function_urls_can_be_called(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    for url in stack.of_type("AWS::Lambda::Url") {
        for action in URL_ACTIONS {
            let granted = stack.of_type("AWS::Lambda::Permission").any(|permission| {
                permission.at("/Action") == action && permission.at("/FunctionName") == url.at("/TargetFunctionArn")
                    // The permission of an HTTP API is another one.
                    && permission.at("/SourceArn").is_null()
            });
            if !granted {
                violations.push(format!("{}: nobody has {action}", url.name));
            }
        }
    }
    violations
}
