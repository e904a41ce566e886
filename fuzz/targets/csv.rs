//! libFuzzer's inputs for the reader `csv`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("csv", bytes));
