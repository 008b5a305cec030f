//! Builds functions' binaries with cargo.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Builds these binaries of the workspace, all in one go, and returns where each is.
///
/// Cargo is asked for the paths instead of guessing them: the target folder can be anywhere. It is told no package, so that it unites the features
/// of all packages as every other command does, and compiles no dependency a second time.
///
/// # Errors
/// When cargo fails; its messages are on standard error.
pub fn build(names: &[&str], profile: &str) -> Result<Vec<PathBuf>, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--profile", profile, "--message-format", "json-render-diagnostics"]);
    command.args(names.iter().flat_map(|name| ["--bin", name]));
    let output = command
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("building {} failed; see cargo's messages above", names.join(", ")));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let path = |name: &&str| executable(&messages, name).ok_or_else(|| format!("cargo built no binary {name}"));
    names.iter().map(path).collect()
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
