//! Whatever the bytes, the readers do not panic and what they found can be shown.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = bytes;
    for reading in &formats::stream::parse(text).0 {
        formats::sweep::measurements(reading, None);
    }
});
