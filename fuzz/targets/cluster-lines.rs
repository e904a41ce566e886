//! libFuzzer's inputs for the reader `cluster-lines`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("cluster-lines", bytes));
