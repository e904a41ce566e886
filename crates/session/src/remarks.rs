//! Remarks of the checks and the limiting resource after a run, for every command that measures.

use crate::colour::{Colours, GRADES};
use crate::output::{Verbosity, print_error, print_painted};
use analysis::{FindingGroup, Strictness, by_check, grade_title, is_finding, is_shown, verdict_line};
use formats::printable;
use measure::Nanos;
use measure::text;
use model::{LimitedBy, Note, Phase, RunResult};
use std::cmp::Reverse;
use std::io::IsTerminal;

/// Exit status with `--strict` if a check found a problem.
pub const STRICT: u8 = 4;

/// True if remarks go to standard error: if it is a terminal, or as the environment variable `PLUMB_REMARKS` says.
/// `--quiet` silences them.
pub fn are_wanted(verbosity: Verbosity) -> bool {
    match std::env::var("PLUMB_REMARKS").as_deref() {
        _ if verbosity.is_quiet() => false,
        Ok("always") => true,
        Ok("never") => false,
        _ => std::io::stderr().is_terminal(),
    }
}

/// Remarks that a terminal shows after a run: more of them push the numbers off the screen.
const MOST: usize = 3;

/// Prints the verdict, remarks, limiting resource and response times to standard error, if remarks are wanted there. A
/// run without findings has no verdict line. A terminal gets the gravest three, and a line on how to see the others;
/// `PLUMB_REMARKS=always` prints all.
pub fn print(result: &RunResult, verbosity: Verbosity) {
    if !are_wanted(verbosity) {
        return;
    }
    let groups: Vec<FindingGroup<'_>> = by_check(&[&result.notes]);
    let has_findings = findings(&result.notes).next().is_some();
    let lasting = result.lasting.iter().map(|lasting| lasting.sentence.clone());
    if has_findings {
        let verdict = format!("plumb: verdict: {}", printable::line(&verdict_line(&groups, &[], 1, "")));
        print_painted(&verdict, Colours::of_stderr(), &GRADES);
    }
    let asked = std::env::var_os("PLUMB_REMARKS").is_some_and(|value| value == "always");
    let remarks = remark_lines(&result.notes, if asked { usize::MAX } else { MOST });
    let limit = result.limited_by.as_ref().map(limit_line);
    for line in lasting.chain(remarks).chain(limit).chain(response_lines(result)) {
        print_error(&format!("plumb: {}", printable::line(&line)));
    }
}

/// `check: cache: 93 % of the reads ..` for the gravest remarks, in their order, then how to see the others.
fn remark_lines(notes: &[Note], most: usize) -> Vec<String> {
    let mut all: Vec<(usize, &Note)> = shown(notes).enumerate().collect();
    let more = all.len().saturating_sub(most);
    all.sort_by_key(|(at, note)| (Reverse(note.grade), *at));
    all.truncate(most);
    all.sort_by_key(|(at, _)| *at);
    let mut lines: Vec<String> = all.iter().map(|(_, note)| format!("check: {}", line(note))).collect();
    if more > 0 {
        lines.push(format!(
            "{}: PLUMB_REMARKS=always prints all; of a run with --result=FILE, plumb check FILE does",
            text::counted(more as u64, "more remark")
        ));
    }
    lines
}

/// `job a, read: response time p50 31.2 µs, p99 2.47 ms, longest 5.97 ms, from when each I/O was due`, for each
/// direction with a rate.
fn response_lines(result: &RunResult) -> Vec<String> {
    let mut lines = Vec::new();
    for job in result.reported_jobs() {
        for (direction, found) in job.directions.iter() {
            let Some(response) = &found.response else { continue };
            let percentile = |percent: f64| Some(response.histogram.as_ref()?.percentile(percent)?.as_f64());
            let [Some(half), Some(most)] = [50.0, 99.0].map(percentile) else { continue };
            let longest = response.moments.maximum().map_or(0.0, Nanos::as_f64);
            lines.push(format!(
                "job {}, {}: response time p50 {}, p99 {}, longest {}, from when each I/O was due",
                job.echo.name,
                direction.word(),
                text::time(half),
                text::time(most),
                text::time(longest)
            ));
        }
    }
    lines
}

/// `limited by the device (99 %): sda was at work …`.
pub fn limit_line(limited_by: &LimitedBy) -> String {
    format!(
        "limited by {} ({}): {}",
        limited_by.limiter.title(),
        text::percent(limited_by.share_percent / 100.0),
        limited_by.sentence
    )
}

/// `phase 0–20 s, burst: plateau 3,000 IOPS for 20 s …`.
pub fn phase_line(phase: &Phase) -> String {
    let (from, until) = (phase.from.as_secs_f64(), phase.until.as_secs_f64());
    format!("phase {from:.0}–{until:.0} s, {}: {}", phase.kind.title(), phase.sentence)
}

/// `cache: 93 % of the reads were answered by memory …; use direct=1 … [NOT A STORAGE RESULT]`.
pub fn line(note: &Note) -> String {
    format!("{}: {} [{}]", note.check, with_advice(note), grade_title(note.grade))
}

/// The sentence of a remark and what to do about it.
pub fn with_advice(note: &Note) -> String {
    match analysis::advice(&note.check).filter(|_| is_finding(note)) {
        Some(advice) => format!("{}; {advice}", note.sentence),
        None => note.sentence.clone(),
    }
}

/// The notes for a person: problems, and that the storage under the files could not be seen.
pub fn shown(notes: &[Note]) -> impl Iterator<Item = &Note> {
    notes.iter().filter(|note| is_shown(note))
}

/// The notes that report a problem.
pub fn findings(notes: &[Note]) -> impl Iterator<Item = &Note> {
    notes.iter().filter(|note| is_finding(note))
}

/// Returns the exit status with `--strict`: [`STRICT`] if `status` is 0 and a check found one of these problems,
/// otherwise `status`.
pub(crate) fn strict_status(status: u8, strictness: &Strictness, notes: &[Note]) -> u8 {
    if status == 0 && strictness.fails(notes) { STRICT } else { status }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Grade, JobResult, LatencyStatistics};

    #[test]
    fn only_a_direction_with_a_rate_has_a_line_of_response_time() {
        let mut job = JobResult::default();
        job.echo.name = "a".into();
        job.directions.read.ios = 100;
        let mut response = LatencyStatistics { histogram: Some(Box::default()), ..LatencyStatistics::default() };
        for (micros, count) in [(31, 98), (2_000, 1), (5_969, 1)] {
            response.moments.record_many(Nanos::from_micros(micros), count);
            response.histogram.as_mut().unwrap().record_many(Nanos::from_micros(micros), count);
        }
        job.directions.write.response = Some(response);
        let result = RunResult { jobs: vec![job], ..RunResult::default() };
        assert_eq!(
            response_lines(&result),
            ["job a, write: response time p50 31.1 µs, p99 2.01 ms, longest 5.97 ms, from when each I/O was due"]
        );
        assert!(response_lines(&RunResult { jobs: vec![JobResult::default()], ..result }).is_empty());
    }

    #[test]
    fn the_gravest_three_remarks_are_shown_others_are_counted() {
        let with = |(check, grade): (&str, Grade)| Note {
            check: check.into(),
            grade,
            sentence: "s".into(),
            evidence: Vec::new(),
        };
        let (limits, worst) = (Grade::ValidWithLimits, Grade::NotAStorageResult);
        let notes: Vec<Note> =
            [("a", limits), ("b", limits), ("c", limits), ("d", worst), ("e", limits)].map(with).into();
        let lines = remark_lines(&notes, MOST);
        let ends = |line: &String| line.split(": s").next().unwrap_or_default().to_owned();
        assert_eq!(lines[..3].iter().map(ends).collect::<Vec<_>>(), ["check: a", "check: b", "check: d"]);
        assert!(lines.len() == 4 && lines[3].starts_with("2 more remarks: PLUMB_REMARKS=always"), "{lines:?}");
        assert_eq!(remark_lines(&notes, usize::MAX).len(), 5);
        assert_eq!(remark_lines(&notes[..3], MOST).len(), 3);
    }

    #[test]
    fn strict_fails_on_findings_and_not_on_what_is_unknown() {
        let with = |grade| Note { check: "x".into(), grade, sentence: String::new(), evidence: Vec::new() };
        let usual = Strictness::Usual;
        assert_eq!(strict_status(0, &usual, &[]), 0);
        assert_eq!(strict_status(0, &usual, &[with(Grade::NotChecked)]), 0);
        assert_eq!(strict_status(0, &usual, &[with(Grade::ValidWithLimits)]), STRICT);
        assert_eq!(strict_status(0, &Strictness::From(Grade::NotAStorageResult), &[with(Grade::ValidWithLimits)]), 0);
        assert_eq!(strict_status(1, &usual, &[with(Grade::ValidWithLimits)]), 1, "a failed job has precedence");
    }
}
