#![no_main]

use ikkai_fuzz::{json_mutation, template};

libfuzzer_sys::fuzz_target!(|input: &[u8]| template::check(input));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    json_mutation::mutate(data, size, max_size, seed, &template::WORDS)
        .unwrap_or_else(|| libfuzzer_sys::fuzzer_mutate(data, size, max_size))
});
