#![no_main]

use ikkai_fuzz::image_input;

libfuzzer_sys::fuzz_target!(|input: &[u8]| image_input::check(input));
