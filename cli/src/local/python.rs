//! A private Python environment for the engine, made once from pinned and hashed requirements.

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sha2::{Digest, Sha256};

use super::checkout::Checkout;
use super::interpreters;
use crate::progress::Progress;

/// Names the Python to use.
pub const PYTHON_VARIABLE: &str = "IKKAI_PYTHON";

/// What is asked when none is named.
const CANDIDATES: [&str; 6] = ["python3", "python3.13", "python3.12", "python3.11", "python3.10", "python"];

/// Prints the version, then whether virtual environments can be made. Debian ships `venv` and `ensurepip` apart from Python.
const PROBE: &str = "import sys\nprint(*sys.version_info[:2])\ntry:\n    import venv, ensurepip\n    print('venv')\nexcept ImportError:\n    print('bare')";

/// Major and minor number.
pub(super) type Version = (u32, u32);

/// What an environment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extras {
    /// The engine alone.
    None,
    /// The engine and what the template checks need.
    Checks,
    /// The payment provider alone.
    Payments,
    /// A decoder of pictures alone.
    Pictures,
    /// The build tool for Lambda alone.
    Deploy,
    /// LocalStack alone.
    Localstack,
}

impl Extras {
    /// The requirements that make up the environment.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::None => &["localstack/requirements.txt"],
            Self::Checks => &["localstack/requirements.txt", "localstack/requirements-check.txt"],
            Self::Payments => &["localstack/requirements-payments.txt"],
            Self::Pictures => &["localstack/requirements-pictures.txt"],
            Self::Deploy => &["localstack/requirements-deploy.txt"],
            Self::Localstack => &["localstack/requirements-localstack.txt"],
        }
    }

    /// The versions of Python that these requirements work with.
    fn versions(self) -> RangeInclusive<Version> {
        match self {
            Self::None | Self::Checks | Self::Payments | Self::Pictures | Self::Deploy => (3, 10)..=(3, u32::MAX),
            // Older ones do not know its syntax, and nobody has tried newer ones.
            Self::Localstack => (3, 13)..=(3, 13),
        }
    }
}

/// Why there is no Python environment, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PythonError {
    /// No suitable Python.
    #[error(
        "this needs Python {wanted}, and none was found ({tried}); install one ({}), or set {PYTHON_VARIABLE} to its path",
        how_to_get(wanted)
    )]
    NotFound {
        /// The versions that would do.
        wanted: String,
        /// What was asked, and what it said.
        tried: String,
    },
    /// Python cannot make virtual environments.
    #[error(
        "`{python}` cannot make virtual environments: its module venv or ensurepip is missing; \
         install it (Debian, Ubuntu: `apt install python3-venv`), or set {PYTHON_VARIABLE} to another Python"
    )]
    NoVenv {
        /// The Python that was asked.
        python: String,
    },
    /// Making the environment failed.
    #[error("could not make the Python environment: {}\n{tail}", command)]
    CommandFailed {
        /// What was run.
        command: String,
        /// The last lines that it wrote.
        tail: String,
    },
    /// A file could not be read or written.
    #[error("cannot use `{}` for the Python environment", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A ready environment.
#[derive(Debug, Clone)]
pub struct PythonEnvironment {
    folder: PathBuf,
}

impl PythonEnvironment {
    /// The environment's Python.
    #[must_use]
    pub fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// A program that a package of the environment brings.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }
}

/// The environment for `extras`, made now or on an earlier run. Processes that ask at the same time make it once.
///
/// # Errors
/// There is no suitable Python, or packages cannot be installed.
pub async fn environment(checkout: &Checkout, extras: Extras, progress: &Progress) -> Result<PythonEnvironment, PythonError> {
    let (checkout, progress) = (checkout.clone(), progress.clone());
    // Waits for locks and for pip.
    let making = tokio::task::spawn_blocking(move || make(&checkout, extras, &progress));
    making.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

fn make(checkout: &Checkout, extras: Extras, progress: &Progress) -> Result<PythonEnvironment, PythonError> {
    let requirements: Vec<PathBuf> = extras.files().iter().map(|file| checkout.file(file)).collect();
    let state = checkout.state();
    std::fs::create_dir_all(&state).map_err(file_error(&state))?;
    let folder = state.join(format!("venv-{}", digest(&requirements)?));
    let environment = PythonEnvironment { folder: folder.clone() };

    let lock_path = folder.with_extension("lock");
    let lock = File::create(&lock_path).map_err(file_error(&lock_path))?;
    lock.lock().map_err(file_error(&lock_path))?;
    // Written last: an environment without it was interrupted. (It cannot be made elsewhere and renamed: its scripts name its folder.)
    let complete = folder.join("complete");
    if complete.is_file() && works(&environment.python()) {
        return Ok(environment);
    }

    let step = progress.begin("making a private Python environment");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(file_error(&folder))?;
    }
    let python = find(&extras.versions())?;
    step.detail(format!("with {python}"));
    run(Command::new(&python).args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(environment.python());
    pip.args(["-m", "pip", "install", "--quiet", "--require-hashes", "--no-input", "--disable-pip-version-check"]);
    for file in &requirements {
        pip.arg("--requirement").arg(file);
    }
    step.detail("installing packages");
    run(&mut pip)?;
    File::create(&complete).map_err(file_error(&complete))?;
    step.done();
    Ok(environment)
}

/// Finds a Python that can make environments.
fn find(versions: &RangeInclusive<Version>) -> Result<String, PythonError> {
    let named = std::env::var(PYTHON_VARIABLE).ok().filter(|name| !name.is_empty());
    match named {
        Some(name) => find_among(&[&name], versions, ask),
        None => {
            // What is not on the path can still be there: version managers keep several.
            let home = std::env::home_dir().unwrap_or_default();
            let elsewhere = interpreters::installed(&home, versions, |name| std::env::var_os(name).map(PathBuf::from));
            let candidates: Vec<&str> = CANDIDATES.into_iter().chain(elsewhere.iter().map(String::as_str)).collect();
            find_among(&candidates, versions, ask)
        }
    }
}

fn find_among(
    candidates: &[&str],
    versions: &RangeInclusive<Version>,
    ask: impl Fn(&str) -> Result<String, String>,
) -> Result<String, PythonError> {
    let mut refused = Vec::new();
    let mut without_venv = None;
    for &candidate in candidates {
        match ask(candidate).and_then(|answer| Probe::read(&answer, versions)) {
            Ok(Probe { venv: true }) => return Ok(candidate.to_owned()),
            Ok(Probe { venv: false }) => without_venv = without_venv.or(Some(candidate)),
            Err(reason) => refused.push(format!("{candidate}: {reason}")),
        }
    }
    Err(match without_venv {
        Some(python) => PythonError::NoVenv { python: python.to_owned() },
        None => PythonError::NotFound { wanted: named_versions(versions), tried: refused.join(", ") },
    })
}

/// The versions for a person: `3.10 or newer`, or the only one.
fn named_versions(versions: &RangeInclusive<Version>) -> String {
    let (major, minor) = versions.start();
    if versions.start() == versions.end() { format!("{major}.{minor}") } else { format!("{major}.{minor} or newer") }
}

/// Systems ship one version of Python; a certain one comes from a version manager.
fn how_to_get(wanted: &str) -> String {
    if wanted.ends_with("or newer") {
        return "Debian, Ubuntu: `apt install python3 python3-venv`; macOS: `brew install python`".to_owned();
    }
    format!("`uv python install {wanted}`, `pyenv install {wanted}`; macOS: `brew install python@{wanted}`")
}

/// What a Python says about itself, or why it says nothing.
fn ask(python: &str) -> Result<String, String> {
    let output = clean(&mut Command::new(python)).args(["-c", PROBE]).output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "not installed".to_owned(),
        _ => error.to_string(),
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A Python of a version that will do.
struct Probe {
    venv: bool,
}

impl Probe {
    /// Reads the answer to [`PROBE`].
    fn read(answer: &str, versions: &RangeInclusive<Version>) -> Result<Self, String> {
        let words: Vec<&str> = answer.split_whitespace().collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u32>().ok());
        match (number(0), number(1)) {
            (Some(major), Some(minor)) if versions.contains(&(major, minor)) => Ok(Self { venv: words.get(2) == Some(&"venv") }),
            (Some(major), Some(minor)) => Err(format!("is {major}.{minor}")),
            // A version manager's placeholder for a Python that is not switched on ends here.
            _ => Err("does not run".to_owned()),
        }
    }
}

/// The Python of an old environment stops working when the Python it was made with is removed.
fn works(python: &Path) -> bool {
    clean(&mut Command::new(python)).args(["-c", ""]).output().is_ok_and(|output| output.status.success())
}

/// Another Python's settings must not reach the private environment.
fn clean(command: &mut Command) -> &mut Command {
    command.env_remove("PYTHONHOME").env_remove("PYTHONPATH").env_remove("VIRTUAL_ENV").stdin(Stdio::null())
}

fn run(command: &mut Command) -> Result<(), PythonError> {
    let shown = std::iter::once(command.get_program()).chain(command.get_args()).map(|word| word.to_string_lossy());
    let shown = shown.collect::<Vec<_>>().join(" ");
    match clean(command).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(PythonError::CommandFailed { command: shown, tail: last_lines(&output) }),
        Err(error) => Err(PythonError::CommandFailed { command: shown, tail: error.to_string() }),
    }
}

fn last_lines(output: &Output) -> String {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(12)..].iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}

fn digest(files: &[PathBuf]) -> Result<String, PythonError> {
    let mut hash = Sha256::new();
    for path in files {
        hash.update(std::fs::read(path).map_err(file_error(path))?);
    }
    Ok(hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> PythonError {
    let path = path.to_owned();
    move |source| PythonError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: RangeInclusive<Version> = (3, 10)..=(3, u32::MAX);

    #[test]
    fn a_python_that_is_too_new_for_what_it_shall_run_is_passed_over() {
        let ask = |name: &str| Ok(if name == "python3" { "3 14\nvenv\n" } else { "3 13\nvenv\n" }.to_owned());
        let only = Extras::Localstack.versions();
        assert_eq!(find_among(&["python3", "python3.13"], &only, ask).unwrap(), "python3.13");
        let error = find_among(&["python3"], &only, ask).unwrap_err().to_string();
        assert!(error.contains("needs Python 3.13, ") && error.contains("python3: is 3.14"), "{error}");
        assert!(error.contains("`pyenv install 3.13`"), "{error}");
    }

    #[test]
    fn without_python_the_error_says_what_was_tried_and_how_to_get_one() {
        let error = find_among(&["/nonexistent/python3"], &ANY, ask).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/python3: not installed"), "{error}");
        assert!(error.contains("3.10 or newer") && error.contains("apt install") && error.contains(PYTHON_VARIABLE), "{error}");
    }

    #[test]
    fn an_old_python_is_refused_by_its_version() {
        let error = find_among(&["python3"], &ANY, |_| Ok("3 9\nvenv\n".to_owned())).unwrap_err().to_string();
        assert!(error.contains("python3: is 3.9"), "{error}");
    }

    #[test]
    fn a_placeholder_that_prints_nothing_is_passed_over() {
        let ask = |name: &str| Ok(if name == "python3" { String::new() } else { "3 12\nvenv\n".to_owned() });
        assert_eq!(find_among(&["python3", "python3.12"], &ANY, ask).unwrap(), "python3.12");
    }

    #[test]
    fn a_python_without_venv_is_named_with_the_mend_unless_a_later_one_has_it() {
        let bare = |_: &str| Ok("3 11\nbare\n".to_owned());
        let error = find_among(&["python3", "python3.10"], &ANY, bare).unwrap_err();
        assert!(matches!(&error, PythonError::NoVenv { python } if python == "python3"));
        assert!(error.to_string().contains("python3-venv"), "{error}");

        let later = |name: &str| Ok(if name == "python3" { "3 11\nbare\n" } else { "3 10\nvenv\n" }.to_owned());
        assert_eq!(find_among(&["python3", "python3.10"], &ANY, later).unwrap(), "python3.10");
    }

    #[test]
    fn the_python_of_this_machine_answers_the_probe() {
        let answer = ask("python3").unwrap();
        assert!(Probe::read(&answer, &ANY).is_ok(), "{answer}");
    }

    #[test]
    fn a_failed_command_shows_the_last_lines_it_wrote() {
        let error = run(Command::new("sh").args(["-c", "seq 1 40; echo no such package >&2; exit 1"])).unwrap_err().to_string();
        assert!(error.contains("no such package") && error.contains("| 40") && !error.contains("| 20\n"), "{error}");
    }

    #[test]
    fn other_requirements_are_another_environment() {
        let folder = std::env::temp_dir().join(format!("ikkai-requirements-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("requirements.txt");
        std::fs::write(&file, "a==1").unwrap();
        let one = digest(std::slice::from_ref(&file)).unwrap();
        std::fs::write(&file, "a==2").unwrap();
        assert_ne!(one, digest(std::slice::from_ref(&file)).unwrap());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
