//! Builds the functions for Lambda with [cargo-lambda](https://www.cargo-lambda.info), which brings a linker for an old enough glibc.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::artifact::Architecture;
use crate::compiling;
use crate::local::checkout::Checkout;
use crate::local::python::{self, Extras, PythonError};
use crate::progress::{Progress, Step};

/// The version that is tried and tested; `localstack/requirements-deploy.in` has the same.
pub const VERSION: &str = "1.9.2";

/// Where it leaves each function's `bootstrap`, in a folder of the function's name.
pub const FOLDER: &str = "target/lambda";

/// Why the functions were not built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CargoLambdaError {
    /// There is no cargo-lambda, and none could be installed.
    #[error(
        "the functions are built with cargo-lambda {VERSION}, which is not installed, and a private copy of it could not be made; \
         `pip install cargo-lambda=={VERSION}` installs it"
    )]
    Missing(#[source] PythonError),
    /// It could not be started.
    #[error("cannot run `{}`", program.display())]
    NotStarted {
        /// What was run.
        program: PathBuf,
        /// Why it did not start.
        source: std::io::Error,
    },
    /// The build failed.
    #[error("building the functions failed:\n{output}")]
    Failed {
        /// What was written, its end if it was long.
        output: String,
    },
}

/// An installed cargo-lambda.
#[derive(Debug, Clone)]
pub struct CargoLambda {
    program: PathBuf,
    /// Where its linker is, if that is not on the path.
    folder: Option<PathBuf>,
}

impl CargoLambda {
    /// The one on the path where it has the right version; else a private one, installed now or on an earlier run.
    ///
    /// # Errors
    /// It cannot be installed.
    pub async fn find(checkout: &Checkout, progress: &Progress) -> Result<Self, CargoLambdaError> {
        if is_right(Path::new("cargo-lambda")) {
            return Ok(Self { program: PathBuf::from("cargo-lambda"), folder: None });
        }
        let environment = python::environment(checkout, Extras::Deploy, progress).await.map_err(CargoLambdaError::Missing)?;
        let program = environment.program("cargo-lambda");
        Ok(Self { folder: program.parent().map(Path::to_owned), program })
    }

    /// Builds functions into [`FOLDER`].
    ///
    /// # Errors
    /// They do not compile.
    pub async fn build(
        &self,
        checkout: &Checkout,
        functions: &[String],
        architecture: Architecture,
        progress: &Progress,
    ) -> Result<(), CargoLambdaError> {
        let mut command = Command::new(&self.program);
        command.args(["lambda", "build", "--release", architecture.flag(), "--lambda-dir", FOLDER]);
        // Packages and not binaries: the features of this program and of the tests are not the functions'.
        for function in functions {
            command.args(["--package", function]);
        }
        if let Some(path) = self.path() {
            command.env("PATH", path);
        }
        // What cargo sets for the program that it runs is not the user's.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
                command.env_remove(name);
            }
        }
        command.current_dir(checkout.root()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let progress = progress.clone();
        let program = self.program.clone();
        let building = tokio::task::spawn_blocking(move || {
            let step = progress.begin(format!("building the functions for {}", architecture.parameter()));
            let child = command.spawn().map_err(|source| CargoLambdaError::NotStarted { program, source })?;
            follow(child, &step)?;
            step.done();
            Ok(())
        });
        building.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    /// The path of programs with the private environment before everything else: cargo-lambda looks there for its linker.
    fn path(&self) -> Option<OsString> {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.folder.clone()?).chain(std::env::split_paths(&rest));
        std::env::join_paths(folders).ok()
    }
}

fn is_right(program: &Path) -> bool {
    let asked = Command::new(program).args(["lambda", "--version"]).stdin(Stdio::null()).output();
    asked.is_ok_and(|answer| names_version(&String::from_utf8_lossy(&answer.stdout)))
}

/// `cargo-lambda 1.9.2 (67129fc 2026-08-21Z)`.
fn names_version(answer: &str) -> bool {
    answer.split_whitespace().nth(1) == Some(VERSION)
}

fn follow(mut child: std::process::Child, step: &Step<'_>) -> Result<(), CargoLambdaError> {
    let shown = child.stderr.take().map(|output| compiling::follow(output, step)).unwrap_or_default();
    if child.wait().is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(CargoLambdaError::Failed { output: shown })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_version_that_is_tried_will_do() {
        assert!(names_version("cargo-lambda 1.9.2 (67129fc 2026-08-21Z)\n"));
        for other in ["cargo-lambda 1.9.1 (x)", "cargo-lambda 1.9.20", "", "error: no such command: `lambda`"] {
            assert!(!names_version(other), "{other}");
        }
        assert!(!is_right(Path::new("/nonexistent/cargo-lambda")));
    }

    #[test]
    fn the_private_one_is_the_same_version() {
        let requirements = include_str!("../../../localstack/requirements-deploy.in");
        assert!(requirements.lines().any(|line| line == format!("cargo-lambda=={VERSION}")), "{requirements}");
    }

    #[test]
    fn a_failed_build_shows_what_the_compiler_said() {
        let child = Command::new("sh")
            .args(["-c", "echo '   Compiling x v1' >&2; echo 'error: no' >&2; exit 1"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let progress = Progress::silent();
        let error = follow(child, &progress.begin("building")).unwrap_err();
        assert_eq!(error.to_string(), "building the functions failed:\nerror: no");
    }
}
