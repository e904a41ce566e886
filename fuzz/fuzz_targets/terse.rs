//! Whatever follows this head, the reader of `terse` does not panic and what it found can be shown.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = [b"3;fio-3.33;" as &[u8], bytes].concat();
    for reading in &formats::stream::parse(&text).0 {
        formats::sweep::measurements(reading, None);
    }
});
