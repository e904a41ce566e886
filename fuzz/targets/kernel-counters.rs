//! libFuzzer's inputs for the reader `kernel-counters`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("kernel-counters", bytes));
