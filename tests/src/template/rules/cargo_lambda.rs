//! What `cargo lambda deploy` sends along with a function's code.

use super::functions::binary;
use crate::template::stack::Stack;

/// The section of a function's manifest.
const SECTION: &str = "[package.metadata.lambda.deploy]";

/// `cargo lambda deploy` leaves every function as the template has made it: it sets memory and timeout to what the manifest says, and
/// without `merge_env` it takes away every variable that it does not name. `manifest` gives a function's Cargo.toml.
pub fn manifests_agree(stack: &Stack, manifest: impl Fn(&str) -> String) -> Vec<String> {
    let mut violations = Vec::new();
    for function in stack.of_type("AWS::Lambda::Function") {
        let Some(name) = binary(&function) else { continue };
        let manifest = manifest(name);
        let Some(section) = manifest.split_once(SECTION).map(|(_, rest)| rest) else {
            violations.push(format!("{name}: its manifest has no {SECTION}"));
            continue;
        };
        let section = section.split("\n[").next().unwrap_or_default();
        let wanted = [
            ("memory", function.number("/MemorySize").unwrap_or_default().to_string()),
            ("timeout", function.number("/Timeout").unwrap_or_default().to_string()),
            ("merge_env", "true".to_owned()),
        ];
        for (key, wanted) in wanted {
            let found = section.lines().find_map(|line| line.split_once('=').filter(|(name, _)| name.trim() == key));
            match found.map(|(_, value)| value.trim()) {
                Some(found) if found == wanted => {}
                Some(found) => violations.push(format!("{name}: {key} is {found} in its manifest and {wanted} in the template")),
                None => violations.push(format!("{name}: its manifest does not say {key}")),
            }
        }
        let known = ["memory", "timeout", "merge_env"];
        let others = section.lines().filter_map(|line| line.split_once('=')).map(|(key, _)| key.trim());
        let others = others.filter(|key| !key.starts_with('#') && !known.contains(key));
        violations.extend(others.map(|key| format!("{name}: {key} in its manifest would change what the template has made")));
    }
    violations
}
