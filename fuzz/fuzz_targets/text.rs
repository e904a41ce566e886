//! Whatever follows this head, the reader of `text` does not panic and what it found can be shown.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = [b"fio-2.0.13\na: (g=0): rw=read, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1\na: (groupid=0, jobs=1): err= 0: pid=1\n" as &[u8], bytes].concat();
    for reading in &formats::stream::parse(&text).0 {
        formats::sweep::measurements(reading, None);
    }
});
