//! The threat model names tests that exist, and what it says about the checkout is so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What stands in the last column of a row that no test can show.
const UNTESTED: &str = "no test:";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("shared/ is in the checkout").to_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn page() -> String {
    read(&root().join("docs/threat-model.md"))
}

/// The cells of every row about a threat: those of the tables whose last column says what shows it.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let mut rows = Vec::new();
    let mut in_table = false;
    for line in page.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match (line.starts_with('|'), in_table) {
            (false, _) => in_table = false,
            (true, false) => in_table = cells.last() == Some(&"shown by"),
            (true, true) if line.starts_with("|---") => {}
            (true, true) => rows.push(cells),
        }
    }
    rows
}

/// The tests that a text names: links from a name in code to a file of Rust.
fn named_tests(text: &str) -> Vec<(&str, &str)> {
    let links = text.split("[`").skip(1).filter_map(|rest| rest.split_once("`](")?.1.split_once(')').map(|(to, _)| (rest, to)));
    let names = links.filter_map(|(rest, to)| Some((rest.split_once('`')?.0, to)));
    names.filter(|(name, to)| to.ends_with(".rs") && name.contains('_') && !name.contains(['/', '.'])).collect()
}

/// The names of the functions that an attribute makes tests.
fn tests_in(source: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        let declared = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        if let Some(declared) = declared {
            let name = declared.split(['(', '<']).next().unwrap_or_default();
            if std::mem::take(&mut is_test) {
                names.insert(name);
            }
        }
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    }
    names
}

#[test]
fn every_test_that_the_threat_model_names_is_one() {
    let page = page();
    let named = named_tests(&page);
    assert!(named.len() > 80, "only {} tests named", named.len());
    let mut sources = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, file) in named {
        let source =
            sources.entry(file).or_insert_with(|| std::fs::read_to_string(root().join("docs").join(file)).unwrap_or_default());
        if !tests_in(source).contains(name) {
            wrong.push(format!("{file}: {name}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_threat_has_what_stops_it_and_a_test_or_the_reason_for_none() {
    let page = page();
    let rows = rows(&page);
    assert!(rows.len() > 30, "only {} rows found", rows.len());
    for row in rows {
        let [who, stops, shown] = row[..] else { panic!("three columns: {row:?}") };
        assert!(!who.is_empty() && !stops.is_empty(), "{row:?}");
        assert!(!named_tests(shown).is_empty() || shown.contains(UNTESTED), "{row:?}");
    }
}

#[test]
fn a_test_is_told_from_any_other_function() {
    let source = "#[test]\nfn one() {}\nfn two() {}\n    #[tokio::test(start_paused = true)]\n    async fn three() {}\n\
        proptest! {\n#[test]\nfn four(a in 0..1) {}\n}\n// #[test]\nfn five() {}";
    assert_eq!(Vec::from_iter(tests_in(source)), ["four", "one", "three"]);
}

#[test]
fn unsafe_code_is_forbidden_in_every_crate() {
    let root = root();
    let workspace = read(&root.join("Cargo.toml"));
    // `forbid`, unlike `deny`, cannot be taken back by an attribute further down.
    assert!(workspace.contains("[workspace.lints.rust]\nunsafe_code = \"forbid\""), "the workspace forbids it");
    let (_, members) = workspace.split_once("members = [").expect("a workspace has members");
    let members = members.split_once(']').expect("the list ends").0;
    let members: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
    assert!(members.len() > 10, "{members:?}");
    for member in members {
        let manifest = read(&root.join(member).join("Cargo.toml"));
        assert!(manifest.contains("[lints]\nworkspace = true"), "{member} has lints of its own");
    }
}
