//! The folder of one running environment. Its lock tells whether it is in use, and goes with its process however that ends.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::checkout::Checkout;

/// How many environments of one name can run at once in one checkout.
const MOST: u32 = 20;

/// A folder could not be claimed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// All are in use.
    #[error("{MOST} environments named `{name}` run in this checkout already; end one")]
    AllInUse {
        /// The name.
        name: String,
    },
    /// The file system refused.
    #[error("cannot use `{}`", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A claimed folder: logs and scratch files of one environment.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    _lock: File,
}

impl Instance {
    /// Claims `.ikkai/<name>`, or `.ikkai/<name>-2` and so on if it is in use.
    ///
    /// # Errors
    /// All are in use, or the folder cannot be written.
    pub fn claim(checkout: &Checkout, name: &str) -> Result<Self, InstanceError> {
        for number in 1..=MOST {
            let folder = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
            if let Some(instance) = Self::try_claim(&checkout.state().join(folder))? {
                return Ok(instance);
            }
        }
        Err(InstanceError::AllInUse { name: name.to_owned() })
    }

    fn try_claim(folder: &Path) -> Result<Option<Self>, InstanceError> {
        let failed = |source| InstanceError::File { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lock = File::create(folder.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { folder: folder.to_owned(), _lock: lock })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Where its files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_use_is_left_alone_and_claimed_again_once_it_is_free() {
        let folder = std::env::temp_dir().join(format!("ikkai-instance-{}", std::process::id()));
        let first = Instance::try_claim(&folder).unwrap().unwrap();
        assert!(Instance::try_claim(&folder).unwrap().is_none());
        drop(first);
        assert!(Instance::try_claim(&folder).unwrap().is_some());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
