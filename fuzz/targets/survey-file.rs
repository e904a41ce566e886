//! libFuzzer's inputs for the reader `survey-file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("survey-file", bytes));
