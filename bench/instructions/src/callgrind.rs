//! This program under callgrind.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cases::Case;
use crate::measured;

/// Why nothing was counted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallgrindError {
    #[error("valgrind did not start; install it (on Debian and Ubuntu: apt install valgrind), it runs on Linux")]
    NotThere(#[source] std::io::Error),
    #[error("the path of this program is not known")]
    NoProgram(#[source] std::io::Error),
    #[error("`{case}` failed under callgrind: {output}")]
    Failed { case: String, output: String },
    #[error("callgrind's result `{}` cannot be read", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error(
        "callgrind counted nothing of `{case}`: build with symbols, in profile `local` or with CARGO_PROFILE_RELEASE_STRIP=none"
    )]
    Nothing { case: String },
}

/// valgrind's version, as it tells it.
pub(crate) fn version() -> Result<String, CallgrindError> {
    let told = Command::new("valgrind").arg("--version").output().map_err(CallgrindError::NotThere)?;
    Ok(String::from_utf8_lossy(&told.stdout).trim().to_owned())
}

/// Instructions that one run of `case` takes: those of the counted stretch, divided by its repetitions.
pub(crate) fn instructions(case: Case) -> Result<u64, CallgrindError> {
    let name = case.name();
    let program = std::env::current_exe().map_err(CallgrindError::NoProgram)?;
    let result = ResultFile(std::env::temp_dir().join(format!("ikkai-instructions-{}-{name}", std::process::id())));
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--dump-instr=no"])
        .arg(format!("--toggle-collect=*{}*", measured::SYMBOL))
        .arg(format!("--callgrind-out-file={}", result.0.display()))
        .arg(program)
        .args(["play", &name])
        .stdin(Stdio::null())
        .output()
        .map_err(CallgrindError::NotThere)?;
    if !run.status.success() {
        return Err(CallgrindError::Failed { case: name, output: String::from_utf8_lossy(&run.stderr).trim().to_owned() });
    }
    let written = std::fs::read_to_string(&result.0);
    let written = written.map_err(|source| CallgrindError::Unreadable { path: result.0.clone(), source })?;
    match total(&written) {
        Some(total) if total > 0 => Ok(total / u64::from(case.repetitions())),
        _ => Err(CallgrindError::Nothing { case: name }),
    }
}

/// The sum at the end of callgrind's file, of its only event: `Ir`, instructions read.
fn total(written: &str) -> Option<u64> {
    written.lines().find_map(|line| line.strip_prefix("totals:"))?.trim().parse().ok()
}

/// Removed when it was read.
struct ResultFile(PathBuf);

impl Drop for ResultFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_read_from_the_end_of_the_file() {
        let written = "# callgrind format\nevents: Ir\nsummary: 12\n\nfn=(0) a\n0 1234\n\ntotals: 123456\n";
        assert_eq!(total(written), Some(123_456));
        assert_eq!(total("events: Ir\n"), None);
    }
}
