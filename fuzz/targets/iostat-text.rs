//! libFuzzer's inputs for the reader `iostat-text`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("iostat-text", bytes));
