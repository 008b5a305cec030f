//! The Java of this machine: DynamoDB Local runs on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// DynamoDB Local's own demand
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.DownloadingAndRunning.html>).
const OLDEST: u32 = 17;

/// There is no suitable Java.
#[derive(Debug, thiserror::Error)]
#[error(
    "LocalStack's DynamoDB needs Java {OLDEST} or newer, and none was found ({tried}); \
     install one (Debian, Ubuntu: `apt install openjdk-17-jre-headless`; macOS: `brew install openjdk`), or set JAVA_HOME to its folder"
)]
pub struct JavaError {
    tried: String,
}

/// The home folder of the first Java that is new enough: that of `JAVA_HOME`, else the one on the path.
///
/// # Errors
/// There is none.
pub(super) fn home() -> Result<PathBuf, JavaError> {
    let named = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let named = named.map(|home| Path::new(&home).join("bin/java").display().to_string());
    // Homebrew's is not on the path.
    let candidates = ["java", "/opt/homebrew/opt/openjdk/bin/java", "/usr/local/opt/openjdk/bin/java"].map(str::to_owned);
    among(named.into_iter().chain(candidates), ask)
}

fn among(
    candidates: impl Iterator<Item = String>,
    ask: impl Fn(&str) -> Result<String, &'static str>,
) -> Result<PathBuf, JavaError> {
    let mut tried = Vec::new();
    for candidate in candidates {
        match ask(&candidate).and_then(|settings| home_in(&settings)) {
            Ok(home) => return Ok(home),
            Err(reason) => tried.push(format!("{candidate}: {reason}")),
        }
    }
    Err(JavaError { tried: tried.join(", ") })
}

/// What a Java says about itself.
fn ask(java: &str) -> Result<String, &'static str> {
    let output = Command::new(java).args(["-XshowSettings:properties", "-version"]).stdin(Stdio::null()).output();
    let output = output.map_err(|_| "not installed")?;
    // macOS has a placeholder for a Java that is not installed.
    if output.status.success() { Ok(String::from_utf8_lossy(&output.stderr).into_owned()) } else { Err("does not run") }
}

/// Reads `    java.home = /usr/lib/jvm/…` and `    java.specification.version = 17`.
fn home_in(settings: &str) -> Result<PathBuf, &'static str> {
    let property = |name: &str| settings.lines().filter_map(|line| line.split_once(" = ")).find(|(key, _)| key.trim() == name);
    // Before Java 9 it is `1.8`.
    let version = property("java.specification.version").and_then(|(_, version)| version.trim().parse::<u32>().ok());
    match (version, property("java.home")) {
        (Some(version), Some((_, home))) if version >= OLDEST => Ok(PathBuf::from(home.trim())),
        (None, None) => Err("does not tell its version"),
        _ => Err("is too old"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVENTEEN: &str = "Property settings:\n    java.home = /usr/lib/jvm/a b\n    java.specification.version = 17\n";
    const EIGHT: &str = "    java.home = /usr/lib/jvm/8/jre\n    java.specification.version = 1.8\n";

    #[test]
    fn the_first_java_that_is_new_enough_is_taken() {
        let ask = |name: &str| match name {
            "new" => Ok(SEVENTEEN.to_owned()),
            "old" => Ok(EIGHT.to_owned()),
            _ => Err("not installed"),
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().into_iter();
        assert_eq!(among(names(&["none", "old", "new"]), ask).unwrap(), Path::new("/usr/lib/jvm/a b"));
        let error = among(names(&["none", "old"]), ask).unwrap_err().to_string();
        assert!(error.contains("none: not installed, old: is too old"), "{error}");
        assert!(error.contains("Java 17") && error.contains("apt install") && error.contains("JAVA_HOME"), "{error}");
    }
}
