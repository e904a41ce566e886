//! libFuzzer's inputs for the reader `blktrace`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("blktrace", bytes));
