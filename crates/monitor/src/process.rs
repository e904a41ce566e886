//! The I/O account of a process or thread, /proc/PID/io.

/// `rchar`, `wchar`, `read_bytes`, `write_bytes`; `None` when one of them is missing.
pub fn io_bytes(text: &str) -> Option<[u64; 4]> {
    let find = |key: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?.trim().parse().ok()
    };
    Some([find("rchar")?, find("wchar")?, find("read_bytes")?, find("write_bytes")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_a_process_is_read() {
        let text = "rchar: 6986\nwchar: 10\nsyscr: 12\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 0\n";
        assert_eq!(io_bytes(text), Some([6986, 10, 4096, 8192]));
        for text in ["", "rchar: 1\n", "rchar: x\nwchar: 1\nread_bytes: 1\nwrite_bytes: 1\n"] {
            assert_eq!(io_bytes(text), None, "{text:?}");
        }
    }
}
