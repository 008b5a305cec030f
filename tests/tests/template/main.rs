//! Template tests: what is deployed keeps the rules that the code relies on, for every value that a parameter allows. Each rule is also
//! shown to notice a stack that was broken on purpose, at every consumer.

mod buckets;
mod cargo_lambda;
mod doors;
mod functions;
mod keys;
mod mappings;
mod monitoring;
mod mutations;
mod operators;
mod parameters;
mod permissions;
mod queues;
mod roles;
mod secrets;
mod stacks;
mod tables;
mod tags;
mod topics;

use ikkai_tests::template::{Template, lint, lint_stacks, parameters};

#[test]
fn the_templates_are_clean() {
    for template in [Template::Application, Template::Monitoring] {
        assert_eq!(lint(template), "");
    }
}

/// Standard and FIFO queues, with and without a key, every door, every switch on and off.
#[test]
fn the_stacks_of_every_variant_are_clean() {
    let token = [("JwtIssuer", "https://issuer.example"), ("JwtAudience", "jobs")];
    let mut sets = vec![
        parameters(&[("Api", "url")]),
        parameters(&[("Api", "http"), ("KmsKeyArn", stacks::KEY)]),
        parameters(&[&token[..], &[("Api", "both")]].concat()),
    ];
    for key in ["", stacks::KEY] {
        let mut set = stacks::of_queue_type("fifo");
        let switches = [
            ("Api", "both"),
            ("KmsKeyArn", key),
            ("Tracing", "on"),
            ("ReserveConcurrency", "on"),
            ("JobsTableWarmWritesPerSecond", "8000"),
        ];
        set.extend(switches.map(|(name, value)| (name.to_owned(), value.into())));
        sets.push(set);
    }
    assert_eq!(lint_stacks(&sets), "");
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
