//! libFuzzer's inputs for the reader `fio-json`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("fio-json", bytes));
