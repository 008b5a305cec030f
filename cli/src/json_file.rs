//! The file that the results go to.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The results cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the results to `{}`; give --json a file that can be written", path.display())]
pub struct JsonFileError {
    path: PathBuf,
    source: std::io::Error,
}

/// A file that can be written. Was it made for this run and never written, it is taken away again.
#[derive(Debug)]
pub struct JsonFile {
    path: PathBuf,
    empty_and_ours: bool,
}

impl JsonFile {
    /// Makes sure that the file can be written, and leaves what is in it as it is.
    ///
    /// # Errors
    /// It cannot.
    pub fn open(path: &Path) -> Result<Self, JsonFileError> {
        let failed = |source| JsonFileError { path: path.to_owned(), source };
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => Ok(Self { path: path.to_owned(), empty_and_ours: true }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                OpenOptions::new().write(true).open(path).map_err(failed)?;
                Ok(Self { path: path.to_owned(), empty_and_ours: false })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes the results in place of what was there.
    ///
    /// # Errors
    /// It cannot be written any more.
    pub fn write(&mut self, results: &impl Serialize) -> Result<(), JsonFileError> {
        let written = serde_json::to_string_pretty(results).map_err(std::io::Error::from);
        let written = written.and_then(|text| std::fs::write(&self.path, text + "\n"));
        written.map_err(|source| JsonFileError { path: self.path.clone(), source })?;
        self.empty_and_ours = false;
        Ok(())
    }
}

impl Drop for JsonFile {
    fn drop(&mut self) {
        if self.empty_and_ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("ikkai-demo-{name}-{}.json", std::process::id()))
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_before_anything_happens() {
        let error = JsonFile::open(Path::new("/nonexistent/folder/results.json")).unwrap_err();
        assert!(error.to_string().contains("`/nonexistent/folder/results.json`"), "{error}");
        assert!(JsonFile::open(&std::env::temp_dir()).is_err(), "a folder is no file");
    }

    #[test]
    fn an_interrupted_run_leaves_no_empty_file_and_keeps_an_old_one() {
        let path = path("interrupted");
        drop(JsonFile::open(&path).unwrap());
        assert!(!path.exists());
        std::fs::write(&path, "old").unwrap();
        drop(JsonFile::open(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn results_replace_what_was_there() {
        let path = path("results");
        std::fs::write(&path, "a much longer text than the results").unwrap();
        JsonFile::open(&path).unwrap().write(&[1]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[\n  1\n]\n");
        std::fs::remove_file(path).unwrap();
    }
}
