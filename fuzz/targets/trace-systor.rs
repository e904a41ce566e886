//! libFuzzer's inputs for the reader `trace-systor`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("trace-systor", bytes));
