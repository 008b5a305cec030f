//! The panic hook.

use std::panic::{self, Location};

/// Logs where a panic happened. Rust's own hook would print the panic's text, and `unwrap` and `expect` quote the value they failed on there.
pub(super) fn install_hook() {
    panic::set_hook(Box::new(|info| log(info.location())));
}

fn log(location: Option<&Location<'_>>) {
    let Some(location) = location else {
        tracing::error!("panicked");
        return;
    };
    let file = without_build_folder(location.file());
    tracing::error!(location = format_args!("{file}:{}:{}", location.line(), location.column()), "panicked");
}

/// A dependency's path without the folder it was built in, which says nothing but who built it: `hyper-1.0.0/src/lib.rs`.
fn without_build_folder(path: &str) -> &str {
    path.split_once("/registry/src/").and_then(|(_, inside)| inside.split_once('/')).map_or(path, |(_, file)| file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::logs::LevelSetting;
    use crate::observability::logs::capture::Captured;

    #[test]
    fn a_panic_is_logged_with_its_place_and_not_its_text() {
        let captured = Captured::start(LevelSetting::Info);
        log(Some(Location::caller()));
        let line = captured.only_line();
        assert_eq!(line["message"], "panicked");
        assert_eq!(line["level"], "ERROR");
        let location = line["location"].as_str().expect("a text");
        assert!(location.starts_with("shared/src/observability/logs/panics.rs:"), "{location}");
    }

    /// Set in the process that [`a_panicking_process_logs_the_place_and_nothing_of_the_text`] starts.
    const IN_CHILD: &str = "IKKAI_TEST_PANIC_IN_THIS_PROCESS";

    #[test]
    fn a_panicking_process_logs_the_place_and_nothing_of_the_text() {
        let text = "someone@example.org";
        if std::env::var_os(IN_CHILD).is_some() {
            crate::observability::logs::init(LevelSetting::Info);
            panic!("{text}");
        }
        let test = concat!(module_path!(), "::a_panicking_process_logs_the_place_and_nothing_of_the_text");
        let test = test.split_once("::").expect("the crate's name comes first").1;
        let child = std::process::Command::new(std::env::current_exe().expect("this test's binary"))
            .args(["--exact", test, "--nocapture"])
            .env(IN_CHILD, "1")
            .output()
            .expect("the binary starts");
        let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        assert!(!child.status.success(), "{out}{err}");
        assert!(!out.contains(text) && !err.contains(text), "{out}{err}");
        let line = out.lines().find(|line| line.contains("panicked")).unwrap_or_else(|| panic!("no line in: {out}{err}"));
        let line: serde_json::Value = serde_json::from_str(&line[line.find('{').expect("an object")..]).expect("JSON");
        assert_eq!(line["level"], "ERROR");
        assert!(line["location"].as_str().is_some_and(|place| place.contains("panics.rs:")), "{line}");
    }

    #[test]
    fn paths_of_dependencies_lose_the_folder_they_were_built_in() {
        let path = "/home/someone/.cargo/registry/src/index-1949cf8c/hyper-1.0.0/src/lib.rs";
        assert_eq!(without_build_folder(path), "hyper-1.0.0/src/lib.rs");
        assert_eq!(without_build_folder("shared/src/lib.rs"), "shared/src/lib.rs");
    }
}
