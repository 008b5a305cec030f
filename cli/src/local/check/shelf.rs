//! The records that are kept in the checkout, and the page that is made of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::finding::Verdict;
use super::record::{Measured, Record};
use crate::local::checkout::Checkout;

/// One file an engine.
const FOLDER: &str = "docs/measured/engines";

/// Made of the records.
const PAGE: &str = "docs/engines-measured.md";

/// The records could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShelfError {
    /// A file could not be used.
    #[error("cannot use `{}`", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is no record.
    #[error("`{}` is no record of a check; `ikkai local check --record` writes it anew", path.display())]
    NotARecord {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

/// The records of a checkout, by engine.
///
/// # Errors
/// A file cannot be read, or is no record.
pub fn records(checkout: &Checkout) -> Result<Vec<Record>, ShelfError> {
    let folder = checkout.file(FOLDER);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(ShelfError::File { path: folder, source }),
    };
    let mut paths: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read(&path).map_err(|source| ShelfError::File { path: path.clone(), source })?;
        serde_json::from_slice(&text).map_err(|source| ShelfError::NotARecord { path, source })
    };
    paths.into_iter().map(read).collect()
}

/// Keeps a record in place of the former one of the same engine, and makes the page anew. Returns the files that were written.
///
/// # Errors
/// A file cannot be read or written.
pub fn keep(checkout: &Checkout, record: &Record) -> Result<[PathBuf; 2], ShelfError> {
    let file = checkout.file(&format!("{FOLDER}/{}.json", record.engine));
    let text = serde_json::to_string_pretty(record).unwrap_or_default() + "\n";
    let folder = checkout.file(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|source| ShelfError::File { path: folder, source })?;
    std::fs::write(&file, text).map_err(|source| ShelfError::File { path: file.clone(), source })?;
    let path = checkout.file(PAGE);
    std::fs::write(&path, page(&records(checkout)?)).map_err(|source| ShelfError::File { path: path.clone(), source })?;
    Ok([file, path])
}

/// The page: what each engine does, feature by feature.
#[must_use]
pub fn page(records: &[Record]) -> String {
    let mut text = String::from(
        "# What the engines do, measured\n\n\
         Made by `ikkai local check --record`, which measures an engine and writes its record to [`measured/`](measured/) and this page anew; not edited by hand.\n\n\
         Each feature was tried on the running engine. \"As AWS\" means that what was seen is what AWS documents; every other cell says what was seen instead.\n",
    );
    text.push_str("\n| engine | version | measured on | as AWS | differs | absent |\n|---|---|---|---|---|---|\n");
    for record in records {
        let counts = [Verdict::AsAws, Verdict::Differs, Verdict::Absent].map(|verdict| record.count(verdict).to_string());
        text.push_str(&format!("| {} | {} | {} | {} |\n", record.engine, record.version, record.day(), counts.join(" | ")));
    }
    for (group, features) in groups(records) {
        let engines: Vec<_> = records.iter().map(|record| record.engine.as_str()).collect();
        text.push_str(&format!("\n## {}\n\n| probe | what AWS does | {} |\n", capital(group), engines.join(" | ")));
        text.push_str(&format!("|---|---|{}\n", "---|".repeat(engines.len())));
        for feature in features {
            let cell = |record: &Record| {
                record
                    .probes
                    .iter()
                    .find(|measured| measured.probe == feature.probe)
                    .map_or_else(|| "not measured".to_owned(), cell)
            };
            let cells: Vec<_> = records.iter().map(cell).collect();
            text.push_str(&format!(
                "| `{}` | {} ([source]({})) | {} |\n",
                feature.probe,
                feature.aws,
                feature.source,
                cells.join(" | ")
            ));
        }
    }
    text
}

/// The features of all records by group, each once, in the order of the first record that has them.
fn groups(records: &[Record]) -> Vec<(&str, Vec<&Measured>)> {
    let mut order: Vec<&str> = Vec::new();
    let mut features: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
    for measured in records.iter().flat_map(|record| &record.probes) {
        let group = measured.group.as_str();
        if !order.contains(&group) {
            order.push(group);
        }
        let of_group = features.entry(group).or_default();
        if !of_group.iter().any(|known| known.probe == measured.probe) {
            of_group.push(measured);
        }
    }
    order.into_iter().map(|group| (group, features.remove(group).unwrap_or_default())).collect()
}

fn cell(measured: &Measured) -> String {
    let seen = measured.seen.replace('|', "\\|");
    match measured.verdict {
        Some(Verdict::AsAws) => format!("as AWS: {seen}"),
        Some(verdict) => format!("**{}**: {seen}", verdict.word()),
        None => "not measured".to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::local::check::probe::all;

    #[test]
    fn the_kept_records_name_exactly_the_probes_that_exist_and_the_page_says_the_same() {
        let checkout = Checkout::around(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let records = records(&checkout).unwrap();
        assert!(records.iter().any(|record| record.engine == "ministack"), "the default engine was measured");
        let probes: BTreeSet<_> = all().iter().map(|probe| probe.id.to_owned()).collect();
        for record in &records {
            let measured: BTreeSet<_> = record.probes.iter().map(|measured| measured.probe.clone()).collect();
            assert_eq!(measured, probes, "`ikkai local check --engine {} --record` measures anew", record.engine);
            assert_eq!(record.not_measured().count(), 0, "{}", record.engine);
            for probe in all() {
                let kept = record.probes.iter().find(|measured| measured.probe == probe.id).unwrap();
                assert_eq!((kept.aws.as_str(), kept.source.as_str()), (probe.aws, probe.source), "{}", probe.id);
            }
        }
        assert_eq!(std::fs::read_to_string(checkout.file(PAGE)).unwrap(), page(&records), "the page was edited by hand");
    }
}
