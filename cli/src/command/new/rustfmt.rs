//! Rust sources as rustfmt wants them, before they are written: what does not parse is noticed while nothing is changed yet.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why a source could not be formatted.
#[derive(Debug, thiserror::Error)]
pub(super) enum FormatError {
    #[error("cannot run rustfmt: add it with `rustup component add rustfmt`")]
    NoRustfmt { source: std::io::Error },
    #[error("rustfmt does not take the new source:\n{output}")]
    Refused { output: String },
}

/// The source, formatted by the rules of the checkout at `root`.
pub(super) fn formatted(root: &Path, source: &str) -> Result<String, FormatError> {
    let mut command = Command::new("rustfmt");
    command.arg("--config-path").arg(root).args(["--emit", "stdout", "--quiet"]).current_dir(root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| FormatError::NoRustfmt { source })?;
    // Sources are longer than a pipe holds: one thread writes while this one reads.
    let input = child.stdin.take();
    let source = source.to_owned();
    let writing = std::thread::spawn(move || input.map(|mut input| input.write_all(source.as_bytes())));
    let output = child.wait_with_output().map_err(|source| FormatError::NoRustfmt { source })?;
    let _ = writing.join();
    if !output.status.success() {
        return Err(FormatError::Refused { output: String::from_utf8_lossy(&output.stderr).trim_end().to_owned() });
    }
    String::from_utf8(output.stdout).map_err(|_| FormatError::Refused { output: "what it writes is no text".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    #[test]
    fn modules_and_names_are_put_in_order_by_the_rules_of_the_checkout() {
        let source = "mod b;\nmod a;\n\nuse x::{\n    B, A};\n\nfn f() { if c { 1 } else { 2 } }\n";
        assert_eq!(
            formatted(root(), source).unwrap(),
            "mod a;\nmod b;\n\nuse x::{A, B};\n\nfn f() {\n    if c { 1 } else { 2 }\n}\n"
        );
    }

    #[test]
    fn what_is_no_rust_is_refused_with_its_line() {
        let error = formatted(root(), "fn f( {}\n").unwrap_err().to_string();
        assert!(error.contains("fn f("), "{error}");
    }
}
