//! Builds a function's binary with cargo.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Builds the binary `name` of the package `name` and returns where it is.
///
/// Cargo is asked for the path instead of guessing it: the target folder can be anywhere.
pub(crate) fn build(name: &str, profile: &str) -> Result<PathBuf, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--package", name, "--bin", name, "--profile", profile, "--message-format", "json-render-diagnostics"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("building {name} failed; see cargo's messages above"));
    }
    executable(&String::from_utf8_lossy(&output.stdout), name).ok_or_else(|| format!("cargo built no binary {name}"))
}

/// The executable that cargo reports for the binary `name`.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut artifacts = messages.filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == name);
    artifacts.find_map(|artifact| artifact["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binarys_path_is_taken_from_cargos_messages() {
        let messages = [
            r#"{"reason":"compiler-artifact","target":{"name":"email-consumer","kind":["lib"]},"executable":null}"#,
            "not a message",
            r#"{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/other"}"#,
            r#"{"reason":"compiler-artifact","target":{"name":"email-consumer","kind":["bin"]},"executable":"/t/email-consumer"}"#,
            r#"{"reason":"build-finished","success":true}"#,
        ];
        assert_eq!(executable(&messages.join("\n"), "email-consumer"), Some(PathBuf::from("/t/email-consumer")));
        assert_eq!(executable(messages[0], "email-consumer"), None);
    }
}
