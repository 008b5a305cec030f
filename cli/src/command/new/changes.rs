//! What a command makes of a checkout: new files and edited ones, prepared in memory and written when all of them are right.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

/// Why a file cannot be changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChangeError {
    #[error("`{path}` is there already")]
    Exists { path: String },
    #[error("cannot read `{path}`")]
    Read { path: String, source: std::io::Error },
    #[error("`{path}` cannot be edited; nothing was written")]
    Edit { path: String, source: Box<dyn Error + Send + Sync> },
    #[error("cannot write `{path}`; what was written before it has been taken back")]
    Write { path: String, source: std::io::Error },
    #[error("cannot write `{path}`, and `{left}` could not be taken back: {error}")]
    Left { path: String, left: String, error: std::io::Error, source: std::io::Error },
}

/// A file's text before, `None` where there was none, and after.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    before: Option<String>,
    after: String,
}

/// Changes to the files of a folder.
#[derive(Debug)]
pub(super) struct Changes {
    root: PathBuf,
    files: BTreeMap<String, Change>,
}

impl Changes {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), files: BTreeMap::new() }
    }

    /// A new file.
    pub(super) fn create(&mut self, path: &str, text: String) -> Result<(), ChangeError> {
        if self.root.join(path).exists() || self.files.contains_key(path) {
            return Err(ChangeError::Exists { path: path.to_owned() });
        }
        self.files.insert(path.to_owned(), Change { before: None, after: text });
        Ok(())
    }

    /// Edits a file, on top of what was edited in it before.
    pub(super) fn edit<E: Error + Send + Sync + 'static>(
        &mut self,
        path: &str,
        edit: impl FnOnce(&str) -> Result<String, E>,
    ) -> Result<(), ChangeError> {
        let (before, now) = match self.files.get(path) {
            Some(change) => (change.before.clone(), change.after.clone()),
            None => {
                let read = std::fs::read_to_string(self.root.join(path));
                let text = read.map_err(|source| ChangeError::Read { path: path.to_owned(), source })?;
                (Some(text.clone()), text)
            }
        };
        let after = edit(&now).map_err(|source| ChangeError::Edit { path: path.to_owned(), source: Box::new(source) })?;
        self.files.insert(path.to_owned(), Change { before, after });
        Ok(())
    }

    /// Whether a file is there to be edited.
    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.root.join(path).is_file()
    }

    /// A file's text as it will be, where it is changed.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|change| change.after.as_str())
    }

    /// The new files, in order.
    pub(super) fn created(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter(|(_, change)| change.before.is_none()).map(|(path, _)| path.as_str())
    }

    /// The edited files, in order.
    pub(super) fn edited(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter(|(_, change)| change.before.is_some()).map(|(path, _)| path.as_str())
    }

    /// Every text, with its path.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, change)| (path.as_str(), change.after.as_str()))
    }

    /// Writes all of it, or, where a file cannot be written, nothing.
    pub(super) fn write(&self) -> Result<(), ChangeError> {
        for (index, (path, change)) in self.files.iter().enumerate() {
            if let Err(source) = write(&self.root.join(path), &change.after) {
                return Err(self.taken_back(index, path, source));
            }
        }
        Ok(())
    }

    /// Puts the files back that were written before the one that could not be.
    fn taken_back(&self, count: usize, path: &str, source: std::io::Error) -> ChangeError {
        let path = path.to_owned();
        for (left, change) in self.files.iter().take(count + 1) {
            let file = self.root.join(left);
            let undone = match &change.before {
                Some(text) => std::fs::write(&file, text),
                None => std::fs::remove_file(&file).or_else(|error| if file.exists() { Err(error) } else { Ok(()) }),
            };
            // The file itself may be the one that cannot be written; it is as it was.
            if let Err(error) = undone
                && *left != path
            {
                return ChangeError::Left { path, left: left.clone(), error, source };
            }
        }
        ChangeError::Write { path, source }
    }
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of the test's own, removed with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ikkai-changes-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("there.txt"), "before\n").unwrap();
            Self(path)
        }

        fn text(&self, name: &str) -> Option<String> {
            std::fs::read_to_string(self.0.join(name)).ok()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn more(text: &str) -> Result<String, std::fmt::Error> {
        Ok(format!("{text}more\n"))
    }

    #[test]
    fn nothing_is_written_before_everything_is_right() {
        let folder = Folder::new("right");
        let mut changes = Changes::new(&folder.0);
        changes.create("new/file.txt", "new\n".into()).unwrap();
        changes.edit("there.txt", more).unwrap();
        changes.edit("there.txt", more).unwrap();
        let failed = changes.edit("there.txt", |_| Err(std::fmt::Error)).unwrap_err();
        assert!(failed.to_string().contains("`there.txt`") && failed.source().is_some(), "{failed}");
        assert_eq!((folder.text("there.txt").as_deref(), folder.text("new/file.txt")), (Some("before\n"), None));
        changes.write().unwrap();
        assert_eq!(folder.text("there.txt").as_deref(), Some("before\nmore\nmore\n"));
        assert_eq!(folder.text("new/file.txt").as_deref(), Some("new\n"));
        assert_eq!(
            (changes.created().collect::<Vec<_>>(), changes.edited().collect::<Vec<_>>()),
            (vec!["new/file.txt"], vec!["there.txt"])
        );
    }

    #[test]
    fn what_is_there_is_not_made_anew_and_what_is_not_there_is_not_edited() {
        let folder = Folder::new("there");
        let mut changes = Changes::new(&folder.0);
        assert!(matches!(changes.create("there.txt", String::new()), Err(ChangeError::Exists { path }) if path == "there.txt"));
        assert!(matches!(changes.edit("gone.txt", more), Err(ChangeError::Read { path, .. }) if path == "gone.txt"));
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_the_others_as_they_were() {
        let folder = Folder::new("blocked");
        let mut changes = Changes::new(&folder.0);
        changes.create("a.txt", "new\n".into()).unwrap();
        changes.edit("there.txt", more).unwrap();
        changes.create("zone/file.txt", "new\n".into()).unwrap();
        // Something took the folder's name meanwhile.
        std::fs::write(folder.0.join("zone"), "a file").unwrap();
        let error = changes.write().unwrap_err();
        assert!(matches!(&error, ChangeError::Write { path, .. } if path == "zone/file.txt"), "{error}");
        assert_eq!((folder.text("a.txt"), folder.text("there.txt").as_deref()), (None, Some("before\n")));
    }
}
