//! The stretch of a program that callgrind counts.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// What callgrind looks for: it begins to count where a function of this name is entered and stops where it is left. Its name may stand in no other
/// symbol, which would stop the counting again.
pub(crate) const SYMBOL: &str = "counted_stretch";

/// Does `work` once for each input, counted as a whole but for the first: that one makes what is made once a process (registries, thread locals, call
/// sites of log lines). How long the counted ones took, and what came out of all. Inputs are made before the stretch, and what comes out is dropped
/// after it.
pub(crate) fn count_each<I, O>(inputs: Vec<I>, mut work: impl FnMut(I) -> O) -> (Duration, Vec<O>) {
    let mut outputs = Vec::with_capacity(inputs.len());
    let mut inputs = inputs.into_iter();
    outputs.extend(inputs.next().map(&mut work));
    let began = Instant::now();
    counted_stretch(&mut || {
        for input in inputs.by_ref() {
            outputs.push(black_box(work(black_box(input))));
        }
    });
    (began.elapsed(), outputs)
}

/// Never inlined: without a call there is nothing to look for.
#[inline(never)]
fn counted_stretch(work: &mut dyn FnMut()) {
    work();
}
