//! The fuzzers have a lock file of their own, and are built of the same crates as everything else.

use std::collections::BTreeSet;

/// What only the fuzzers are made of.
const THEIR_OWN: [&str; 3] = ["arbitrary", "ikkai-libfuzzer", "libfuzzer-sys"];

#[test]
fn the_fuzzers_are_built_of_the_versions_that_are_shipped() {
    let main = packages(include_str!("../../../Cargo.lock"));
    let fuzzers = packages(include_str!("../libfuzzer/Cargo.lock"));
    let other: Vec<_> = fuzzers.difference(&main).filter(|(name, _)| !THEIR_OWN.contains(name)).collect();
    assert!(
        other.is_empty(),
        "proof/fuzz/libfuzzer/Cargo.lock has {other:?}; proof/fuzz/run --lock makes it anew from the main lock"
    );
    assert!(fuzzers.contains(&("ikkai", "0.1.0")) && fuzzers.len() > 100, "it was read");
}

/// Names and versions.
fn packages(lock: &str) -> BTreeSet<(&str, &str)> {
    lock.split("[[package]]").skip(1).filter_map(|entry| Some((text(entry, "name")?, text(entry, "version")?))).collect()
}

fn text<'l>(entry: &'l str, name: &str) -> Option<&'l str> {
    entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'))
}
