//! Every kept input, once more: seeds, and what fuzzing has found. Needs no fuzzer.
//!
//! One test, because memory is measured: nothing else may run beside it in this process.

use std::fs;
use std::path::Path;

use ikkai_fuzz::TARGETS;

#[test]
fn what_has_to_hold_holds_for_every_kept_input() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut folders: Vec<String> = names(&corpus);
    folders.sort_unstable();
    assert_eq!(folders, TARGETS.map(|target| target.name), "each kind of input has its folder");
    for target in TARGETS {
        let inputs = names(&corpus.join(target.name));
        assert!(!inputs.is_empty(), "{} has no inputs", target.name);
        for input in inputs {
            let bytes = fs::read(corpus.join(target.name).join(&input)).expect("an input");
            let held = std::panic::catch_unwind(|| (target.check)(&bytes)).is_ok();
            assert!(held, "{}/{input} breaks what has to hold; the reason stands above", target.name);
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    entries.map(|name| name.into_string().expect("a name in UTF-8")).collect()
}
