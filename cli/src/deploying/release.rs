//! From a checkout to packages that may be uploaded: build, look, pack.

use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};

use super::artifact::{self, Architecture, ArtifactError, Target};
use super::cargo_lambda::{CargoLambda, CargoLambdaError, FOLDER};
use crate::local::build::{self, BuildError, Package};
use crate::local::checkout::Checkout;
use crate::progress::Progress;

/// Where the functions come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built now, for Lambda.
    Built(Architecture),
    /// What an earlier `cargo lambda build` left, for Lambda.
    Left(Architecture),
    /// Built now as `ikkai local` builds them, for an engine on this machine.
    Local,
    /// Packed elsewhere: a folder of one zip a function.
    Packed(PathBuf, Target),
}

/// Why there is nothing to upload.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// cargo-lambda failed.
    #[error(transparent)]
    CargoLambda(#[from] CargoLambdaError),
    /// The local build failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A binary is not what Lambda can run.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// A binary is not there.
    #[error("cannot read `{}`; `cargo lambda build --release {}` makes it, and leave out --output-format", path.display(), architecture.flag())]
    NotBuilt {
        /// Where it should be.
        path: PathBuf,
        /// For which processor.
        architecture: Architecture,
        /// Why it cannot be read.
        source: std::io::Error,
    },
    /// A zip is not what Lambda takes.
    #[error("`{name}.zip` is not a zip with a program `bootstrap` in it")]
    NoBootstrap {
        /// The function.
        name: String,
    },
    /// A zip could not be made.
    #[error("cannot pack `{name}`")]
    Pack {
        /// The function.
        name: String,
        /// Why not.
        source: std::io::Error,
    },
}

/// The functions of a template, ready to be uploaded. All have passed [`artifact::check`].
///
/// # Errors
/// One could not be built, is not there, or may not be uploaded.
pub async fn packages(
    checkout: &Checkout,
    functions: &[String],
    origin: Origin,
    progress: &Progress,
) -> Result<Vec<Package>, ReleaseError> {
    let architecture = match origin {
        Origin::Local => return Ok(build::functions(checkout, progress).await?),
        Origin::Built(architecture) => {
            let cargo_lambda = CargoLambda::find(checkout, progress).await?;
            cargo_lambda.build(checkout, functions, architecture, progress).await?;
            architecture
        }
        Origin::Left(architecture) => architecture,
        Origin::Packed(folder, target) => return packed(&folder, target),
    };
    let step = progress.begin("checking and packing the functions");
    let mut packages = Vec::new();
    for name in functions {
        step.detail(name.clone());
        let path = checkout.file(FOLDER).join(name).join("bootstrap");
        let binary = std::fs::read(&path).map_err(|source| ReleaseError::NotBuilt { path, architecture, source })?;
        let package = Package::smallest(name, &binary).map_err(|source| ReleaseError::Pack { name: name.clone(), source })?;
        artifact::check(name, &binary, package.zip.len(), Target::Lambda(architecture))?;
        packages.push(package);
    }
    step.done();
    Ok(packages)
}

/// What was packed elsewhere is looked at as well where it is to run on Lambda. A local engine runs scripts too.
fn packed(folder: &Path, target: Target) -> Result<Vec<Package>, ReleaseError> {
    let packages = build::packed_functions(folder)?;
    if target == Target::ThisMachine {
        return Ok(packages);
    }
    for package in &packages {
        let binary = bootstrap(&package.zip).ok_or_else(|| ReleaseError::NoBootstrap { name: package.name.clone() })?;
        artifact::check(&package.name, &binary, package.zip.len(), target)?;
    }
    Ok(packages)
}

fn bootstrap(zip: &[u8]) -> Option<Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(zip)).ok()?;
    let mut binary = Vec::new();
    archive.by_name("bootstrap").ok()?.read_to_end(&mut binary).ok()?;
    Some(binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_elsewhere_is_looked_at_before_it_goes_to_lambda() {
        let folder = std::env::temp_dir().join(format!("ikkai-packed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in build::FUNCTIONS {
            std::fs::write(folder.join(format!("{name}.zip")), Package::smallest(name, b"#!/bin/sh").unwrap().zip).unwrap();
        }
        assert_eq!(packed(&folder, Target::ThisMachine).unwrap().len(), build::FUNCTIONS.len());
        let lambda = Target::Lambda(Architecture::Arm64);
        assert!(matches!(packed(&folder, lambda), Err(ReleaseError::Artifact(ArtifactError::NotElf { .. }))));
        std::fs::write(folder.join("producer-api.zip"), b"not a zip").unwrap();
        let error = packed(&folder, lambda).unwrap_err().to_string();
        assert!(error.contains("`producer-api.zip` is not a zip"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
