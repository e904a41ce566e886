//! Whatever follows this head, the reader of `json` does not panic and what it found can be shown.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = [b"{\n  \"fio version\" : \"fio-3.33\",\n" as &[u8], bytes].concat();
    for reading in &formats::stream::parse(&text).0 {
        formats::sweep::measurements(reading, None);
    }
});
