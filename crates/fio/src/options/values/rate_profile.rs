//! The file of `rate_profile`: the rate of a job over time.

use crate::error::Complaint;
use measure::Nanos;
use plan::RateStep;

/// Highest rate: one I/O per nanosecond.
const IOPS_MAX: u64 = 1_000_000_000;
/// Latest start of a step, in seconds: about 100 days, in which a double still counts nanoseconds.
const SECONDS_MAX: f64 = 9_000_000.0;
const FORM: &str = "write lines of seconds and I/Os per second, like `0 1000` and `60.5 4000`";

/// Reads the file. Lines: seconds since the start, white space or a comma, I/Os per second; `#` begins a comment.
///
/// # Errors
/// The first line that is wrong, with its number.
pub(crate) fn steps(path: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Vec<RateStep>, Complaint> {
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

    fn read(text: &str) -> Result<Vec<(u64, u64)>, String> {
        let found = steps("day.txt", &|path| (path == "day.txt").then(|| text.as_bytes().to_vec()));
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
        let missing = steps("no.txt", &|_| None).unwrap_err();
        assert_eq!(missing.what, "names a file that cannot be read");
    }
}
