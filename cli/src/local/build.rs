//! Builds the function binaries and packs each as Lambda wants it: a zip with one executable `bootstrap`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;

use super::checkout::Checkout;
use crate::compiling;
use crate::progress::{Progress, Step};

/// The functions of the stack, by package and binary name.
pub const FUNCTIONS: [&str; NAMES.len()] = {
    let mut functions = [""; NAMES.len()];
    functions.copy_from_slice(NAMES);
    functions
};

/// A slice, so that a function more is a line more.
const NAMES: &[&str] = &[
    "producer-api",
    "email-consumer",
    "image-consumer",
    "billing-consumer",
    "report-consumer",
    "webhook-consumer",
    // ikkai new consumer: function
    "ses-feedback",
    "dlq-redrive",
];

/// Optimised enough to behave like a release, built in a fraction of its time.
const PROFILE: &str = "local";

/// Local engines deliver no authorizer identity with a function URL, and callbacks lead to this machine; only local builds have these features.
const FEATURES: &str = "producer-api/local-identity,producer-api/local-callbacks,webhook-consumer/local-callbacks";

/// Compression for a zip that travels over the loopback alone.
const FASTEST: i64 = 1;

/// Compression for a zip that travels at each cold start.
const SMALLEST: i64 = 9;

/// Why there are no function binaries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No cargo.
    #[error("cannot run `{}`: install Rust from https://rustup.rs, or set CARGO to the path of cargo", cargo.display())]
    NoCargo {
        /// What was run.
        cargo: PathBuf,
        /// Why it did not start.
        source: std::io::Error,
    },
    /// The compiler refused.
    #[error("building the functions failed:\n{output}")]
    Failed {
        /// What the compiler wrote, its end if it was long.
        output: String,
    },
    /// A build without the wanted binary.
    #[error("the build made no binary named `{name}`")]
    Missing {
        /// Its name.
        name: String,
    },
    /// A packed function is not there.
    #[error("cannot read the function `{}`", path.display())]
    NoZip {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A binary could not be packed.
    #[error("cannot pack `{}`", path.display())]
    Pack {
        /// The binary.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A function, ready to be uploaded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Package {
    /// The function's name.
    pub name: String,
    /// The zip.
    pub zip: Bytes,
    /// SHA-256 of the zip, hexadecimal.
    pub digest: String,
}

impl Package {
    /// Packs a binary.
    ///
    /// # Errors
    /// The binary cannot be read.
    pub fn of(name: &str, binary: &Path) -> Result<Self, BuildError> {
        let failed = |source| BuildError::Pack { path: binary.to_owned(), source };
        let content = std::fs::read(binary).map_err(failed)?;
        Ok(Self::of_zip(name, pack(&content, FASTEST).map_err(failed)?))
    }

    /// Packs a program's bytes as small as they get: Lambda loads the zip at each cold start.
    ///
    /// # Errors
    /// It cannot be compressed.
    pub fn smallest(name: &str, content: &[u8]) -> std::io::Result<Self> {
        Ok(Self::of_zip(name, pack(content, SMALLEST)?))
    }

    /// Takes a zip as it is.
    pub(crate) fn of_zip(name: &str, zip: Vec<u8>) -> Self {
        let digest = Sha256::digest(&zip).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { name: name.to_owned(), zip: Bytes::from(zip), digest }
    }
}

/// Functions that were built and packed elsewhere: `<name>.zip` for each, in one folder.
///
/// # Errors
/// A zip is missing.
pub fn packed_functions(folder: &Path) -> Result<Vec<Package>, BuildError> {
    FUNCTIONS.iter().map(|name| packed_function(folder, name)).collect()
}

/// A function that was built and packed elsewhere: `<name>.zip` in a folder.
///
/// # Errors
/// The zip is missing.
pub fn packed_function(folder: &Path, name: &str) -> Result<Package, BuildError> {
    let path = folder.join(format!("{name}.zip"));
    match std::fs::read(&path) {
        Ok(zip) => Ok(Package::of_zip(name, zip)),
        Err(source) => Err(BuildError::NoZip { path, source }),
    }
}

/// The same content gives the same bytes: CloudFormation and the engine recognise an unchanged function by them.
fn pack(bootstrap: &[u8], compression_level: i64) -> std::io::Result<Vec<u8>> {
    // The fixed time is the format's earliest.
    let options = SimpleFileOptions::default()
        .unix_permissions(0o755)
        .compression_level(Some(compression_level))
        .last_modified_time(zip::DateTime::default());
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("bootstrap", options)?;
    writer.write_all(bootstrap)?;
    Ok(writer.finish()?.into_inner())
}

/// Builds and packs every function.
///
/// # Errors
/// There is no cargo, or the functions do not compile.
pub async fn functions(checkout: &Checkout, progress: &Progress) -> Result<Vec<Package>, BuildError> {
    let (checkout, progress) = (checkout.clone(), progress.clone());
    let building = tokio::task::spawn_blocking(move || build_and_pack(&checkout, &progress));
    building.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// Builds one package's binary as the functions are built, and says where it is.
///
/// # Errors
/// There is no cargo, or the package does not compile.
pub async fn binary(checkout: &Checkout, package: &str, progress: &Progress) -> Result<PathBuf, BuildError> {
    let (checkout, package, progress) = (checkout.clone(), package.to_owned(), progress.clone());
    let building = tokio::task::spawn_blocking(move || {
        let step = progress.begin(format!("building {package}"));
        let found = build(&checkout, &[package.as_str()], &step)?.remove(&package);
        let found = found.ok_or(BuildError::Missing { name: package })?;
        step.done();
        Ok(found)
    });
    building.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// Builds and packs one package's binary and no other. Its dependencies are those that all functions are built with.
///
/// # Errors
/// There is no cargo, or the package does not compile.
pub async fn package(checkout: &Checkout, package: &str, progress: &Progress) -> Result<Package, BuildError> {
    let (checkout, package, progress) = (checkout.clone(), package.to_owned(), progress.clone());
    let building = tokio::task::spawn_blocking(move || {
        let step = progress.begin(format!("building {package}"));
        let binaries = build(&checkout, &[package.as_str()], &step)?;
        let binary = binaries.get(&package).ok_or_else(|| BuildError::Missing { name: package.clone() })?;
        step.detail(format!("packing {package}"));
        let packed = Package::of(&package, binary)?;
        step.done();
        Ok(packed)
    });
    building.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

fn build_and_pack(checkout: &Checkout, progress: &Progress) -> Result<Vec<Package>, BuildError> {
    let step = progress.begin("building the functions");
    let binaries = build(checkout, &FUNCTIONS, &step)?;
    let packages = FUNCTIONS.iter().map(|name| {
        let binary = binaries.get(*name).ok_or_else(|| BuildError::Missing { name: (*name).to_owned() })?;
        step.detail(format!("packing {name}"));
        Package::of(name, binary)
    });
    let packages = packages.collect::<Result<_, _>>()?;
    step.done();
    Ok(packages)
}

/// Builds binaries by their names, which are their packages' names too.
fn build(checkout: &Checkout, binaries: &[&str], step: &Step<'_>) -> Result<BTreeMap<String, PathBuf>, BuildError> {
    let cargo = PathBuf::from(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    let mut command = Command::new(&cargo);
    command.args(["build", "--profile", PROFILE, "--message-format", "json-render-diagnostics", "--features", FEATURES]);
    // Cargo unites the features of the packages that it is given. With all of them, as in this program's own build, every dependency
    // is compiled once for the program and the functions.
    command.arg("--workspace");
    for name in binaries {
        command.args(["--bin", name]);
    }
    // What cargo sets for the program it runs is not the user's: it would change the fingerprints of what is built here.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    command.current_dir(checkout.root()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| BuildError::NoCargo { cargo, source })?;

    // Both pipes are read at once, so that neither fills up.
    let messages = child.stdout.take();
    let artifacts = std::thread::spawn(move || messages.map(|pipe| read_artifacts(BufReader::new(pipe))).unwrap_or_default());
    let shown = child.stderr.take().map(|output| compiling::follow(output, step)).unwrap_or_default();
    let succeeded = child.wait().is_ok_and(|status| status.success());
    let artifacts = artifacts.join().unwrap_or_default();
    if succeeded { Ok(artifacts) } else { Err(BuildError::Failed { output: shown }) }
}

/// Cargo's messages, one JSON object a line: binaries by name.
fn read_artifacts(messages: impl BufRead) -> BTreeMap<String, PathBuf> {
    let artifact = |line: String| {
        let message: Value = serde_json::from_str(&line).ok()?;
        let path = message["executable"].as_str()?;
        Some((message["target"]["name"].as_str()?.to_owned(), PathBuf::from(path)))
    };
    messages.lines().map_while(Result::ok).filter_map(artifact).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_package_holds_one_executable_bootstrap() {
        let content: Vec<u8> = (0..=255_u8).cycle().take(100_000).collect();
        let zip = pack(&content, FASTEST).unwrap();
        let mut archive = zip::ZipArchive::new(Cursor::new(zip)).unwrap();
        assert_eq!(archive.len(), 1);
        let mut file = archive.by_name("bootstrap").unwrap();
        assert_eq!(file.unix_mode().map(|mode| mode & 0o777), Some(0o755));
        let mut unpacked = Vec::new();
        file.read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, content);
    }

    #[test]
    fn the_same_binary_packs_to_the_same_bytes() {
        for level in [FASTEST, SMALLEST] {
            assert_eq!(pack(b"binary", level).unwrap(), pack(b"binary", level).unwrap());
            assert_ne!(pack(b"binary", level).unwrap(), pack(b"other", level).unwrap());
        }
    }

    #[test]
    fn binaries_are_read_from_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"ikkai"},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"producer-api"},"executable":"/t/local/producer-api"}"#,
            "\nnot json\n",
            r#"{"reason":"build-finished","success":true}"#,
            "\n"
        );
        let binaries = read_artifacts(messages.as_bytes());
        assert_eq!(binaries, BTreeMap::from([("producer-api".to_owned(), PathBuf::from("/t/local/producer-api"))]));
    }

    #[test]
    fn a_binary_that_is_not_there_is_named() {
        let error = Package::of("producer-api", Path::new("/nonexistent/producer-api")).unwrap_err();
        assert_eq!(error.to_string(), "cannot pack `/nonexistent/producer-api`");
    }
}
