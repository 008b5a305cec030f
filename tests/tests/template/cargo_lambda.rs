//! `cargo lambda deploy` on a stack of the template.

use ikkai_cli::local::checkout::Checkout;
use ikkai_tests::template::rules::cargo_lambda::manifests_agree;

use crate::stacks::every_stack;

fn manifest(function: &str) -> String {
    let checkout = Checkout::around(env!("CARGO_MANIFEST_DIR").as_ref()).expect("a checkout");
    std::fs::read_to_string(checkout.file(&format!("functions/{function}/Cargo.toml"))).expect("a manifest")
}

#[test]
fn an_update_by_cargo_lambda_changes_the_code_alone() {
    let defaults = &every_stack().stacks[0];
    assert_eq!(manifests_agree(defaults, manifest), Vec::<String>::new());
    for (text, other, noticed) in [
        ("memory = 1792", "memory = 512", "image-consumer: memory is 512 in its manifest and 1792 in the template"),
        ("timeout = 60", "timeout = 3", "image-consumer: timeout is 3 in its manifest and 60 in the template"),
        ("merge_env = true", "merge_env = false", "image-consumer: merge_env is false"),
        ("merge_env = true", "", "image-consumer: its manifest does not say merge_env"),
        ("merge_env = true", "merge_env = true\nrole = \"x\"", "image-consumer: role in its manifest"),
        ("[package.metadata.lambda.deploy]", "", "image-consumer: its manifest has no"),
    ] {
        let broken = |function: &str| match function {
            "image-consumer" => manifest(function).replace(text, other),
            _ => manifest(function),
        };
        let found = manifests_agree(defaults, broken);
        assert!(found.iter().any(|violation| violation.starts_with(noticed)), "{other}: {found:?}");
    }
}
