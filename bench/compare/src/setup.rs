//! Everything that a contender needs, made once and kept: release builds, a private Python environment, a private folder of Node packages. All versions
//! are pinned, and hashed where their package manager can.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::artifact;
use crate::contender::Contender;

/// Names the Python to use.
const PYTHON_VARIABLE: &str = "IKKAI_PYTHON";

/// Where the binaries of this workspace come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// They are built with this cargo profile.
    Profile(String),
    /// They are in this folder.
    Folder(PathBuf),
}

/// How a contender's process is started.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) binary: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
}

/// All contenders, ready to be started, and the versions of what is not built here.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) launches: BTreeMap<Contender, Launch>,
    pub(crate) versions: BTreeMap<String, String>,
    /// The profile of what was built, or where it was found.
    pub(crate) profile: String,
}

/// Builds and installs what is missing.
pub(crate) fn set_up(origin: &Origin) -> Result<Field, Box<dyn Error>> {
    let mut launches = BTreeMap::new();
    let ours: Vec<_> = Contender::ALL.into_iter().filter_map(|contender| Some((contender, contender.binary()?))).collect();
    let names: Vec<_> = ours.iter().map(|(_, name)| *name).collect();
    for ((contender, _), binary) in ours.iter().zip(binaries(&names, origin)?) {
        launches.insert(*contender, launch(*contender, binary, &[]));
    }

    let python = python_environment()?;
    let bootstrap = root().join("bench/powertools-python/bootstrap");
    let found = [("CONTENDER_PYTHON", python.to_string_lossy().into_owned())];
    launches.insert(Contender::Python, launch(Contender::Python, bootstrap, &found));

    let node_folder = node_folder()?;
    launches.insert(Contender::TypeScript, launch(Contender::TypeScript, node_folder.join("bootstrap"), &[]));

    let versions = BTreeMap::from([
        ("python".to_owned(), version(Command::new(&python).arg("--version"))?),
        ("node".to_owned(), version(Command::new("node").arg("--version"))?),
        (
            "powertools_python".to_owned(),
            pinned(include_str!("../../powertools-python/requirements.txt"), "aws-lambda-powertools==")?,
        ),
        (
            "powertools_typescript".to_owned(),
            pinned(include_str!("../../powertools-typescript/package.json"), "lambda-powertools/idempotency\": \"")?,
        ),
    ]);
    let profile = match origin {
        Origin::Profile(profile) => profile.clone(),
        Origin::Folder(folder) => folder.display().to_string(),
    };
    Ok(Field { launches, versions, profile })
}

fn binaries(names: &[&str], origin: &Origin) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    match origin {
        Origin::Profile(profile) => {
            eprintln!("building {} (profile {profile}; the first time this takes minutes)", names.join(", "));
            Ok(artifact::build(names, profile)?)
        }
        Origin::Folder(folder) => Ok(names.iter().map(|name| folder.join(name)).collect()),
    }
}

fn launch(contender: Contender, binary: PathBuf, found: &[(&str, String)]) -> Launch {
    let own = contender.variables().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let found = found.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    Launch { binary, variables: own.chain(found).collect() }
}

/// A Python environment under `.ikkai/`, made again when its requirements change. Returns its Python.
fn python_environment() -> Result<PathBuf, Box<dyn Error>> {
    let requirements = root().join("bench/powertools-python/requirements.txt");
    let folder = root().join(".ikkai/compare-python");
    let python = folder.join("bin/python");
    let stamp = folder.join("requirements.txt");
    if same(&requirements, &stamp) && python.is_file() {
        return Ok(python);
    }
    eprintln!("making a private Python environment");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let base = std::env::var(PYTHON_VARIABLE).unwrap_or_else(|_| "python3".to_owned());
    run(Command::new(&base).args(["-m", "venv"]).arg(&folder)).map_err(|error| {
        format!("{error}\n`{base}` has to be Python 3.10 or newer with `venv`; {PYTHON_VARIABLE} names another")
    })?;
    let pip =
        ["-m", "pip", "install", "--quiet", "--require-hashes", "--no-input", "--disable-pip-version-check", "--requirement"];
    run(Command::new(&python).args(pip).arg(&requirements))?;
    // Last: an environment without it was interrupted.
    fs::copy(&requirements, &stamp)?;
    Ok(python)
}

/// A folder of Node packages under `.ikkai/` with the handler as one file, made again when a source changes. No package's scripts are run.
fn node_folder() -> Result<PathBuf, Box<dyn Error>> {
    const SOURCES: [&str; 5] = ["package.json", "package-lock.json", "app.ts", "runtime.mjs", "bootstrap"];
    let source = root().join("bench/powertools-typescript");
    let folder = root().join(".ikkai/compare-node");
    let bundle = folder.join("dist/app.mjs");
    if SOURCES.iter().all(|file| same(&source.join(file), &folder.join(file))) && bundle.is_file() {
        return Ok(folder);
    }
    eprintln!("installing Node packages");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for file in SOURCES {
        fs::copy(source.join(file), folder.join(file))?;
    }
    run(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]).current_dir(&folder))
        .map_err(|error| format!("{error}\nnpm comes with Node.js, version 20 or newer"))?;
    // The packages that are CommonJS ask for `require`.
    let banner = "--banner:js=import { createRequire } from 'module'; const require = createRequire(import.meta.url);";
    let esbuild = ["app.ts", "--bundle", "--minify", "--platform=node", "--target=node20", "--format=esm", "--log-level=warning"];
    run(Command::new("node")
        .arg("node_modules/esbuild/bin/esbuild")
        .args(esbuild)
        .args([banner, "--outfile=dist/app.mjs"])
        .current_dir(&folder))?;
    Ok(folder)
}

fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let status = command.status().map_err(|error| format!("{shown} cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed: {status}")) }
}

/// What a program says about its version.
fn version(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(said.trim_start_matches("Python ").trim_start_matches('v').to_owned())
}

/// The version that stands behind `before`.
fn pinned(text: &str, before: &str) -> Result<String, String> {
    let behind = text.split_once(before).ok_or_else(|| format!("nothing is pinned as {before}"))?.1;
    Ok(behind.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect())
}

fn same(left: &Path, right: &Path) -> bool {
    matches!((fs::read(left), fs::read(right)), (Ok(left), Ok(right)) if left == right)
}

/// The checkout's folder.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_that_are_told_are_those_that_are_pinned() {
        assert_eq!(pinned("a==1\nb==2.10.0 \\\n", "b=="), Ok("2.10.0".to_owned()));
        assert!(pinned("a==1", "b==").is_err());
        let lock: serde_json::Value =
            serde_json::from_str(include_str!("../../powertools-typescript/package-lock.json")).expect("a lock file");
        let locked = &lock["packages"]["node_modules/@aws-lambda-powertools/idempotency"]["version"];
        let package = include_str!("../../powertools-typescript/package.json");
        assert_eq!(pinned(package, "lambda-powertools/idempotency\": \"").as_deref().ok(), locked.as_str());
    }
}
