//! Bytes → lines of text. Removes encodings and decorations: UTF-16, byte order marks, CRLF, progress lines that end in
//! CR, mail quote marks, colour codes, HTML tags and entities. What logs put before a line is `stamps`'.

use super::stamps::{is_stamped, without_stamps};
use crate::tree::Tree;
use memchr::{memchr2, memchr3};
use std::borrow::Cow;

/// The longest line kept, in bytes; a longer one is truncated, and the truncation is reported.
pub(super) const LONGEST_LINE: usize = 64 << 20;

/// Text encoding of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

/// Detects the encoding; also returns the length of the byte order mark.
pub(super) fn encoding(head: &[u8]) -> (Encoding, usize) {
    match head {
        [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
        [0xff, 0xfe, ..] => (Encoding::Utf16Le, 2),
        [0xfe, 0xff, ..] => (Encoding::Utf16Be, 2),
        // No byte order mark: ASCII text with a 0 in every other byte.
        [1..=0x7f, 0, 1..=0x7f, 0, ..] => (Encoding::Utf16Le, 0),
        [0, 1..=0x7f, 0, 1..=0x7f, ..] => (Encoding::Utf16Be, 0),
        _ => (Encoding::Utf8, 0),
    }
}

/// Converts UTF-16 to UTF-8; an odd byte at the end is dropped.
pub(super) fn utf8_of(bytes: &[u8], encoding: Encoding) -> String {
    let unit = |pair: &[u8]| match encoding {
        Encoding::Utf16Be => u16::from_be_bytes([pair[0], pair[1]]),
        _ => u16::from_le_bytes([pair[0], pair[1]]),
    };
    let units = bytes.chunks_exact(2).map(unit);
    char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Bytes of UTF-16 that can be decoded: an odd byte or the first half of a surrogate pair needs more.
pub(super) fn whole_letters(bytes: &[u8], encoding: Encoding) -> usize {
    let even = bytes.len() & !1;
    let high = match (encoding, bytes[..even].last_chunk::<2>()) {
        (Encoding::Utf16Be, Some([high, _])) | (_, Some([_, high])) => *high,
        (_, None) => 0,
    };
    if matches!(high, 0xd8..=0xdb) { even - 2 } else { even }
}

/// True if any of these lines may contain something that [`unwrapped`] removes, other than at its start.
pub(super) fn has_odd_bytes(lines: &[u8]) -> bool {
    memchr3(b'\x1b', b'&', b'\r', lines).is_some() || memchr2(b'\0', b'<', lines).is_some()
}

/// Start of a line in the files that Docker keeps of a container's output: each holds one line.
const DOCKER: &[u8] = b"{\"log\":\"";

/// The line that a line of Docker's file holds.
fn of_docker(line: &str) -> Option<String> {
    let value = Tree::of(line).ok()?;
    let text = value.get("log")?.as_text()?;
    Some(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// True if a line starts with a quote mark or a timestamp.
pub(super) fn opens_wrapped(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b">") || is_stamped(line) || line.starts_with(DOCKER)
}

/// Removes decorations from a line; its indentation stays.
pub(super) fn unwrapped(line: &[u8]) -> Cow<'_, str> {
    // Nearly all lines are valid UTF-8, and validation is faster than lossy conversion.
    let text = std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
    if !has_odd_bytes(line) && !opens_wrapped(line) {
        return text;
    }
    let held = if line.starts_with(DOCKER) { of_docker(&text) } else { None };
    let mut text = without_colour(held.as_deref().unwrap_or(&text));
    if text.contains('<') {
        text = without_tags(&text);
    }
    if text.contains('&') {
        text = without_entities(&text);
    }
    while let Some(rest) = text.trim_start().strip_prefix('>').filter(|rest| !rest.starts_with('=')) {
        text = rest.strip_prefix(' ').unwrap_or(rest).to_owned();
    }
    if is_stamped(text.as_bytes()) && !is_moment(&text) {
        text = without_stamps(&text).to_owned();
    }
    Cow::Owned(text)
}

/// Removes terminal sequences and control characters; tabs stay.
fn without_colour(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => {
                if letters.next_if_eq(&'[').is_some() {
                    while letters.next().is_some_and(|letter| !('@'..='~').contains(&letter)) {}
                } else {
                    letters.next();
                }
            }
            '\t' => clean.push('\t'),
            letter if letter.is_control() => {}
            letter => clean.push(letter),
        }
    }
    clean
}

/// Removes the tags that stand around output in HTML pages.
fn without_tags(text: &str) -> String {
    const TAGS: &[&str] = &[
        "a",
        "b",
        "blockquote",
        "body",
        "br",
        "code",
        "dd",
        "div",
        "font",
        "hr",
        "html",
        "i",
        "kbd",
        "li",
        "p",
        "pre",
        "samp",
        "span",
        "strong",
        "td",
        "th",
        "tr",
        "tt",
    ];
    let (mut clean, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, tag)) = rest.split_once('<') {
        clean.push_str(before);
        let name = tag.strip_prefix('/').unwrap_or(tag);
        let length = name.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(name.len());
        let known = TAGS.iter().any(|known| known.eq_ignore_ascii_case(&name[..length]));
        let after = name[length..].split_once('>').filter(|(inner, _)| known && !inner.contains('<'));
        rest = after.map_or(tag, |(_, after)| after);
        if after.is_none() {
            clean.push('<');
        }
    }
    clean + rest
}

fn without_entities(text: &str) -> String {
    const ENTITIES: &[(&str, &str)] = &[
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&#160;", " "),
        ("&amp;", "&"),
    ];
    ENTITIES.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}

/// True for a line that is nothing but `2026-11-27T08:17:44+0000`: iostat's time of a report.
fn is_moment(line: &str) -> bool {
    let zone = line.get(19..).unwrap_or_default();
    line.len() == 24 && zone.starts_with(['+', '-']) && zone[1..].bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappings_come_off_and_the_line_stays() {
        for (line, expected) in [
            ("  read : io=1MB", "  read : io=1MB"),
            ("> >   read : io=1MB\r", "  read : io=1MB"),
            ("\x1b[32m  read\x1b[0m : io=1MB", "  read : io=1MB"),
            ("&gt;=64=0.1%, a &amp; b", ">=64=0.1%, a & b"),
            (">=64=0.1%", ">=64=0.1%"),
            ("2021-03-01T12:25:11.123Z   read: IOPS=1", "  read: IOPS=1"),
            ("[2021-03-01 12:25:11] read: IOPS=1", "read: IOPS=1"),
            ("2021-03-01T12:25:11+0100 read: IOPS=1", "read: IOPS=1"),
            ("2021-03-01T12:25:11+0100", "2021-03-01T12:25:11+0100"),
            ("a&nbsp;b", "a b"),
            ("<pre>  read: IOPS=1", "  read: IOPS=1"),
            ("<pre class=\"x\"><code>read: IOPS=1<br/>", "read: IOPS=1"),
            ("  cpu <BR>", "  cpu "),
            ("a <unnamed>: <1 <b", "a <unnamed>: <1 <b"),
            ("{\"log\":\"  read: IOPS=1\\n\",\"stream\":\"stdout\",\"time\":\"2026\"}", "  read: IOPS=1"),
        ] {
            assert_eq!(unwrapped(line.as_bytes()), expected, "{line:?}");
        }
    }

    #[test]
    fn utf_16_is_known_by_its_mark_or_its_zeros() {
        let little: Vec<u8> = "fio-2".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "fio-2".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!((encoding(&little), encoding(&big)), ((Encoding::Utf16Le, 0), (Encoding::Utf16Be, 0)));
        assert_eq!(utf8_of(&little, Encoding::Utf16Le), "fio-2");
        assert_eq!(utf8_of(&big, Encoding::Utf16Be), "fio-2");
        assert_eq!(encoding(b"\xff\xfef\0"), (Encoding::Utf16Le, 2));
    }
}
