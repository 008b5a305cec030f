//! sharp, with the version and the hashes of `bench/sharp/package-lock.json`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Measured, measured};

pub(super) const NAME: &str = "sharp";

/// An installation of sharp.
pub(crate) struct Sharp {
    folder: PathBuf,
}

impl Sharp {
    /// Installs it below `target/`, if it is not there yet. No package's scripts are run.
    pub(crate) fn set_up() -> Result<Self, Box<dyn Error>> {
        let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/sharp"));
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/bench/sharp")).to_path_buf();
        std::fs::create_dir_all(&folder)?;
        let lock = std::fs::read(source.join("package-lock.json"))?;
        let is_there = folder.join("node_modules").is_dir() && std::fs::read(folder.join("package-lock.json")).ok() == Some(lock);
        for file in ["package.json", "package-lock.json", "contender.mjs"] {
            std::fs::copy(source.join(file), folder.join(file))?;
        }
        if !is_there {
            let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
            let status = Command::new("npm").args(arguments).current_dir(&folder).status();
            let status = status.map_err(|error| format!("npm cannot be started, which comes with Node.js: {error}"))?;
            if !status.success() {
                return Err(format!("npm ci failed: {status}").into());
            }
        }
        Ok(Self { folder })
    }

    /// The photograph that its own benchmark uses.
    pub(crate) fn photograph(&self) -> PathBuf {
        self.folder.join("node_modules/photographs/tests/2569067123_aca715a2ee_o.jpg")
    }

    pub(crate) fn contend(&self, file: &Path, size: u32, pictures: u32) -> Result<Measured, Box<dyn Error>> {
        let mut command = Command::new("node");
        command.arg(self.folder.join("contender.mjs")).arg(file).args([size.to_string(), pictures.to_string()]);
        measured(command.current_dir(&self.folder))
    }
}
