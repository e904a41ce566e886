//! libFuzzer's inputs for the reader `trace-spc`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("trace-spc", bytes));
