//! libFuzzer's inputs for the reader `fio-log-packed`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("fio-log-packed", bytes));
