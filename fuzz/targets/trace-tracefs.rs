//! libFuzzer's inputs for the reader `trace-tracefs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("trace-tracefs", bytes));
