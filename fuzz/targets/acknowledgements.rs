//! libFuzzer's inputs for the reader `acknowledgements`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("acknowledgements", bytes));
