//! What a child process writes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::process::Stdio;

/// A stream of a child process that goes to a file.
///
/// A file and not a pipe: what the child wrote before it answered is in the file when its answer arrives, with nobody to wait for. The file has no
/// name, so nothing is left behind however the test ends.
#[derive(Debug)]
pub(super) struct Output {
    file: File,
}

impl Output {
    /// A new stream, and the end of it that the child gets.
    pub(super) fn create() -> io::Result<(Self, Stdio)> {
        let path = std::env::temp_dir().join(format!("ikkai-output-{}", uuid::Uuid::new_v4()));
        let write = File::options().append(true).create_new(true).open(&path)?;
        let read = File::open(&path);
        fs::remove_file(&path)?;
        Ok((Self { file: read? }, write.into()))
    }

    /// How many bytes were written so far.
    pub(super) fn len(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// The text that was written from byte `start` on.
    pub(super) fn text_from(&self, start: u64) -> String {
        let length = usize::try_from(self.len().saturating_sub(start)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        match self.file.read_exact_at(&mut bytes, start) {
            Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("the output cannot be read: {error}"),
        }
    }

    /// The lines that were written from byte `start` on.
    pub(super) fn lines_from(&self, start: u64) -> Vec<String> {
        self.text_from(start).lines().map(str::to_owned).collect()
    }
}
