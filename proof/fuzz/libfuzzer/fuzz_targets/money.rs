#![no_main]

use ikkai_fuzz::money;

libfuzzer_sys::fuzz_target!(|input: &[u8]| money::check(input));
