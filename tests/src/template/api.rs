//! Doors of the producer API.

use super::stack::Stack;

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
        let any_origin = super::stack::listed(api.at("/CorsConfiguration/AllowOrigins")).iter().any(|origin| **origin == "*");
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
