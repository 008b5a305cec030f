//! Every kept input with changes: a short run of what the fuzzers do at length, without coverage and the same in every build.
//!
//! `IKKAI_MUTANTS=10000` asks for so many of each input.

use std::fs;
use std::path::Path;

use ikkai_fuzz::{TARGETS, Target, json_mutation};

/// Mutants of each input.
const MUTANTS: u32 = 20;

/// Longest mutant, in bytes.
const LONGEST: usize = 20_000;

#[test]
fn what_has_to_hold_holds_for_inputs_that_were_changed() {
    let mutants = std::env::var("IKKAI_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(MUTANTS);
    let mut broken = Vec::new();
    for target in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
        let mut inputs: Vec<_> = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
        inputs.sort_unstable();
        for input in inputs {
            let original = fs::read(&input).expect("an input");
            let breaks = |seed: &u32| std::panic::catch_unwind(|| (target.check)(&mutant(target, &original, *seed))).is_err();
            if let Some(seed) = (0..mutants).find(breaks) {
                let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}", target.name, broken.len()));
                fs::write(&kept, mutant(target, &original, seed)).expect("a file");
                broken.push(format!("{} ({}, changed with seed {seed})", kept.display(), input.display()));
            }
        }
    }
    assert!(broken.is_empty(), "what has to hold does not, the reasons stand above:\n{}", broken.join("\n"));
}

fn mutant(target: Target, original: &[u8], seed: u32) -> Vec<u8> {
    let mut data = vec![0; LONGEST.max(original.len())];
    data[..original.len()].copy_from_slice(original);
    let changed = target.words.and_then(|words| json_mutation::mutate(&mut data, original.len(), LONGEST, seed, words));
    data.truncate(changed.unwrap_or(original.len()));
    if changed.is_none() {
        damage(&mut data, seed);
    }
    data
}

/// Changes up to eight bytes, and cuts now and then.
fn damage(bytes: &mut Vec<u8>, seed: u32) {
    let mut rng = fastrand::Rng::with_seed(u64::from(seed));
    for _ in 0..rng.usize(1..=8) {
        let place = rng.usize(..=bytes.len());
        match rng.u8(..8) {
            0 => bytes.truncate(place),
            1 => bytes.insert(place, rng.u8(..)),
            _ => {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = rng.u8(..);
                }
            }
        }
    }
}
