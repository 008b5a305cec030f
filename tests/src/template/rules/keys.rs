//! The KMS key that everything is under, where one is given.

use serde_json::Value;

use super::roles::{statements_of, texts};
use crate::template::stack::{Stack, listed};

/// Where each type names its key.
const PLACES: [(&str, &str); 6] = [
    ("AWS::S3::Bucket", "/BucketEncryption/ServerSideEncryptionConfiguration/0/ServerSideEncryptionByDefault/KMSMasterKeyID"),
    ("AWS::DynamoDB::Table", "/SSESpecification/KMSMasterKeyId"),
    ("AWS::Logs::LogGroup", "/KmsKeyId"),
    ("AWS::SNS::Topic", "/KmsMasterKeyId"),
    ("AWS::SQS::Queue", "/KmsMasterKeyId"),
    ("AWS::SecretsManager::Secret", "/KmsKeyId"),
];

/// What SQS, DynamoDB, S3 and Secrets Manager ask of KMS in the name of their caller.
const ACTIONS: [&str; 2] = ["kms:Decrypt", "kms:GenerateDataKey"];

/// Everything that is kept is under one key of this account, and every function may use that key and no other; or nothing is, and no function may
/// use any.
#[must_use]
pub fn everything_is_under_the_key(stack: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let named =
        PLACES.into_iter().flat_map(|(kind, place)| stack.of_type(kind).map(move |resource| (resource, resource.at(place))));
    let named: Vec<_> = named.collect();
    let key = named.iter().map(|(_, key)| *key).find(|key| !key.is_null()).unwrap_or(&Value::Null);
    if !key.is_null() && !key.as_str().is_some_and(is_own_key) {
        violations.push(format!("{key} is no key of this account"));
    }
    let others = named.iter().filter(|(_, own)| *own != key);
    violations.extend(others.map(|(resource, own)| format!("{}: under {own} instead of {key}", resource.name)));
    for bucket in stack.of_type("AWS::S3::Bucket") {
        let encryption = bucket.at("/BucketEncryption/ServerSideEncryptionConfiguration/0");
        let wanted = if key.is_null() { "AES256" } else { "aws:kms" };
        if encryption["ServerSideEncryptionByDefault"]["SSEAlgorithm"] != wanted {
            violations.push(format!("{}: not encrypted with {wanted}", bucket.name));
        }
        // Without it every object is a request to KMS.
        if !key.is_null() && encryption["BucketKeyEnabled"] != true {
            violations.push(format!("{}: asks KMS for every object", bucket.name));
        }
    }
    for table in stack.of_type("AWS::DynamoDB::Table") {
        if !key.is_null() && table.at("/SSESpecification/SSEType") != "KMS" {
            violations.push(format!("{}: names a key and does not use it", table.name));
        }
    }
    for function in stack.of_type("AWS::Lambda::Function") {
        let mut granted = Vec::new();
        for statement in statements_of(stack, &function) {
            let actions: Vec<&str> =
                texts(&statement["Action"]).into_iter().filter(|action| action.starts_with("kms:")).collect();
            if !actions.is_empty() && listed(&statement["Resource"]) != [key] {
                violations.push(format!("{}: may use other keys than {key}", function.name));
            }
            granted.extend(actions);
        }
        granted.sort_unstable();
        let wanted: &[&str] = if key.is_null() { &[] } else { &ACTIONS };
        if granted != wanted {
            violations.push(format!("{}: may {granted:?} and needs {wanted:?}", function.name));
        }
    }
    violations
}

/// Whether it is the ARN of a key: an alias may be of one that AWS manages, whose policy lets no service in.
pub(super) fn is_own_key(key: &str) -> bool {
    key.starts_with("arn:aws:kms:") && key.contains(":key/")
}
