//! Tags.

use serde_json::Value;

use crate::template::stack::{Stack, listed};

/// What every resource is tagged with.
const TAGS: [&str; 2] = ["Owner", "Stage"];

/// Types that take tags. (Mappings and function URLs have none of SAM's.)
const TAGGED: [&str; 10] = [
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::Stage",
    "AWS::DynamoDB::Table",
    "AWS::IAM::Role",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
    "AWS::SecretsManager::Secret",
];

/// Every resource that takes tags says who answers for it and what it is for, and all of them say the same.
#[must_use]
pub fn everything_has_its_tags(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let mut agreed: Option<Vec<&Value>> = None;
    for resource in TAGGED.into_iter().flat_map(|kind| stack.of_type(kind)) {
        let tags = resource.at("/Tags");
        // API Gateway has an object where the others have a list.
        let of_list = |key: &str| listed(tags).into_iter().find(|tag| tag["Key"] == key).map(|tag| &tag["Value"]);
        let values: Vec<&Value> = TAGS.into_iter().filter_map(|key| tags.get(key).or_else(|| of_list(key))).collect();
        if values.len() < TAGS.len() || *agreed.get_or_insert_with(|| values.clone()) != values {
            violations.push(format!("{}: has the tags {values:?}", resource.name));
        }
    }
    violations
}
