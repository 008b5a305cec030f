//! Template tests: what is deployed keeps the rules that the code relies on, for every value that a parameter allows. Each rule is also
//! shown to notice a stack that was broken on purpose, at every consumer.

mod buckets;
mod cargo_lambda;
mod doors;
mod functions;
mod mappings;
mod operators;
mod parameters;
mod queues;
mod roles;
mod secrets;
mod stacks;
mod tables;
mod topics;

use ikkai_tests::template::lint;

#[test]
fn the_template_is_clean() {
    assert_eq!(lint(), "");
}

/// What CloudFormation takes from a bucket, in parameters and in bytes (of a template in a request it takes 51,200 bytes;
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>).
#[test]
fn the_template_is_within_the_limits_of_cloudformation() {
    let template = include_str!("../../../infra/template.yaml");
    assert!(template.len() <= 1_000_000, "{} bytes", template.len());
    let parameters = stacks::every_stack().parameters.as_object().expect("parameters").len();
    assert!(parameters <= 200, "{parameters} parameters");
}
