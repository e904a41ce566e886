//! libFuzzer's inputs for the reader `fio-sh-letters`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("fio-sh-letters", bytes));
