//! Where Pythons are that are not on the path: version managers and Homebrew keep each version in a folder of its own.

use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::python::Version;

/// A version manager: the variable that moves its folder, the folder's usual place in the home folder, and in it the one that holds a folder a version.
const MANAGERS: [(&str, &str, &str); 4] = [
    ("PYENV_ROOT", ".pyenv", "versions"),
    ("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python", ""),
    ("ASDF_DATA_DIR", ".asdf", "installs/python"),
    ("MISE_DATA_DIR", ".local/share/mise", "installs/python"),
];

/// Homebrew on Apple silicon, on Intel, on Linux; then the installers of python.org.
const PLACES: [&str; 4] = [
    "/opt/homebrew/opt/python@{}/bin",
    "/usr/local/opt/python@{}/bin",
    "/home/linuxbrew/.linuxbrew/opt/python@{}/bin",
    "/Library/Frameworks/Python.framework/Versions/{}/bin",
];

/// The paths of interpreters of these versions, newest first. Only versions up to the newest that is known here are looked for.
pub(super) fn installed(
    home: &Path,
    versions: &RangeInclusive<Version>,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Vec<String> {
    const NEWEST_KNOWN: u32 = 14;
    let (oldest, newest) = (versions.start().1, versions.end().1.min(NEWEST_KNOWN));
    let mut found = Vec::new();
    for version in (oldest..=newest).rev().map(|minor| format!("3.{minor}")) {
        let name = format!("python{version}");
        for (moved, usual, inner) in MANAGERS {
            let folder = variable(moved).unwrap_or_else(|| home.join(usual)).join(inner);
            found.extend(version_folders(&folder, &version).into_iter().map(|folder| folder.join("bin").join(&name)));
        }
        found.extend(PLACES.iter().map(|place| Path::new(&place.replace("{}", &version)).join(&name)));
    }
    found.into_iter().filter(|path| path.is_file()).map(|path| path.display().to_string()).collect()
}

/// `3.13.0`, `3.13.5`, uv's `cpython-3.13.5-linux-x86_64-gnu`: the folders of a version.
fn version_folders(folder: &Path, version: &str) -> Vec<PathBuf> {
    let is_of_version = |name: &OsStr| {
        let name = name.to_string_lossy();
        let number = name.strip_prefix("cpython-").unwrap_or(&name);
        number.strip_prefix(version).is_some_and(|rest| !rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.filter(|entry| is_of_version(&entry.file_name())).map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_where_version_managers_keep_it() {
        let home = std::env::temp_dir().join(format!("ikkai-interpreters-{}", std::process::id()));
        for path in [
            ".pyenv/versions/3.13.2/bin/python3.13",
            ".pyenv/versions/3.1.3/bin/python3.1",
            ".pyenv/versions/3.12.1/bin/python3.12",
            ".local/share/uv/python/cpython-3.13.5-linux-x86_64-gnu/bin/python3.13",
            "moved/installs/python/3.13.0/bin/python3.13",
        ] {
            std::fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
            std::fs::write(home.join(path), "").unwrap();
        }
        let moved = |name: &str| (name == "ASDF_DATA_DIR").then(|| home.join("moved"));
        let mut found = installed(&home, &((3, 13)..=(3, 13)), moved);
        // What this machine has at the fixed places is none of this test's.
        found.retain(|path| Path::new(path).starts_with(&home));
        let names: Vec<&str> = found.iter().map(|path| path.strip_prefix(&format!("{}/", home.display())).unwrap()).collect();
        assert_eq!(
            names,
            [
                ".pyenv/versions/3.13.2/bin/python3.13",
                ".local/share/uv/python/cpython-3.13.5-linux-x86_64-gnu/bin/python3.13",
                "moved/installs/python/3.13.0/bin/python3.13",
            ]
        );
        std::fs::remove_dir_all(home).unwrap();
    }
}
