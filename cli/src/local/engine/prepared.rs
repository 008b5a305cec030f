//! What has to be on this machine before an engine can start.

use std::path::PathBuf;

use super::dynamodb_local::{self, DynamoDbLocalError};
use super::java::{self, JavaError};
use super::{EngineKind, Setup, localstack, ministack};
use crate::local::checkout::Checkout;
use crate::local::python::{self, Extras, PythonEnvironment, PythonError};
use crate::progress::Progress;

/// An engine that is ready to be started.
#[derive(Debug, Clone)]
pub enum Prepared {
    /// MiniStack, in its Python environment.
    Ministack(PythonEnvironment),
    /// LocalStack and what it works with.
    Localstack(LocalStackParts),
}

/// What LocalStack is made of here.
#[derive(Debug, Clone)]
pub struct LocalStackParts {
    pub(super) python: PythonEnvironment,
    /// The folder of our Python package.
    pub(super) plugin: PathBuf,
    pub(super) java_home: PathBuf,
    /// The folder of `DynamoDBLocal.jar`.
    pub(super) dynamodb_local: PathBuf,
}

/// Something is missing on this machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant is the error of the step that it is named after")]
pub enum PrepareError {
    #[error(transparent)]
    Python(#[from] PythonError),
    #[error(transparent)]
    Java(#[from] JavaError),
    #[error(transparent)]
    DynamoDbLocal(#[from] DynamoDbLocalError),
}

impl Prepared {
    /// Finds or makes everything that the engine needs.
    ///
    /// # Errors
    /// Something is missing; the message says how to get it.
    pub async fn of(kind: EngineKind, checkout: &Checkout, progress: &Progress) -> Result<Self, PrepareError> {
        match kind {
            EngineKind::Ministack => Ok(Self::Ministack(python::environment(checkout, Extras::None, progress).await?)),
            EngineKind::Localstack => {
                // What is found in a moment comes before what is installed in minutes.
                let java_home = java::home()?;
                let python = python::environment(checkout, Extras::Localstack, progress).await?;
                let dynamodb_local = dynamodb_local::folder(checkout, &python, progress).await?;
                Ok(Self::Localstack(LocalStackParts {
                    python,
                    plugin: checkout.file("localstack/plugin"),
                    java_home,
                    dynamodb_local,
                }))
            }
        }
    }

    pub(super) fn kind(&self) -> EngineKind {
        match self {
            Self::Ministack(_) => EngineKind::Ministack,
            Self::Localstack(_) => EngineKind::Localstack,
        }
    }

    pub(super) fn command(&self, setup: &Setup<'_>) -> std::process::Command {
        match self {
            Self::Ministack(python) => ministack::command(python, setup),
            Self::Localstack(parts) => localstack::command(parts, setup),
        }
    }
}
