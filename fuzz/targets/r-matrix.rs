//! libFuzzer's inputs for the reader `r-matrix`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("r-matrix", bytes));
