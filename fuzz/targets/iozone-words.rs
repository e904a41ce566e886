//! libFuzzer's inputs for the reader `iozone-words`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plumb_fuzz::read("iozone-words", bytes));
