//! Values of several parts: three-way lists, ranges, splits, distributions, CPU lists.

use super::number::{UnitBase, integer};
use crate::error::{Complaint, did_you_mean};
use measure::{Nanos, PerDirection};
use plan::{Distribution, RateStep};

/// Values for reads, writes and trims; `None` leaves a direction unchanged.
pub(crate) type Triple<T> = [Option<T>; 3];

/// Parses `a`, `a,b` or `a,b,c`. Missing values at the end copy the last one; an empty one leaves its direction
/// unchanged.
fn three<T: Clone>(text: &str, read: impl Fn(&str) -> Result<T, Complaint>) -> Result<Triple<T>, Complaint> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return Err(Complaint::new("has more than three parts", "give one value, or read,write,trim"));
    }
    if parts.iter().all(|part| part.is_empty()) {
        return Err(Complaint::new("has no value", "give one value, or read,write,trim"));
    }
    let mut values = [const { None }; 3];
    for (value, part) in values.iter_mut().zip(&parts) {
        if !part.is_empty() {
            *value = Some(read(part).map_err(|complaint| within(part, &parts, complaint))?);
        }
    }
    if let Some(last) = values.get(parts.len() - 1).cloned().flatten() {
        values[parts.len()..].fill(Some(last));
    }
    Ok(values)
}

/// Adds the wrong part to the complaint if there are several parts.
fn within(part: &str, parts: &[&str], complaint: Complaint) -> Complaint {
    if parts.len() == 1 {
        return complaint;
    }
    Complaint { what: format!("has a wrong part: `{part}` {}", complaint.what), help: complaint.help }
}

/// Parses up to three numbers.
pub(crate) fn triple(text: &str, base: UnitBase) -> Result<Triple<u64>, Complaint> {
    three(text, |part| u64::try_from(integer(part, base)?).map_err(|_| Complaint::new("is negative", "give 0 or more")))
}

/// Parses one range, `a-b` or `a:b`.
fn range(text: &str, base: UnitBase) -> Result<(u64, u64), Complaint> {
    let help = "write it like 4k-16k";
    let (low, high) = text.split_once(['-', ':']).ok_or_else(|| Complaint::new("is not a range", help))?;
    let read = |part: &str| {
        let value = integer(part, base).map_err(|complaint| within(part, &[low, high], complaint))?;
        u64::try_from(value).map_err(|_| Complaint::new("is not a range", help))
    };
    let (low, high) = (read(low)?, read(high)?);
    Ok((low.min(high), low.max(high)))
}

/// Parses up to three ranges.
pub(crate) fn ranges(text: &str, base: UnitBase) -> Result<Triple<(u64, u64)>, Complaint> {
    three(text, |part| range(part, base))
}

/// Parses percentiles and other floats separated by `:`.
pub(crate) fn floats(text: &str, most: usize) -> Result<Vec<f64>, Complaint> {
    several(text, most, "write it like 50:99:99.9")
}

fn several(text: &str, most: usize, help: &str) -> Result<Vec<f64>, Complaint> {
    let values = text
        .split(':')
        .map(|part| match part.trim().parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(Complaint::new(format!("has a part that is not a number: `{part}`"), help)),
        })
        .collect::<Result<Vec<f64>, Complaint>>()?;
    if values.len() > most {
        return Err(Complaint::plain(format!("has {} values; {most} is the most", values.len())));
    }
    Ok(values)
}

/// Parses bssplit of one direction: block sizes with their shares in percent. Missing shares are filled in.
fn split(text: &str, base: UnitBase) -> Result<Vec<(u32, u8)>, Complaint> {
    let help = "write it like 4k/60:64k/40";
    let mut parts: Vec<(u32, Option<u8>)> = Vec::new();
    for part in text.split(':') {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        if size.contains('-') {
            return Err(Complaint::new(format!("has a range of sizes: `{size}`"), "name the sizes: 20k/3:24k/3:28k/3"));
        }
        let size = integer(size, base).map_err(|complaint| within(size, &[part, text], complaint))?;
        let size = u32::try_from(size)
            .ok()
            .filter(|&size| size > 0)
            .ok_or_else(|| Complaint::new(format!("has a size of {size}"), help))?;
        let share = match share.trim() {
            "" => None,
            share => Some(
                share
                    .parse::<u8>()
                    .ok()
                    .filter(|&share| share <= 100)
                    .ok_or_else(|| Complaint::new(format!("has a share that is not 0 to 100: `{share}`"), help))?,
            ),
        };
        parts.push((size, share));
    }
    if parts.len() > 64 {
        return Err(Complaint::plain(format!("has {} sizes; 64 is the most", parts.len())));
    }
    fill_shares(&parts)
}

/// Distributes the rest of 100 % evenly over the sizes without a share; the remainder goes to the first of them. If all
/// have a share, the last size takes the rest, as in fio.
fn fill_shares(parts: &[(u32, Option<u8>)]) -> Result<Vec<(u32, u8)>, Complaint> {
    let given: u32 = parts.iter().filter_map(|part| part.1).map(u32::from).sum();
    let open = u32::try_from(parts.iter().filter(|part| part.1.is_none()).count()).unwrap_or(u32::MAX);
    if given > 100 {
        let what = format!("has shares that sum to {given}, above 100");
        return Err(Complaint::new(what, "leave a share empty to give it the rest"));
    }
    let left = 100 - given;
    let each = left.checked_div(open).unwrap_or(0);
    let mut extra = left.checked_rem(open).unwrap_or(0);
    let fill = |(size, share): &(u32, Option<u8>)| {
        let share = share.unwrap_or_else(|| {
            let bonus = u32::from(extra > 0);
            extra = extra.saturating_sub(1);
            u8::try_from(each + bonus).unwrap_or(100)
        });
        (*size, share)
    };
    let mut filled: Vec<(u32, u8)> = parts.iter().map(fill).collect();
    if let (0, Some((_, last))) = (open, filled.last_mut()) {
        *last += u8::try_from(left).unwrap_or(0);
    }
    Ok(filled)
}

/// Parses bssplit for up to three directions.
pub(crate) fn block_splits(text: &str, base: UnitBase) -> Result<Triple<Vec<(u32, u8)>>, Complaint> {
    three(text, |part| split(part, base))
}

/// Parses random_distribution.
pub(crate) fn distribution(text: &str, base: UnitBase) -> Result<Distribution, Complaint> {
    let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
    match word {
        "random" => Ok(Distribution::Uniform),
        "zipf" => skewed(rest, 1.1).and_then(|(theta, centre)| {
            if theta <= 0.0 || (theta - 1.0).abs() < f64::EPSILON {
                return Err(Complaint::plain("has a zipf exponent that is not above 0 and different from 1"));
            }
            Ok(Distribution::Zipf(theta, centre))
        }),
        "pareto" => skewed(rest, 0.2).and_then(|(shape, centre)| {
            if shape <= 0.0 || shape >= 1.0 {
                return Err(Complaint::plain("has a pareto shape that is not between 0 and 1"));
            }
            Ok(Distribution::Pareto(shape, centre))
        }),
        "normal" | "gauss" => skewed(rest, 0.0).and_then(|(deviation, centre)| {
            if !(0.0..=100.0).contains(&deviation) {
                return Err(Complaint::plain("has a deviation that is not 0 to 100 percent"));
            }
            Ok(Distribution::Normal(deviation, centre))
        }),
        "zoned" => {
            let rest = rest.map(with_last_zone);
            zones(rest.as_deref(), base, &|text, _| text.parse::<u8>().ok().filter(|&share| share <= 100)).and_then(
                |zones| {
                    let covered = |part: &Vec<(u8, u8)>| part.iter().map(|&(_, share)| u32::from(share)).sum::<u32>();
                    let wrong = zones.iter().map(|(_, part)| covered(part)).find(|&sum| sum != 100);
                    match wrong {
                        Some(sum) => Err(Complaint::plain(format!("covers {sum} % of the region, not 100 %"))),
                        None => Ok(Distribution::Zoned(zones)),
                    }
                },
            )
        }
        "zoned_abs" => zones(rest, base, &|text, base| u64::try_from(integer(text, base).ok()?).ok())
            .map(Distribution::ZonedAbsolute),
        "sequence" => sequence(rest.unwrap_or_default()).map(Distribution::Sequence),
        _ => Err(Complaint {
            what: "is not a distribution".into(),
            help: did_you_mean(word, ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs", "sequence"])
                .or_else(|| Some("random, zipf:1.2, pareto:0.9, normal:20, zoned:60/10:40/90, sequence:2,0,1".into())),
        }),
    }
}

/// Most blocks of a sequence.
const SEQUENCE_MOST: usize = 64;

/// Parses the block numbers of a sequence, like `2,0,1`.
fn sequence(list: &str) -> Result<Vec<u64>, Complaint> {
    let number = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit()).then(|| part.parse().ok()).flatten();
    let blocks: Option<Vec<u64>> = list.split(',').map(number).collect();
    match blocks {
        Some(blocks) if blocks.len() <= SEQUENCE_MOST => Ok(blocks),
        Some(blocks) => {
            let what = format!("lists {} blocks; {SEQUENCE_MOST} is the most", blocks.len());
            Err(Complaint::new(what, "give fewer, or random_sequence_stride=1"))
        }
        None => Err(Complaint::new("is not a list of block numbers", "write it like sequence:2,0,1")),
    }
}

/// Parses `theta[:centre]`.
pub(crate) fn skewed(rest: Option<&str>, default: f64) -> Result<(f64, Option<f64>), Complaint> {
    let Some(rest) = rest else { return Ok((default, None)) };
    let values = several(rest, 2, "write it like zipf:1.2, pareto:0.9:0.5 or normal:20, with finite numbers")?;
    if let Some(centre) = values.get(1).filter(|centre| !(0.0..=1.0).contains(*centre)) {
        return Err(Complaint::plain(format!("has a centre of {centre}, not 0 to 1")));
    }
    Ok((values[0], values.get(1).copied()))
}

/// The last zone may omit its size: it then takes the rest of 100 %.
fn with_last_zone(text: &str) -> String {
    let complete = |direction: &str| {
        let others = direction.split(':').filter_map(|zone| zone.split_once('/')?.1.trim().parse::<u8>().ok());
        let left = 100_u32.saturating_sub(others.map(u32::from).sum());
        if direction.ends_with('/') { format!("{direction}{left}") } else { direction.to_owned() }
    };
    text.split(',').map(complete).collect::<Vec<_>>().join(",")
}

/// Parses `share/size:share/size`, for up to three directions.
fn zones<T: Clone>(
    rest: Option<&str>,
    base: UnitBase,
    size: &dyn Fn(&str, UnitBase) -> Option<T>,
) -> Result<PerDirection<Vec<(u8, T)>>, Complaint> {
    let help = "write it like zoned:60/10:40/90, shares of I/O for shares of the region";
    let Some(rest) = rest else { return Err(Complaint::new("has no zones", help)) };
    let mut directions = Vec::new();
    for direction in rest.split(',') {
        let mut zones = Vec::new();
        for zone in direction.split(':') {
            let parts = zone
                .split_once('/')
                .and_then(|(share, part)| Some((share.trim().parse::<u8>().ok()?, size(part.trim(), base)?)));
            zones.push(parts.ok_or_else(|| Complaint::new(format!("has a wrong zone: `{zone}`"), help))?);
        }
        let sum: u32 = zones.iter().map(|&(share, _)| u32::from(share)).sum();
        if sum != 100 {
            return Err(Complaint::new(format!("has shares of I/O that sum to {sum}, not 100"), help));
        }
        directions.push(zones);
    }
    match directions.as_slice() {
        [all] => Ok(PerDirection::all(all.clone())),
        [read, write] => Ok(PerDirection { read: read.clone(), write: write.clone(), trim: write.clone() }),
        [read, write, trim] => Ok(PerDirection { read: read.clone(), write: write.clone(), trim: trim.clone() }),
        _ => Err(Complaint::new("has more than three parts", help)),
    }
}

/// Parses a CPU list such as `0,2,4-7`; every CPU must exist.
pub(crate) fn cpu_list(text: &str, cpus: u32) -> Result<Vec<u32>, Complaint> {
    let help = "write it like 0,2,4-7";
    let wrong = |part: &str| Complaint::new(format!("has a part that is not a CPU: `{part}`"), help);
    let mut list = Vec::new();
    for part in text.split([',', ':']).map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| wrong(part))?;
        let last: u32 = last.trim().parse().map_err(|_| wrong(part))?;
        if first > last {
            return Err(wrong(part));
        }
        if last >= cpus {
            let most = cpus.saturating_sub(1);
            return Err(Complaint::plain(format!("names CPU {last}, but this machine has 0 to {most}")));
        }
        list.extend(first..=last);
    }
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

/// Splits at `:`; `\:` is a colon inside a part.
pub fn split_escaped(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&':') => {
                letters.next();
                parts.last_mut().expect("starts with one").push(':');
            }
            ':' => parts.push(String::new()),
            _ => parts.last_mut().expect("starts with one").push(letter),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Highest rate: one I/O per nanosecond.
const IOPS_MAX: u64 = 1_000_000_000;
/// Latest start of a step, in seconds: about 100 days, in which a double still counts nanoseconds.
const SECONDS_MAX: f64 = 9_000_000.0;
const FORM: &str = "write lines of seconds and I/Os per second, like `0 1000` and `60.5 4000`";

/// Reads the file. Lines: seconds since the start, white space or a comma, I/Os per second; `#` begins a comment.
/// Errors: the first line that is wrong, with its number.
pub(crate) fn rate_profile(path: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Vec<RateStep>, Complaint> {
    if path.is_empty() {
        return Err(Complaint::new("names no file", "write it like rate_profile=day.txt"));
    }
    let bytes = read(path).ok_or_else(|| Complaint::plain("names a file that cannot be read"))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut steps: Vec<RateStep> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |why: &str| Complaint::new(format!("is wrong at {path}:{number}: `{line}` {why}"), FORM);
        let step = step(line).ok_or_else(|| wrong("is not a time and a rate"))?;
        match steps.last() {
            None if !step.from.is_zero() => return Err(wrong("is the first step and does not begin at 0")),
            Some(last) if last.from >= step.from => return Err(wrong("is not later than the step before")),
            _ => steps.push(step),
        }
    }
    match steps.last() {
        None => Err(Complaint::new(format!("has no steps in {path}"), FORM)),
        Some(last) if last.iops == 0 => {
            let what = format!("ends with a rate of 0 in {path}, after which no I/O is due");
            Err(Complaint::new(what, "end the job with runtime, and give the last step a rate"))
        }
        Some(_) => Ok(steps),
    }
}

fn step(line: &str) -> Option<RateStep> {
    let mut words = line.split(|letter: char| letter.is_whitespace() || letter == ',').filter(|word| !word.is_empty());
    let (seconds, iops, None) = (words.next()?, words.next()?, words.next()) else { return None };
    let is_plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds: f64 = Some(seconds).filter(|word| is_plain(word))?.parse().ok()?;
    let iops: u64 = Some(iops).filter(|word| is_plain(word))?.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no sign, and at most 100 days")]
    let from = Nanos((seconds.min(SECONDS_MAX) * 1e9).round() as u64);
    (seconds <= SECONDS_MAX && iops <= IOPS_MAX).then_some(RateStep { from, iops })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tail_copies_the_last_value_an_empty_slot_does_not() {
        let table: &[(&str, Option<Triple<u64>>)] = &[
            ("8k", Some([Some(8192); 3])),
            ("8k,32k", Some([Some(8192), Some(32768), Some(32768)])),
            (",8k", Some([None, Some(8192), Some(8192)])),
            ("8k,", Some([Some(8192), None, None])),
            ("8k,,", Some([Some(8192), None, None])),
            (",,8k", Some([None, None, Some(8192)])),
            ("8k,,2k", Some([Some(8192), None, Some(2048)])),
            ("1,2,3", Some([Some(1), Some(2), Some(3)])),
            ("1,2,3,4", None),
            (",", None),
            ("4k,foo", None),
            ("-1", None),
        ];
        for &(text, expected) in table {
            assert_eq!(triple(text, UnitBase::Binary).ok(), expected, "{text}");
        }
    }

    #[test]
    fn ranges_take_dash_or_colon_and_swap_their_ends_like_fio() {
        assert_eq!(ranges("4k-8k", UnitBase::Binary).ok(), Some([Some((4096, 8192)); 3]));
        assert_eq!(ranges("8k:4k", UnitBase::Binary).ok(), Some([Some((4096, 8192)); 3]));
        let two = ranges("1k-4k,2k-8k", UnitBase::Binary).ok();
        assert_eq!(two, Some([Some((1024, 4096)), Some((2048, 8192)), Some((2048, 8192))]));
        assert!(ranges("8k", UnitBase::Binary).is_err());
        assert!(ranges("8k-x", UnitBase::Binary).is_err());
    }

    #[test]
    fn open_shares_of_a_split_take_the_rest() {
        type Shares = Vec<(u32, u8)>;
        let table: &[(&str, Option<Shares>)] = &[
            ("4k/60:8k/40", Some(vec![(4096, 60), (8192, 40)])),
            ("4k/50:8k/:16k/", Some(vec![(4096, 50), (8192, 25), (16384, 25)])),
            ("4k:8k:16k", Some(vec![(4096, 34), (8192, 33), (16384, 33)])),
            ("4k/50:8k/60", None),
            ("256k/33:512k/33:2m/33", Some(vec![(262_144, 33), (524_288, 33), (2 << 20, 34)])),
            ("4k/50", Some(vec![(4096, 100)])),
            ("20k-28k/9:4k/91", None),
            ("4k/x", None),
            ("0/100", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(split(text, UnitBase::Binary).ok(), *expected, "{text}");
        }
    }

    #[test]
    fn distributions_read_their_parameters() {
        let table: &[(&str, Option<Distribution>)] = &[
            ("random", Some(Distribution::Uniform)),
            ("zipf:1.2", Some(Distribution::Zipf(1.2, None))),
            ("zipf:1.2:0.5", Some(Distribution::Zipf(1.2, Some(0.5)))),
            ("zipf", Some(Distribution::Zipf(1.1, None))),
            ("pareto:0.9", Some(Distribution::Pareto(0.9, None))),
            ("normal:20", Some(Distribution::Normal(20.0, None))),
            ("zoned:60/10:40/90", Some(Distribution::Zoned(PerDirection::all(vec![(60, 10), (40, 90)])))),
            ("zoned:50/5:50/", Some(Distribution::Zoned(PerDirection::all(vec![(50, 5), (50, 95)])))),
            ("sequence:2,0,2", Some(Distribution::Sequence(vec![2, 0, 2]))),
            ("sequence", None),
            ("sequence:", None),
            ("sequence:1,,2", None),
            ("sequence:-1", None),
            ("sequence:1k", None),
            ("sequence:0x2", None),
            ("sequence:1:2", None),
            ("sequence:1-3", None),
            ("zoned_abs:100/1m", Some(Distribution::ZonedAbsolute(PerDirection::all(vec![(100, 1 << 20)])))),
            ("zipf:1", None),
            ("zipf:x", None),
            ("pareto:2", None),
            ("zipf:1.2:7", None),
            ("zoned:50/50", None),
            ("zoned:60/", None),
            ("zoned_abs:50/1m:50/", None),
            ("zoned", None),
            ("ziff:1", None),
        ];
        for (text, expected) in table {
            assert_eq!(distribution(text, UnitBase::Binary).ok(), *expected, "{text}");
        }
    }

    #[test]
    fn cpu_lists_are_sorted_and_must_exist() {
        assert_eq!(cpu_list("3,0-1,1", 4).ok(), Some(vec![0, 1, 3]));
        for text in ["", "a", "2-1", "4", "0-99", "-1"] {
            assert!(cpu_list(text, 4).is_err(), "{text}");
        }
    }

    #[test]
    fn colons_separate_unless_escaped() {
        assert_eq!(split_escaped(r"a\:b:c"), ["a:b", "c"]);
        assert_eq!(split_escaped("/dev/sda:/dev/sdb"), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(split_escaped("::"), Vec::<String>::new());
    }
}

#[cfg(test)]
mod rate_profile_tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(u64, u64)>, String> {
        let found = rate_profile("day.txt", &|path| (path == "day.txt").then(|| text.as_bytes().to_vec()));
        let pairs = found.map(|steps| steps.iter().map(|step| (step.from.get(), step.iops)).collect());
        pairs.map_err(|complaint| complaint.what)
    }

    #[test]
    fn steps_are_read_with_blank_lines_comments_and_commas() {
        assert_eq!(read("0 1000\n"), Ok(vec![(0, 1000)]));
        let text = "# seconds, rate\n\n0, 0   # silent\n 1.5\t20\r\n3,4000";
        assert_eq!(read(text), Ok(vec![(0, 0), (1_500_000_000, 20), (3_000_000_000, 4000)]));
    }

    #[test]
    fn a_wrong_line_is_named_with_its_number() {
        for (text, said) in [
            ("", "has no steps in day.txt"),
            ("# nothing\n", "has no steps in day.txt"),
            ("0 10\nten 10", "is wrong at day.txt:2: `ten 10` is not a time and a rate"),
            ("0 10 20", "is wrong at day.txt:1: `0 10 20` is not a time and a rate"),
            ("0", "is wrong at day.txt:1: `0` is not a time and a rate"),
            ("0 1.5", "is wrong at day.txt:1: `0 1.5` is not a time and a rate"),
            ("0 -1", "is wrong at day.txt:1: `0 -1` is not a time and a rate"),
            ("0 1e3", "is wrong at day.txt:1: `0 1e3` is not a time and a rate"),
            ("0 1000000001", "is wrong at day.txt:1: `0 1000000001` is not a time and a rate"),
            ("inf 1", "is wrong at day.txt:1: `inf 1` is not a time and a rate"),
            ("1 10", "is wrong at day.txt:1: `1 10` is the first step and does not begin at 0"),
            ("0 10\n\n5 1\n5 2", "is wrong at day.txt:4: `5 2` is not later than the step before"),
            ("0 10\n5 0", "ends with a rate of 0 in day.txt, after which no I/O is due"),
        ] {
            assert_eq!(read(text), Err(said.to_owned()), "{text:?}");
        }
        let missing = rate_profile("no.txt", &|_| None).unwrap_err();
        assert_eq!(missing.what, "names a file that cannot be read");
    }
}
