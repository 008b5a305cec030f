//! The Markdown pages point at what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("shared/ is in the checkout").to_owned()
}

/// Every page of the checkout; build output and hidden folders are left out.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder can be read") {
            let path = entry.expect("an entry can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    assert!(pages.len() > 8, "{pages:?}");
    pages
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// Where the page's links lead: what stands in `](…)`, without titles.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|target| !target.contains(char::is_whitespace))
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| {
        let kept = heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
        kept.replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_to_a_file_leads_to_one_and_to_a_heading_in_it() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for page in pages() {
        let text = read(&page);
        for target in links(&text).filter(|target| !target.contains("://")) {
            checked += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.clone() } else { page.parent().unwrap_or(&page).join(file) };
            let has_anchor = || anchor.is_empty() || anchors(&read(&path)).contains(anchor);
            if !path.exists() || !has_anchor() {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(checked > 30, "only {checked} links found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_rule_of_the_design_lives_in_a_file_that_is_there() {
    let design = read(&root().join("docs/design.md"));
    let (_, table) = design.split_once("## 11. Where each rule lives").expect("the design has its table");
    let files: Vec<&str> = table.split('`').filter(|name| name.contains('/') && !name.contains(char::is_whitespace)).collect();
    assert!(files.len() > 40, "only {} files found", files.len());
    let missing: Vec<&str> = files.into_iter().filter(|file| !root().join(file).is_file()).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
