//! libFuzzer's inputs for the reader `job-file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("job-file", bytes));
