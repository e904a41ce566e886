//! libFuzzer's inputs for the reader `any`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("any", bytes));
