//! A result, packed: its numbers apart from its text, column by column, then squeezed by LZMA.
//!
//! Half of a result are histograms and samples, whose numbers LZMA takes for text: apart, each next to its neighbour in
//! the same place, they take half of the room. The bytes that are unpacked are those that were packed: numbers are taken out only
//! if they are written in the one usual way, and a text that is not JSON is deflated as it is, as earlier versions did with
//! all. What is left repeats itself for each worker and test, and from survey to survey: LZMA begins with the words that
//! surveys have in common.

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::LazyLock;

/// First byte of a packed text. Deflated ones, as earlier versions kept them, begin with another one.
const MARK: u8 = 3;
/// First byte of a packed text of an earlier version, which is deflated.
const MARK_DEFLATED: u8 = 2;
/// A survey whose words most surveys have. Results were packed with it: another text needs another mark.
const KNOWN: &str = include_str!("known.json");
/// Its words as they are packed.
static KNOWN_WORDS: LazyLock<Vec<u8>> =
    LazyLock::new(|| separate(KNOWN.as_bytes()).map(|(words, _)| with_pairs(&words)).unwrap_or_default());
/// Largest result that is read back, in bytes.
const LARGEST: u64 = 1 << 30;
/// Least and most bytes in which LZMA looks for repeats.
const LEAST_WINDOW: u32 = 1 << 12;
const MOST_WINDOW: u32 = 1 << 26;
/// Bits of a byte's place that LZMA looks at: a number has any number of bytes, so its place says nothing.
const PLACES: u32 = 0;
/// Stands for a number in the text.
const NUMBER: u8 = 1;
/// Stands for a number in quotes.
const QUOTED: u8 = 2;
/// Stands for several pairs of numbers, `[1,2],[3,4]`; their count follows.
const PAIRS: u8 = 3;
/// The pair as it is without its numbers.
const PAIR: &[u8] = &[b'[', NUMBER, b',', NUMBER, b']'];
/// Most digits of a number that is taken out.
const MOST_DIGITS: usize = 37;
/// Names above a number that make its column.
const LEVELS: usize = 6;
/// Most positions in a list that have their own columns.
const POSITIONS: usize = 4;

/// Packs a text.
pub(crate) fn pack(text: &[u8]) -> Vec<u8> {
    let whole = apart(text).filter(|whole| read(whole).as_deref() == Some(text));
    let Some(whole) = whole else { return deflated(text) };
    let mut packed = vec![MARK];
    match squeezed(&whole) {
        Ok(rest) => packed.extend(rest),
        Err(_) => return deflated(text),
    }
    packed
}

/// The words of a text, then its numbers column by column; `None` if the text holds marks of ours, or is not JSON.
fn apart(text: &[u8]) -> Option<Vec<u8>> {
    if text.iter().any(|byte| [NUMBER, QUOTED, PAIRS].contains(byte)) {
        return None;
    }
    let (words, columns) = separate(text)?;
    let words = with_pairs(&words);
    let mut whole = Vec::with_capacity(words.len());
    put(&mut whole, words.len() as u128);
    whole.extend_from_slice(&words);
    put(&mut whole, columns.len() as u128);
    for column in &columns {
        let plain = coded(column, Coding::Plain);
        let differences = coded(column, Coding::Differences);
        let shorter = deflated(&differences).len() < deflated(&plain).len();
        put(&mut whole, (column.len() as u128) << 1 | u128::from(shorter));
        whole.extend_from_slice(if shorter { &differences } else { &plain });
    }
    Some(whole)
}

/// The text that was packed, or deflated by an earlier version.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    let whole = match packed.split_first() {
        Some((&MARK, rest)) => Some(restored(rest)?),
        Some((&MARK_DEFLATED, rest)) => Some(inflated(rest)?),
        _ => return inflated(packed),
    };
    whole.as_deref().and_then(read).ok_or_else(|| "its parts do not fit together".to_owned())
}

fn read(whole: &[u8]) -> Option<Vec<u8>> {
    let mut rest = whole;
    let length = usize::try_from(take(&mut rest)?).ok()?;
    let (words, after) = rest.split_at_checked(length)?;
    rest = after;
    // A number takes a byte at least.
    let count = usize::try_from(take(&mut rest)?).ok().filter(|&count| count <= rest.len())?;
    let mut columns = Vec::with_capacity(count);
    for _ in 0..count {
        let head = take(&mut rest)?;
        let length = usize::try_from(head >> 1).ok().filter(|&length| length <= rest.len())?;
        let mut column = Vec::with_capacity(length);
        let mut before = 0_i128;
        for _ in 0..length {
            let value = signed(take(&mut rest)?);
            before = if head & 1 == 1 { before.wrapping_add(value) } else { value };
            column.push(before);
        }
        columns.push(column);
    }
    join(&without_pairs(words)?, &columns)
}

/// The text with marks in place of its numbers, and the numbers by column; `None` for what is not JSON.
fn separate(text: &[u8]) -> Option<(Vec<u8>, Vec<Vec<i128>>)> {
    let mut words = Vec::with_capacity(text.len());
    let mut columns: Vec<Vec<i128>> = Vec::new();
    let mut place = Place::default();
    let mut rest = text;
    while !rest.is_empty() {
        let token = token(rest)?;
        rest = &rest[token.len()..];
        let quoted = token.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\""));
        let is_name = quoted.is_some() && rest.first() == Some(&b':');
        let number = if is_name { None } else { number(quoted.unwrap_or(token)) };
        match number {
            Some(value) => {
                let at = place.column();
                if at == columns.len() {
                    columns.push(Vec::new());
                }
                columns[at].push(value);
                words.push(if quoted.is_some() { QUOTED } else { NUMBER });
            }
            None => {
                place.step(token, quoted.filter(|_| is_name))?;
                words.extend_from_slice(token);
            }
        }
    }
    Some((words, columns))
}

/// The text of these words and numbers; `None` if they do not fit together.
fn join(words: &[u8], columns: &[Vec<i128>]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(words.len() * 2);
    let mut place = Place::default();
    let mut used = vec![0_usize; columns.len()];
    let mut rest = words;
    while let Some(&first) = rest.first() {
        if first == NUMBER || first == QUOTED {
            rest = &rest[1..];
            let at = place.column();
            let value = columns.get(at)?.get(used[at])?;
            used[at] += 1;
            let quote = if first == QUOTED { "\"" } else { "" };
            // Writing to memory cannot fail.
            let _ = write!(text, "{quote}{value}{quote}");
        } else {
            let token = token(rest)?;
            rest = &rest[token.len()..];
            let quoted = token.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\""));
            place.step(token, quoted.filter(|_| rest.first() == Some(&b':')))?;
            text.extend_from_slice(token);
        }
        if text.len() as u64 > LARGEST {
            return None;
        }
    }
    (used.iter().zip(columns).all(|(used, column)| *used == column.len())).then_some(text)
}

/// The next token: a text in quotes with them, a run of characters of numbers, or any other byte alone.
fn token(rest: &[u8]) -> Option<&[u8]> {
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let length = match rest.first()? {
        b'"' => {
            let mut at = 1;
            while *rest.get(at)? != b'"' {
                at += if rest[at] == b'\\' { 2 } else { 1 };
            }
            at + 1
        }
        byte if byte.is_ascii_digit() || *byte == b'-' => rest.iter().take_while(|byte| is_of_number(byte)).count(),
        _ => 1,
    };
    rest.get(..length)
}

/// The number, if it is written as a program writes it: without zeros in front, sign, point or exponent.
fn number(token: &[u8]) -> Option<i128> {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    let is_usual = digits.len() <= MOST_DIGITS
        && digits.iter().all(u8::is_ascii_digit)
        && (digits.first()? != &b'0' || token == b"0");
    if is_usual { std::str::from_utf8(token).ok()?.parse().ok() } else { None }
}

/// A place in a document, which says what column a number belongs to.
#[derive(Default)]
struct Place {
    /// The open objects and lists: a hash of the current name, or the position in a list.
    open: Vec<Level>,
    /// Columns by the names above them, in the order of their first number.
    columns: HashMap<u64, usize>,
}

#[derive(Clone, Copy)]
enum Level {
    Object(u64),
    List(usize),
}

impl Place {
    /// Follows a token that is not a number; `name` is its text if it is the name of a member. `None` if brackets do not match.
    fn step(&mut self, token: &[u8], name: Option<&[u8]>) -> Option<()> {
        match (token, name) {
            (_, Some(name)) => {
                if let Level::Object(current) = self.open.last_mut()? {
                    *current = name.iter().fold(OFFSET, |hash, byte| mixed(hash, u64::from(*byte)));
                }
            }
            (b"{", _) => self.open.push(Level::Object(0)),
            (b"[", _) => self.open.push(Level::List(0)),
            (b"}" | b"]", _) => {
                self.open.pop()?;
            }
            (b",", _) => {
                if let Level::List(at) = self.open.last_mut()? {
                    *at += 1;
                }
            }
            _ => {}
        }
        Some(())
    }

    /// The column of a number here.
    fn column(&mut self) -> usize {
        let from = self.open.len().saturating_sub(LEVELS);
        let innermost = self.open.len().saturating_sub(1);
        let key = self.open.iter().enumerate().skip(from).fold(OFFSET, |hash, (depth, level)| match level {
            Level::Object(name) => mixed(hash, *name),
            Level::List(at) if depth == innermost => mixed(hash, 1 + (*at).min(POSITIONS - 1) as u64),
            Level::List(_) => mixed(hash, 0),
        });
        let next = self.columns.len();
        *self.columns.entry(key).or_insert(next)
    }
}

/// Start of a hash of names (FNV-1a).
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

const fn mixed(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3)
}

/// The words with runs of pairs shortened.
fn with_pairs(words: &[u8]) -> Vec<u8> {
    let mut short = Vec::with_capacity(words.len());
    let mut rest = words;
    while let Some(&first) = rest.first() {
        let mut count: usize = 0;
        let mut after = rest;
        while let Some(more) = after.strip_prefix(PAIR) {
            count += 1;
            after = more;
            match more.strip_prefix(b",").filter(|more| more.starts_with(PAIR)) {
                Some(more) => after = more,
                None => break,
            }
        }
        if count > 1 {
            short.push(PAIRS);
            put(&mut short, count as u128);
            rest = after;
        } else {
            short.push(first);
            rest = &rest[1..];
        }
    }
    short
}

fn without_pairs(short: &[u8]) -> Option<Vec<u8>> {
    let mut words = Vec::with_capacity(short.len() * 2);
    let mut rest = short;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != PAIRS {
            words.push(first);
            continue;
        }
        let count = usize::try_from(take(&mut rest)?).ok()?;
        if (count as u64).saturating_mul(PAIR.len() as u64) > LARGEST {
            return None;
        }
        for at in 0..count {
            if at > 0 {
                words.push(b',');
            }
            words.extend_from_slice(PAIR);
        }
    }
    Some(words)
}

/// How the numbers of a column are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    /// Each less the one before it.
    Differences,
}

fn coded(column: &[i128], coding: Coding) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(column.len());
    let mut before = 0_i128;
    for &value in column {
        let coded = if coding == Coding::Differences { value.wrapping_sub(before) } else { value };
        put(&mut bytes, unsigned(coded));
        before = value;
    }
    bytes
}

/// Small numbers of both signs as small numbers.
const fn unsigned(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)).cast_unsigned()
}

const fn signed(value: u128) -> i128 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Writes a number, seven bits a byte.
pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u128) {
    while value >= 128 {
        bytes.push(low_bits(value) | 128);
        value >>= 7;
    }
    bytes.push(low_bits(value));
}

fn low_bits(value: u128) -> u8 {
    u8::try_from(value & 127).unwrap_or(0)
}

/// Reads a number, and moves on.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u128> {
    let mut value = 0_u128;
    for shift in (0..128).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u128::from(byte & 127).checked_shl(shift)?;
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

/// By LZMA, which knows the words of surveys, and finds repeats at any distance; its length first.
fn squeezed(bytes: &[u8]) -> Result<Vec<u8>, std::io::Error> {
    let mut packed = Vec::new();
    put(&mut packed, bytes.len() as u128);
    let known = Some(KNOWN_WORDS.clone());
    let options =
        LzmaOptions { dict_size: window(bytes.len()), pb: PLACES, preset_dict: known, ..LzmaOptions::with_preset(9) };
    let mut writer = LzmaWriter::new_no_header(packed, &options, false)?;
    writer.write_all(bytes)?;
    writer.finish()
}

fn restored(mut packed: &[u8]) -> Result<Vec<u8>, String> {
    let length = take(&mut packed).and_then(|length| u64::try_from(length).ok()).filter(|&length| length <= LARGEST);
    let length = length.ok_or("its length is not known")?;
    let window = window(usize::try_from(length).unwrap_or(usize::MAX));
    let (literal, position) = (LzmaOptions::LC_DEFAULT, LzmaOptions::LP_DEFAULT);
    let mut bytes = Vec::new();
    LzmaReader::new(packed, length, literal, position, PLACES, window, Some(&KNOWN_WORDS))
        .and_then(|mut reader| reader.read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Bytes in which LZMA looks for repeats: all of a text of this length, and the known words before it.
fn window(length: usize) -> u32 {
    let all = length.saturating_add(KNOWN_WORDS.len()).checked_next_power_of_two();
    all.and_then(|all| u32::try_from(all).ok()).unwrap_or(MOST_WINDOW).clamp(LEAST_WINDOW, MOST_WINDOW)
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn inflated(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(packed).take(LARGEST).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::document;
    use proptest::prelude::*;

    fn returns(text: &[u8]) -> usize {
        let packed = pack(text);
        assert_eq!(unpack(&packed).unwrap(), text, "{}", String::from_utf8_lossy(text));
        packed.len()
    }

    #[test]
    fn the_same_bytes_come_back_whatever_they_are() {
        for text in [
            "",
            "{}",
            "[",
            "}",
            "]",
            "\"",
            "\"\\",
            "-",
            "0",
            "-0",
            "007",
            "1e5",
            "1.50",
            "[1,2],[3,4],[5,6]",
            "{\"7\":7}",
            "{\"a\":\"12\",\"b\":\"012\",\"c\":[-5,[1,2],[3,4]]}",
            "{\"a\" : [ 1 , 2 ]}",
            "\u{1}\u{2}\u{3}",
            "[1]\u{1}",
            "170141183460469231731687303715884105727",
            "-170141183460469231731687303715884105728",
            "99999999999999999999999999999999999999999",
            "{\"a\":1}\n",
            "é\u{1}",
        ] {
            returns(text.as_bytes());
        }
        returns(&[0xff, 0, 1, 2, 3]);
        returns(&document(1, 1000, "none").bytes);
    }

    #[test]
    fn numbers_of_a_column_take_half_of_the_room() {
        let mut random = measure::SplitMix::new(1);
        let mut row = |at: u64| {
            format!(
                "{{\"until\":{},\"ios\":[{},0]}}",
                at * 500_000_000 + random.next_word() % 99_999,
                random.next_word() % 500
            )
        };
        let text = format!("[{}]", (0..2000).map(&mut row).collect::<Vec<_>>().join(","));
        let (packed, plain) = (returns(text.as_bytes()), deflated(text.as_bytes()).len());
        assert!(packed * 3 < plain * 2, "{packed} of {plain}");
    }

    #[test]
    fn what_is_known_of_surveys_takes_no_room_and_stays_as_it_is() {
        use sha2::Digest;
        let sum = sha2::Sha256::digest(KNOWN).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(
            sum, "9425d5092a0dea3af23bd1e330a273b6060df1ab77279d95ae627ad8cb715010",
            "stored results are read with this text"
        );
        let packed = returns(KNOWN.as_bytes());
        assert!(KNOWN_WORDS.len() > 10_000 && packed < 300, "{packed}");
    }

    #[test]
    fn a_packed_text_of_an_earlier_version_is_read() {
        let text = document(1, 1000, "none").bytes;
        let mut earlier = vec![MARK_DEFLATED];
        earlier.extend(deflated(&apart(&text).unwrap()));
        assert_eq!(unpack(&earlier).unwrap(), text);
        assert_eq!(unpack(&deflated(&text)).unwrap(), text);
    }

    #[test]
    fn damage_is_an_error() {
        let packed = pack(&document(1, 1000, "none").bytes);
        for at in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x55;
            let _ = unpack(&damaged);
            let _ = unpack(&packed[..at]);
        }
        assert!(unpack(&[]).is_err() && unpack(&[MARK]).is_err());
    }

    proptest! {
        #[test]
        fn what_looks_like_json_comes_back(text in "([{}\\[\\],:\"\\\\ 0-9a-e.+\\-]|12|\"a\":|\\[1,2\\],){0,60}") {
            returns(text.as_bytes());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            returns(&bytes);
            let _ = unpack(&bytes);
            let _ = read(&bytes);
        }

        #[test]
        fn numbers_of_both_signs_are_small_ones(value in any::<i128>()) {
            prop_assert_eq!(signed(unsigned(value)), value);
            let mut bytes = Vec::new();
            put(&mut bytes, unsigned(value));
            prop_assert_eq!(take(&mut bytes.as_slice()), Some(unsigned(value)));
        }
    }
}
