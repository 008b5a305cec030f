//! The checkout that the commands work on: sources, template, and the private folder `.ikkai`.

use std::path::{Path, PathBuf};

/// Names the checkout to work on when it is not the current folder's.
pub const ROOT_VARIABLE: &str = "IKKAI_ROOT";

/// A checkout of this project. All state of the local tools is under its `.ikkai`, so that two checkouts can run at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    root: PathBuf,
}

/// No checkout was found.
#[derive(Debug, thiserror::Error)]
#[error(
    "no checkout of ikkai found: `{}` has no localstack/requirements.txt, and neither has any folder above it; \
     run the command inside the checkout or set {ROOT_VARIABLE}",
    start.display()
)]
pub struct NoCheckout {
    start: PathBuf,
}

impl Checkout {
    /// The checkout named by `IKKAI_ROOT`; else the one around the current folder; else the one that this program was built from.
    ///
    /// # Errors
    /// None of these is a checkout.
    pub fn find() -> Result<Self, NoCheckout> {
        if let Some(root) = std::env::var_os(ROOT_VARIABLE) {
            return Self::around(Path::new(&root));
        }
        let here = std::env::current_dir().unwrap_or_default();
        Self::around(&here).or_else(|not_here| Self::around(Path::new(env!("CARGO_MANIFEST_DIR"))).map_err(|_| not_here))
    }

    /// The checkout that `start` is in.
    ///
    /// # Errors
    /// Neither `start` nor a folder above it is a checkout.
    pub fn around(start: &Path) -> Result<Self, NoCheckout> {
        let is_root =
            |folder: &&Path| folder.join("localstack/requirements.txt").is_file() && folder.join("Cargo.toml").is_file();
        let root = start.ancestors().find(is_root).ok_or_else(|| NoCheckout { start: start.to_owned() })?;
        // Absolute, because processes are started with other working folders.
        Ok(Self { root: root.canonicalize().unwrap_or_else(|_| root.to_owned()) })
    }

    /// The checkout's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `.ikkai`: environments, logs and state of the local tools; ignored by git and safe to delete while nothing runs.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.root.join(".ikkai")
    }

    /// A file of the checkout.
    #[must_use]
    pub fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_inside_the_checkout_finds_its_root() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let checkout = Checkout::around(&here.join("src/local")).unwrap();
        assert_eq!(checkout.root(), here.parent().unwrap().canonicalize().unwrap());
        assert!(checkout.file("localstack/requirements.txt").is_file());
    }

    #[test]
    fn outside_of_a_checkout_the_error_names_the_folder_and_the_mend() {
        let error = Checkout::around(Path::new("/")).unwrap_err().to_string();
        assert!(error.contains("`/`") && error.contains(ROOT_VARIABLE), "{error}");
    }
}
