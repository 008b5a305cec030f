//! What was counted, and its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use ikkai::clock::{Clock, SystemClock};
use serde::{Deserialize, Serialize};

use crate::callgrind::{self, CallgrindError};
use crate::cases::Case;

/// The file of counts cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CountsFileError {
    #[error("cannot read `{}`; `cargo instructions --record` writes it", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("`{}` holds no counts; `cargo instructions --record` writes it anew", path.display())]
    NoCounts { path: PathBuf, source: serde_json::Error },
    #[error("cannot write `{}`", path.display())]
    Unwritable { path: PathBuf, source: std::io::Error },
}

/// Counts of all cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// How they were counted.
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    /// By the case's name.
    pub(crate) cases: BTreeMap<String, Count>,
}

/// Count of one case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Count {
    /// Instructions of one run.
    pub(crate) instructions: u64,
    /// Records that a run works on.
    pub(crate) records: u32,
    /// Time of one run without callgrind, the shortest of several. Shown and never compared: it is the machine's.
    pub(crate) nanoseconds: u64,
}

/// How counts came about. Those of another processor or another profile are not comparable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Circumstances {
    /// The day, in UTC.
    pub(crate) counted: String,
    /// Processor and system.
    pub(crate) target: String,
    /// Cargo's profile.
    pub(crate) profile: String,
    /// The compiler.
    pub(crate) rustc: String,
    /// The counter.
    pub(crate) valgrind: String,
}

impl Circumstances {
    /// Those of this program.
    ///
    /// # Errors
    /// There is no valgrind.
    pub(crate) fn of_this_run() -> Result<Self, CallgrindError> {
        let now = SystemClock.now().rfc3339().to_string();
        // Cargo puts programs into a folder that bears the profile's name.
        let program = std::env::current_exe().map_err(CallgrindError::NoProgram)?;
        let profile = program.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let rustc = Command::new("rustc").arg("--version").output();
        let rustc = rustc.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned());
        Ok(Self {
            counted: now.chars().take_while(|c| *c != 'T').collect(),
            target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
            profile: profile.unwrap_or_default(),
            rustc: rustc.unwrap_or_else(|_| "unknown".to_owned()),
            valgrind: callgrind::version()?,
        })
    }
}

impl Counts {
    /// Counts all cases.
    ///
    /// # Errors
    /// One of them cannot be counted.
    pub(crate) fn count(circumstances: Circumstances) -> Result<Self, CallgrindError> {
        let count = |case: &Case| {
            let nanoseconds = u64::try_from(case.time().as_nanos()).unwrap_or(u64::MAX);
            let instructions = callgrind::instructions(*case)?;
            Ok((case.name(), Count { instructions, records: case.records(), nanoseconds }))
        };
        let cases = Case::value_variants().iter().map(count).collect::<Result<_, _>>()?;
        Ok(Self { circumstances, cases })
    }

    /// Reads a file of counts.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn read(path: &Path) -> Result<Self, CountsFileError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| CountsFileError::Unreadable { path: path.to_owned(), source })?;
        serde_json::from_str(&text).map_err(|source| CountsFileError::NoCounts { path: path.to_owned(), source })
    }

    /// Writes a file of counts.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<(), CountsFileError> {
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from);
        let written = text.and_then(|text| std::fs::write(path, text + "\n"));
        written.map_err(|source| CountsFileError::Unwritable { path: path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn counts_of_every_case_are_kept_and_no_others() {
        let kept = Counts::read(Path::new(crate::KEPT)).unwrap();
        let cases = Case::value_variants();
        assert_eq!(kept.cases.keys().cloned().collect::<BTreeSet<_>>(), cases.iter().map(|case| case.name()).collect());
        for case in cases {
            assert_eq!(kept.cases[&case.name()].records, case.records(), "{case:?}");
        }
    }

    #[test]
    fn every_case_does_its_work() {
        // What came out is looked at where it is made.
        Case::value_variants().iter().for_each(|case| case.play());
    }
}
