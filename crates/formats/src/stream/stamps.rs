//! What logs put before a line: times of ts(1), syslog, journalctl, containers and CI, names of hosts, units, pods and
//! services. Each is taken off, several one after the other; the indentation of the line stays.
//!
//! A time alone on its line is iostat's and stays.

/// Most prefixes of a line: a service, a pod, two times.
const MOST: usize = 4;

/// True if a line starts with something that [`without_stamps`] takes off.
pub(super) fn is_stamped(line: &[u8]) -> bool {
    // Most lines are indented, or begin with a brace.
    let Some(first) = line.first() else { return false };
    match first {
        b'[' if has_month(&line[1..]) || has_weekday(&line[1..]) => true,
        b'0'..=b'9' | b'[' => is_start_of_time(line) || may_be_name(line),
        b'<' => line.get(1).is_some_and(u8::is_ascii_digit),
        b'a'..=b'z' | b'A'..=b'Z' => may_be_name(line) || has_month(line) || has_weekday(line),
        _ => false,
    }
}

/// The line without its prefixes.
pub(super) fn without_stamps(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..MOST {
        match without_one(rest) {
            Some(shorter) => rest = shorter,
            None => break,
        }
    }
    rest
}

fn without_one(line: &str) -> Option<&str> {
    behind_time(line).map(|behind| without_level(without_unit(without_stream(behind)))).or_else(|| behind_name(line))
}

/// A quick look: two digits and a sign of times, or ten digits.
fn is_start_of_time(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"[").unwrap_or(line).trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let next = line.get(digits).copied().unwrap_or(0);
    matches!((digits, next), (2, b':' | b'/') | (4, b'-' | b'/') | (10, b' ') | (1..=10, b'.'))
}

const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
const DAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];

fn has_month(line: &[u8]) -> bool {
    line.get(3) == Some(&b' ') && MONTHS.iter().any(|month| line.starts_with(month))
}

fn has_weekday(line: &[u8]) -> bool {
    line.get(3) == Some(&b' ') && DAYS.iter().any(|day| line.starts_with(day))
}

/// A quick look: a word, blanks and `| ` as of docker compose, `[pod/..] `, or a tab as of `gh run view --log`.
fn may_be_name(line: &[u8]) -> bool {
    const LONGEST: usize = 200;
    if line.starts_with(b"[pod/") {
        return true;
    }
    let start = &line[..line.len().min(LONGEST)];
    let word = start.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte)).count();
    match start.get(word) {
        Some(b' ') => {
            let blanks = start[word..].iter().take_while(|byte| **byte == b' ').count();
            start.get(word + blanks) == Some(&b'|') || memchr::memchr(b'\t', start).is_some()
        }
        Some(b'\t') => true,
        _ => false,
    }
}

/// The text behind the one blank that separates a prefix from its line; a prefix alone on a line had an empty one.
fn behind_blank(rest: &str) -> Option<&str> {
    rest.strip_prefix([' ', '\t']).or(rest.is_empty().then_some(""))
}

/// Without the `<13>` of syslog's protocol.
fn without_priority(line: &str) -> &str {
    let inner = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    inner
        .filter(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(line, |(_, rest)| rest)
}

fn behind_time(line: &str) -> Option<&str> {
    let line = without_priority(line);
    let (inner, is_bracketed) = match line.strip_prefix('[') {
        Some(inner) => (inner, true),
        None => (line, false),
    };
    let rest = date_and_time(inner).or_else(|| seconds(inner, line))?;
    let rest = if is_bracketed { rest.trim_start().strip_prefix(']')? } else { rest };
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    // iostat's own lines of times.
    let behind = behind_blank(rest).filter(|behind| !behind.is_empty() || rest.starts_with(' ') || is_bracketed)?;
    let is_of_iostat = matches!(behind.trim_end(), "AM" | "PM") || is_only_zone(behind);
    (!is_of_iostat).then_some(behind)
}

fn is_only_zone(text: &str) -> bool {
    let text = text.trim();
    matches!(text.len(), 3..=5) && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Behind `2026-11-27T07:40:54.1Z`, `2026-11-27 07:40:54,1`, `2026/11/27 07:40:54`, `11/27/2026 07:40:54`,
/// `Nov 27 07:40:54`, `Fri 2026-11-27 07:40:54 UTC`, `Fri Nov 27 07:40:54 2026`, `07:40:54`.
fn date_and_time(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let text = if has_weekday(bytes) { &text[4..] } else { text };
    let bytes = text.as_bytes();
    if has_month(bytes) {
        // `Nov 27 07:40:54`, `Nov  7 07:40:54`; asctime has the year behind.
        let behind = clock(text.get(7..)?)?;
        return Some(match behind.as_bytes() {
            [b' ', b'2', b'0', tens, ones, b' ' | b']', ..] if tens.is_ascii_digit() && ones.is_ascii_digit() => {
                &behind[5..]
            }
            _ => behind,
        });
    }
    if is_date(bytes) {
        let behind = clock(text.get(11..).filter(|_| matches!(bytes[10], b'T' | b' ' | b'_'))?)?;
        // journalctl -o short-full has the name of the zone.
        return Some(behind.strip_prefix(" UTC").unwrap_or(behind));
    }
    clock(text)
}

/// True for the ten letters of a date in digits.
fn is_date(bytes: &[u8]) -> bool {
    let has = |signs: [usize; 2], sign: u8| signs.iter().all(|&at| bytes.get(at) == Some(&sign));
    let signs = match () {
        () if has([4, 7], b'-') || has([4, 7], b'/') => [4, 7],
        () if has([2, 5], b'/') => [2, 5],
        () => return false,
    };
    (0..10).all(|at| signs.contains(&at) || bytes.get(at).is_some_and(u8::is_ascii_digit))
}

/// Behind `07:40:54`, with a fraction and a zone.
fn clock(text: &str) -> Option<&str> {
    let text = text.strip_prefix(' ').unwrap_or(text);
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_clock = [0, 1, 3, 4, 6, 7].into_iter().all(digit) && bytes[2] == b':' && bytes[5] == b':';
    if !is_clock {
        return None;
    }
    let rest = &text[8..];
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => fraction.trim_start_matches(|letter: char| letter.is_ascii_digit()),
        None => rest,
    };
    let zone = |letter: char| letter.is_ascii_digit() || letter == ':';
    Some(match rest.as_bytes() {
        [b'Z', ..] => &rest[1..],
        [b'+' | b'-', ..] => rest[1..].trim_start_matches(zone),
        _ => rest,
    })
}

/// Behind `1764229254.123456` of `ts %.s`, `1764229254`, or `[ 1234.567890]` of the kernel and short-monotonic.
fn seconds<'text>(text: &'text str, line: &str) -> Option<&'text str> {
    let is_bracketed = line.starts_with('[');
    let text = if is_bracketed { text.trim_start() } else { text };
    let behind = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let whole = text.len() - behind.len();
    let fraction = behind.strip_prefix('.').map(|rest| {
        let after = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        (rest.len() - after.len(), after)
    });
    match fraction {
        Some((3.., after)) if whole == 10 || (is_bracketed && whole > 0) => Some(after),
        // `ts -s %.s` has microseconds.
        Some((6, after)) if whole > 0 && after.starts_with(' ') => Some(after),
        None if whole == 10 && text.starts_with('1') && behind.starts_with(' ') => {
            // A row of a table has more numbers behind; a terse line begins with one, too.
            let next = behind.trim_start();
            (!next.starts_with(|letter: char| letter.is_ascii_digit()) || next.as_bytes().get(1) == Some(&b';'))
                .then_some(behind)
        }
        _ => None,
    }
}

/// Without `stdout F ` of Kubernetes' files, and `00O ` of GitLab.
fn without_stream(text: &str) -> &str {
    let behind = ["stdout F ", "stderr F ", "stdout P ", "stderr P "].iter().find_map(|word| text.strip_prefix(word));
    let gitlab = || match text.as_bytes() {
        [b'0', digit, b'O' | b'E', b' ' | b'+', ..] if digit.is_ascii_digit() => Some(&text[4..]),
        _ => None,
    };
    behind.or_else(gitlab).unwrap_or(text)
}

/// Without `host unit[7]: ` of syslog and journalctl. A line of fio has no two words before its first colon, but names
/// of jobs can.
fn without_unit(text: &str) -> &str {
    let name = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./@".contains(&byte))
    };
    let unit = || {
        let (host, rest) = text.split_once(' ')?;
        let (unit, behind) = rest.split_once(':')?;
        let tag = unit.split_once('[').map_or(unit, |(tag, _)| tag);
        let pid = unit.strip_prefix(tag).unwrap_or_default();
        let is_pid = pid.is_empty() || pid.starts_with('[') && pid.ends_with(']');
        let is_of_fio = behind.starts_with(" (g") || host == "issued" || behind.starts_with(" Laying out");
        (name(host) && name(tag) && is_pid && !is_of_fio).then(|| behind_blank(behind)).flatten()
    };
    unit().unwrap_or(text)
}

/// Without `[INFO] `, `INFO: `.
fn without_level(text: &str) -> &str {
    let inner = text.strip_prefix('[').unwrap_or(text);
    let levels = ["DEBUG", "INFO", "NOTICE", "WARNING", "WARN", "ERROR"];
    let Some(level) = levels.into_iter().find(|level| inner.starts_with(level)) else { return text };
    let rest = inner[level.len()..].trim_start_matches([']', ':']);
    rest.strip_prefix(" - ").or_else(|| rest.strip_prefix(' ')).unwrap_or(text)
}

/// Behind `[pod/NAME/CONTAINER] `, `name-1  | `, and the job and step of `gh run view --log`.
fn behind_name(line: &str) -> Option<&str> {
    if line.starts_with("[pod/") {
        return behind_blank(line.split_once(']')?.1);
    }
    if !may_be_name(line.as_bytes()) {
        return None;
    }
    let word = line.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte)).count();
    if let Some(rest) = line[word..].trim_start_matches(' ').strip_prefix('|').filter(|_| word > 0) {
        return behind_blank(rest);
    }
    let rest = line.split_once('\t')?.1.split_once('\t')?.1;
    let rest = rest.strip_prefix('\u{feff}').unwrap_or(rest);
    behind_time(rest).map(|_| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_log_puts_before_a_line_comes_off() {
        let line = "  read: IOPS=1";
        for prefix in [
            "2021-03-01T12:25:11.123Z",
            "2026-11-27T07:40:54.1234567Z",
            "2026-11-27T07:40:54+0100 lab fio[7]:",
            "2026-11-27T07:40:54.123456+01:00 lab fio[7]:",
            "[2021-03-01 12:25:11]",
            "[2021-03-01T12:25:11.1Z]",
            "2026-11-27 07:40:54,123 INFO",
            "2026-11-27 07:40:54,123 [INFO] -",
            "Nov 27 07:40:54",
            "Nov  7 07:40:54",
            "Nov 27 07:40:54 lab fio[7]:",
            "Nov 27 07:40:54.123456 lab run-fio.sh[7]:",
            "Nov 27 07:40:54 lab root:",
            "Fri 2026-11-27 07:40:54 UTC lab fio[7]:",
            "[Fri Nov 27 07:40:54 2026]",
            "<13>Nov 27 07:40:54 lab fio:",
            "2026/11/27 07:40:54",
            "11/27/2026 07:40:54",
            "2026-11-27_07:40:54",
            "0.000123",
            "[  123.456789] lab fio[7]:",
            "1764229254.123456",
            "1764229254.123456 lab fio[7]:",
            "1764229254",
            "00:00:01",
            "07:40:54.123456",
            "[07:40:54]",
            "fio-1  |",
            "my_fio_1 |",
            "fio-1  | 2026-11-27T07:40:54.123456789Z",
            "[pod/fio-abc/fio]",
            "[pod/fio-abc/fio] 2026-11-27T07:40:54.123456789Z",
            "2026-11-27T07:40:54.123456789Z stdout F",
            "2026-11-27T07:40:54.123456Z 00O",
            "build\tRun fio\t2026-11-27T07:40:54.1234567Z",
        ] {
            let whole = format!("{prefix} {line}");
            assert!(is_stamped(whole.as_bytes()), "{whole}");
            assert_eq!(without_stamps(&whole), line, "{whole}");
            let job = format!("{prefix} my job: (g=0): rw=read, bs=4K");
            assert_eq!(without_stamps(&job), "my job: (g=0): rw=read, bs=4K", "{job}");
        }
    }

    #[test]
    fn a_line_without_a_stamp_stays() {
        for line in [
            "",
            "  read: IOPS=1",
            "a: (groupid=0, jobs=1): err= 0: pid=1: Fri Nov 27 07:47:01 2026",
            "my job: (groupid=0, jobs=1): err= 0: pid=1",
            "11/27/2026 07:40:54 AM",
            "11/27/2026 07:40:54",
            "<lab> a: (g=0): rw=read",
            "07:40:54 AM",
            "2026-11-27T07:40:54+0000",
            "2026-11-27 07:40:54",
            "Time: 07:40:54 AM",
            "3;fio-3.33;a;0;0;1;2",
            "1, 10, 0, 4096",
            "1764229254",
            "1764229254123, 10, 0, 4096",
            "1764229254 4 5 6",
            "name users bs MB lat",
            "read,1,8K,1.5",
            "READ: bw=1MiB/s (1MB/s), 1MiB/s-1MiB/s",
            "vda              1.00      4.00",
            "fio-3.33",
            "{",
            "[global]",
        ] {
            assert_eq!(without_stamps(line), line);
        }
    }
}
