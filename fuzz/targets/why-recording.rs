//! libFuzzer's inputs for the reader `why-recording`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("why-recording", bytes));
