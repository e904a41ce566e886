//! The findings of all rows of a result: by check, as a verdict in one line, and as a reason for `--strict` to fail.

use crate::checks::{BUSY_USERS, CHECKS, advice, blames_tester, grade_title, is_finding, is_shown};
use measure::text;
use model::{Grade, Note};

/// The findings of one check.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingGroup<'a> {
    /// ID of the check.
    pub check: &'a str,
    /// The worst of their grades.
    pub grade: Grade,
    /// The sentence of the first row with that grade.
    pub sentence: &'a str,
    /// The rows that have a finding, in their order.
    pub rows: Vec<usize>,
    /// The lowest and the highest value of what the sentence is about, such as `stall 100 to 412 ms`, if they differ.
    pub range: Option<String>,
}

impl FindingGroup<'_> {
    /// The sentence with the range over its rows, the remedy, and the grade. `rows` is the word for several rows.
    pub fn text(&self, rows: &str) -> String {
        format!("{} [{}]", self.explanation(rows), grade_title(self.grade))
    }

    /// The same without the grade, for a place that states it already.
    pub fn explanation(&self, rows: &str) -> String {
        let range = self.range.as_ref().map_or(String::new(), |range| format!(" ({range} over these {rows})"));
        let advice = advice(self.check).map_or(String::new(), |advice| format!("; {advice}"));
        format!("{}{range}{advice}", self.sentence)
    }
}

/// The findings of rows by check: the worst first, then in the order of the checks; what could not be seen is last. Rows
/// that the client CPU limited are apart from those in whose latencies it only is.
///
/// ```
/// use model::{Grade, Note};
///
/// let note = |percent: f64| Note {
///     check: "cache".into(),
///     grade: Grade::NotAStorageResult,
///     sentence: format!("{percent} % of the reads were answered by memory"),
///     evidence: vec![("share_percent".into(), percent)],
/// };
/// let (first, second) = ([note(93.0)], [note(12.0)]);
/// let groups = analysis::by_check(&[&first, &[], &second]);
/// assert_eq!((groups[0].check, groups[0].rows.as_slice()), ("cache", [0, 2].as_slice()));
/// assert_eq!(groups[0].range.as_deref(), Some("share 12 to 93 %"));
/// ```
pub fn by_check<'a>(rows: &[&'a [Note]]) -> Vec<FindingGroup<'a>> {
    let mut found: Vec<(Kind<'a>, Vec<(usize, &'a Note)>)> = Vec::new();
    for (row, notes) in rows.iter().enumerate() {
        for note in notes.iter().filter(|note| is_shown(note)) {
            let kind = Kind { check: &note.check, blames_tester: blames_tester(note) };
            match found.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, all)) => all.push((row, note)),
                None => found.push((kind, vec![(row, note)])),
            }
        }
    }
    let place = |check: &str| CHECKS.iter().position(|known| known.id == check);
    let mut groups: Vec<FindingGroup<'a>> =
        found.into_iter().filter_map(|(kind, notes)| group(kind.check, &notes)).collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.grade), place(group.check).unwrap_or(usize::MAX)));
    groups
}

/// Findings that one sentence can stand for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind<'a> {
    check: &'a str,
    blames_tester: bool,
}

fn group<'a>(check: &'a str, notes: &[(usize, &'a Note)]) -> Option<FindingGroup<'a>> {
    let grade = notes.iter().map(|(_, note)| note.grade).max()?;
    let (_, first) = notes.iter().find(|(_, note)| note.grade == grade)?;
    let mut rows: Vec<usize> = notes.iter().map(|&(row, _)| row).collect();
    rows.dedup();
    let measure = CHECKS.iter().find(|known| known.id == check).and_then(|known| known.measure);
    let range = measure.and_then(|name| range(name, notes));
    Some(FindingGroup { check, grade, sentence: &first.sentence, rows, range })
}

/// The range of a number of the evidence, if all notes have it and it differs.
fn range(name: &str, notes: &[(usize, &Note)]) -> Option<String> {
    let of = |note: &Note| note.evidence.iter().find(|(other, _)| other == name).map(|&(_, value)| value);
    let values: Vec<f64> = notes.iter().map(|(_, note)| of(note)).collect::<Option<_>>()?;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least < most).then(|| in_words(name, least, most)).flatten()
}

/// Units at the end of a name of evidence, and how they are printed.
const UNITS: [(&str, &str); 6] =
    [("_percent", " %"), ("_ms", " ms"), ("_us", " µs"), ("_s", " s"), ("_iops", " IOPS"), ("", "")];

fn in_words(name: &str, least: f64, most: f64) -> Option<String> {
    if let Some(name) = name.strip_suffix("_bytes_per_second") {
        return Some(format!("{} {} to {}", plain(name), text::rate(least), text::rate(most)));
    }
    if let Some(name) = name.strip_suffix("_bytes") {
        return Some(format!("{} {} to {}", plain(name), text::rounded_size(least), text::rounded_size(most)));
    }
    let (name, unit) = UNITS.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?, unit)))?;
    Some(format!("{} {} to {}{unit}", plain(name), text::number(least), text::number(most)))
}

fn plain(name: &str) -> String {
    name.replace('_', " ")
}

/// The verdict on a result with these rows, in one line: `VALID WITH LIMITS: no flush (1 of 16 tests).`
///
/// `unchecked` are the checks that were impossible on some row. `rows` is the word for several rows.
pub fn verdict_line(groups: &[FindingGroup<'_>], unchecked: &[&str], count: usize, rows: &str) -> String {
    let named = |of: Grade| -> Vec<String> {
        let mut found: Vec<(&str, usize)> = Vec::new();
        for group in groups.iter().filter(|group| group.grade == of) {
            match found.iter_mut().find(|(check, _)| *check == group.check) {
                Some((_, known)) => *known += group.rows.len(),
                None => found.push((group.check, group.rows.len())),
            }
        }
        found.into_iter().map(|(check, some)| format!("{check}{}", share(some, count, rows))).collect()
    };
    let (limits, worst) = (named(Grade::ValidWithLimits), named(Grade::NotAStorageResult));
    if !worst.is_empty() {
        let more = if limits.is_empty() { String::new() } else { format!("; limits: {}", limits.join(", ")) };
        return format!("{}: {}{more}.", grade_title(Grade::NotAStorageResult), worst.join(", "));
    }
    if !limits.is_empty() {
        return format!("{}: {}.", grade_title(Grade::ValidWithLimits), limits.join(", "));
    }
    let mut missing: Vec<&str> = unchecked.to_vec();
    missing.extend(groups.iter().map(|group| group.check).filter(|check| !unchecked.contains(check)));
    let others = CHECKS.len() - missing.len().min(CHECKS.len());
    match missing.as_slice() {
        [] => {
            let (words, rest) = (PASSED.map(|(_, words)| words).join(", "), others - PASSED.len());
            format!("{}: {words}; {rest} other checks found nothing.", grade_title(Grade::Trusted))
        }
        missing => {
            let found = format!("{others} other checks found nothing");
            format!("{}: {}; {found}.", grade_title(Grade::NotChecked), missing.join(", "))
        }
    }
}

/// The best-known checks, and the words for a result that passed them.
const PASSED: [(&str, &str); 3] =
    [("cache", "all bytes reached the device"), (BUSY_USERS, "all users were busy"), ("errors", "no errors")];

fn share(some: usize, all: usize, rows: &str) -> String {
    match (some, all) {
        (_, 0 | 1) => String::new(),
        (some, all) if some == all => format!(" (all {all} {rows})"),
        (some, all) => format!(" ({some} of {all} {rows})"),
    }
}

/// Reason why the findings of `--strict` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StrictnessError(String);

/// The findings that fail a run with `--strict`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// All, except for percentiles that need more I/Os: those are not shown as facts anyway.
    #[default]
    Usual,
    /// Those with this grade or a worse one.
    From(Grade),
    /// Those of these checks.
    Checks(Vec<&'static str>),
}

impl Strictness {
    /// Reads the value of `--strict`: a grade, or checks separated by commas; blanks and slashes may be written as `-`.
    ///
    /// # Errors
    /// If a word is neither; the message names what would work.
    ///
    /// ```
    /// use analysis::Strictness;
    ///
    /// assert_eq!(Strictness::read("cache,no-flush"), Ok(Strictness::Checks(vec!["cache", "no flush"])));
    /// let unknown = Strictness::read("cash").unwrap_err();
    /// assert!(unknown.to_string().starts_with("`cash` is neither a check nor a grade; there are: usual,"));
    /// ```
    pub fn read(text: &str) -> Result<Self, StrictnessError> {
        let grades = [Grade::ValidWithLimits, Grade::NotAStorageResult];
        if word(text) == USUAL {
            return Ok(Strictness::Usual);
        }
        if let Some(&grade) = grades.iter().find(|&&grade| word(grade_title(grade)) == word(text)) {
            return Ok(Strictness::From(grade));
        }
        let checks = text.split(',').map(|name| check_named(name).ok_or(name));
        checks.collect::<Result<_, &str>>().map(Strictness::Checks).map_err(|name| {
            let grades = grades.iter().map(|&grade| word(grade_title(grade)));
            let words: Vec<String> = grades.chain(check_words()).collect();
            let (name, known) = (name.trim(), words.join(", "));
            StrictnessError(format!("`{name}` is neither a check nor a grade; there are: {USUAL}, {known}"))
        })
    }

    /// The text from which [`Strictness::read`] makes it again.
    pub fn text(&self) -> String {
        match self {
            Strictness::Usual => USUAL.to_owned(),
            Strictness::From(grade) => word(grade_title(*grade)),
            Strictness::Checks(checks) => checks.iter().map(|check| check_word(check)).collect::<Vec<_>>().join(","),
        }
    }

    /// True if one of these notes fails the run.
    pub fn fails(&self, notes: &[Note]) -> bool {
        notes.iter().filter(|note| is_finding(note)).any(|note| match self {
            Strictness::Usual => note.check != crate::checks::TOO_SHORT,
            Strictness::From(grade) => note.grade >= *grade,
            Strictness::Checks(checks) => checks.contains(&note.check.as_str()),
        })
    }
}

/// The check with this name, in any case, with blanks or `-` between its words.
pub fn check_named(name: &str) -> Option<&'static str> {
    CHECKS.iter().map(|check| check.id).find(|id| word(id) == word(name))
}

/// The name of a check as a word of the command line: `client-cpu`.
pub fn check_word(check: &str) -> String {
    word(check)
}

/// The words of all checks.
pub fn check_words() -> impl Iterator<Item = String> {
    CHECKS.iter().map(|check| word(check.id))
}

/// The word for [`Strictness::Usual`].
const USUAL: &str = "usual";

/// A name as a word of the command line: `split / merge` is `split-merge`.
fn word(name: &str) -> String {
    let parts = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(check: &str, grade: Grade, evidence: &[(&str, f64)]) -> Note {
        let evidence: Vec<(String, f64)> = evidence.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Note { check: check.into(), grade, sentence: format!("{check} {evidence:?}"), evidence }
    }

    fn valid(check: &str, evidence: &[(&str, f64)]) -> Note {
        note(check, Grade::ValidWithLimits, evidence)
    }

    #[test]
    fn findings_are_grouped_by_check_and_the_worst_is_first() {
        let first = [valid("no flush", &[]), valid("limiter", &[("rate", 5.0)])];
        let second = [valid("no flush", &[]), note("cache", Grade::NotAStorageResult, &[("bytes_asked", 5.0)])];
        let third = [
            note("cache", Grade::ValidWithLimits, &[("bytes_asked", 5.0)]),
            note("backing", Grade::NotChecked, &[]),
            note("holes", Grade::NotChecked, &[]),
        ];
        let groups = by_check(&[&first, &second, &[], &third]);
        let found: Vec<(&str, Grade, &[usize])> =
            groups.iter().map(|group| (group.check, group.grade, group.rows.as_slice())).collect();
        assert_eq!(
            found,
            [
                ("cache", Grade::NotAStorageResult, [1, 3].as_slice()),
                ("limiter", Grade::ValidWithLimits, &[0]),
                ("no flush", Grade::ValidWithLimits, &[0, 1]),
                ("backing", Grade::NotChecked, &[3]),
            ]
        );
        assert_eq!(groups[0].sentence, second[1].sentence);
        let advice = "use direct=1, or a file that is larger than memory";
        assert_eq!(groups[0].text("tests"), format!("{}; {advice} [NOT A STORAGE RESULT]", groups[0].sentence));
        assert_eq!(
            verdict_line(&groups, &[], 4, "tests"),
            "NOT A STORAGE RESULT: cache (2 of 4 tests); limits: limiter (1 of 4 tests), no flush (2 of 4 tests)."
        );
    }

    #[test]
    fn tests_that_the_client_cpu_did_not_limit_are_apart() {
        let note = |sentence: &str| Note { sentence: sentence.to_owned(), ..valid("client CPU", &[]) };
        let tester =
            [note("a worker waited for a processor 55 % of the time: the tester, not the disk, was the limit")];
        let other = [note("the hypervisor took 12 % of the processors: that is in its latencies")];
        let groups = by_check(&[&tester, &other, &tester]);
        let rows: Vec<&[usize]> = groups.iter().map(|group| group.rows.as_slice()).collect();
        assert_eq!(rows, [[0, 2].as_slice(), &[1]]);
        assert_eq!(verdict_line(&groups, &[], 4, "tests"), "VALID WITH LIMITS: client CPU (3 of 4 tests).");
    }

    #[test]
    fn a_range_has_the_unit_of_its_numbers() {
        let range = |name: &str, values: &[f64]| {
            let notes: Vec<Note> = values.iter().map(|&value| valid("x", &[("same", 1.0), (name, value)])).collect();
            super::range(name, &notes.iter().enumerate().collect::<Vec<_>>())
        };
        assert_eq!(range("stall_ms", &[412.0, 100.0]).as_deref(), Some("stall 100 to 412 ms"));
        assert_eq!(range("users_busy", &[1.25, 3000.0]).as_deref(), Some("users busy 1.25 to 3,000"));
        assert_eq!(range("request_bytes", &[4096.0, 65536.0]).as_deref(), Some("request 4 KiB to 64 KiB"));
        assert_eq!(range("rate_bytes_per_second", &[1048576.0, 5e9]).as_deref(), Some("rate 1 MiB/s to 4,768 MiB/s"));
        assert_eq!(range("stall_ms", &[5.0, 5.0]), None);
        assert_eq!(range("stall_ms", &[5.0]), None);
    }

    #[test]
    fn a_verdict_without_findings_names_what_was_not_checked() {
        let all = CHECKS.len();
        let trusted = "TRUSTED: all bytes reached the device, all users were busy, no errors;";
        assert_eq!(verdict_line(&[], &[], 1, ""), format!("{trusted} {} other checks found nothing.", all - 3));
        assert!(PASSED.iter().all(|(id, _)| CHECKS.iter().any(|check| check.id == *id)));
        let unchecked = ["holes", "throttled"];
        assert_eq!(
            verdict_line(&[], &unchecked, 1, ""),
            format!("NOT CHECKED: holes, throttled; {} other checks found nothing.", all - 2)
        );
    }

    #[test]
    fn strict_fails_on_what_it_is_given() {
        let fails = |text: &str, note: &Note| {
            let strictness = if text.is_empty() { Strictness::Usual } else { Strictness::read(text).unwrap() };
            strictness.fails(std::slice::from_ref(note))
        };
        let (short, cache) = (valid("too short", &[]), note("cache", Grade::NotAStorageResult, &[]));
        assert!(!fails("", &short) && fails("", &cache) && fails("", &valid("limiter", &[])));
        assert!(!fails("", &note("cache", Grade::NotChecked, &[])));
        assert!(fails("valid with limits", &short) && fails("valid-with-limits", &cache));
        assert!(!fails("not-a-storage-result", &short) && fails("NOT A STORAGE RESULT", &cache));
        assert!(fails("too-short, cache", &short) && !fails("split-merge", &cache));
        assert!(Strictness::read("").is_err());
        for text in ["usual", "not-a-storage-result", "cache,split-merge"] {
            assert_eq!(Strictness::read(text).unwrap().text(), text);
        }
    }
}
