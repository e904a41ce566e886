//! Whatever follows this head, the reader of `sweep` does not panic and what it found can be shown.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = [b"system,name,users,bs,MB,lat\n" as &[u8], bytes].concat();
    for reading in &formats::stream::parse(&text).0 {
        formats::sweep::measurements(reading, None);
    }
});
