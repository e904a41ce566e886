//! Text of a survey on standard output: what is going to be measured and written, then the results.
//!
//! Owns the order of the text and its width, and the text of `--dry-run`. With `--json` there is no text, and what is
//! written is named on standard error.

use super::measure::Findings;
use super::remarks::Extent;
use super::save::EndedTest;
use super::{members, remarks, table};
use crate::failure::Failure;
use crate::output::{Output, Verbosity};
use crate::width::{self, wrapped};
use formats::printable;
use measure::Nanos;
use measure::text;
use session::colour::GRADES;
use std::collections::HashMap;
use std::path::Path;
use survey::{
    Access, Estimate, FinishedTest, OpenTarget, Precondition, Preparation, Suite, SurveyTest, TargetKind, TestKind,
    TestTime, WarmUp, short_size,
};

/// Maximum number of tests that are listed; further ones are only counted.
const MOST_LINES: usize = 200;
const GB: f64 = 1e9;

pub(super) struct Screen {
    /// Nowhere with `--json`, with which [`DocumentFile`](crate::result_file::DocumentFile) prints the result.
    out: Output,
    extent: Extent,
    verbosity: Verbosity,
    /// Columns of the terminal; `None` if standard output is not one.
    columns: Option<usize>,
}

impl Screen {
    /// Text for people in this output, with this many remarks.
    pub(super) fn new(out: Output, extent: Extent, verbosity: Verbosity) -> Self {
        Screen { out, extent, verbosity, columns: width::of_stdout() }
    }

    /// Prints what is going to be measured, and what will be written for it.
    pub(super) fn begin(
        &mut self,
        open: &OpenTarget,
        prepared: &Preparation,
        done: &HashMap<String, EndedTest>,
    ) -> Result<(), Failure> {
        let wear = wear(&estimate(open, prepared, done));
        if self.out.is_nowhere() {
            self.verbosity.remark(&format!("plumb: {wear}"));
        }
        let width = width::of_text(self.columns);
        self.unless_quiet(&(heading(open, prepared, done.len(), width) + &wrapped(&wear, "", width)))
    }

    pub(super) fn result(
        &mut self,
        open: &OpenTarget,
        suite: &Suite,
        found: &Findings,
        sentences: &[String],
    ) -> Result<(), Failure> {
        let text = self.report(open, suite, found, sentences);
        self.out.write_painted(if self.verbosity.is_quiet() { text.trim_start() } else { &text }, &GRADES)
    }

    /// Prints text that `--quiet` silences.
    pub(super) fn unless_quiet(&mut self, text: &str) -> Result<(), Failure> {
        if self.verbosity.is_quiet() { Ok(()) } else { self.out.write(&printable::lines(text)) }
    }

    /// Prints where the result is, after `page` about it.
    pub(super) fn end(&mut self, path: &Path, page: &str, planned: usize, found: &Findings) -> Result<(), Failure> {
        let shown = path.display();
        let mut text = format!("\n{page}Result: {shown}\n");
        if found.rows.len() < planned {
            text.push_str(&format!("Continue with: plumb survey --resume {shown}\n"));
            if found.under_way.is_some() {
                text.push_str("This measures the interrupted test again.\n");
            }
        }
        self.unless_quiet(&text)
    }

    /// The table, the sentences, the verdict and what the checks found.
    fn report(&self, open: &OpenTarget, suite: &Suite, found: &Findings, sentences: &[String]) -> String {
        let width = width::of_text(self.columns);
        let mut text = String::new();
        if let Some(signal) = found.signal {
            text.push_str(&format!("Cut short by signal {signal}; "));
            text.push_str(if found.rows.is_empty() {
                "no test was finished.\n"
            } else {
                "these tests were finished:\n"
            });
        }
        if let Some(row) = &found.under_way {
            let kept = format!("The interrupted test, {}, is kept with its results so far.", row.test.describe());
            text.push_str(&printable::lines(&wrapped(&kept, "", width)));
        }
        if found.rows.is_empty() {
            return text;
        }
        if let Some(found) = &open.preconditioned {
            text.push('\n');
            text.push_str(&wrapped(&found.title(), "", width));
            for phase in &found.phases {
                text.push_str(&wrapped(&crate::remarks::phase_line(phase), "  ", width));
            }
        }
        text.push('\n');
        text.push_str(&table::render(&found.rows, self.columns));
        text.push('\n');
        for sentence in sentences {
            text.push_str(&printable::lines(&wrapped(sentence, "", width)));
        }
        for line in members::lines(&found.rows) {
            text.push_str(&printable::lines(&wrapped(&line, "  ", width)));
        }
        text.push('\n');
        text.push_str(&remarks::render(&found.rows, self.extent, width));
        if !suite.left_out.is_empty() {
            let named = |kind: &TestKind| if *kind == TestKind::Mixed { "mixes" } else { "log writes" };
            let kinds = text::capitalised(&suite.left_out.iter().map(named).collect::<Vec<_>>().join(" and "));
            let instead = match open.target.kind {
                TargetKind::Device => "they would overwrite the device; survey a directory on it, or see --overwrite",
                _ => "they would overwrite the file; survey a directory",
            };
            text.push_str(&wrapped(&format!("{kinds}: skipped, {instead}."), "", width));
            text.push('\n');
        }
        text.push_str(&parts_of_tests(&found.rows, width));
        for line in limits(&found.rows) {
            text.push_str(&wrapped(&line, "  ", width));
        }
        if let Some(spread) = survey::spread(&found.rows) {
            text.push_str(&wrapped(&spread, "  ", width));
        }
        text
    }
}

/// The work that is left: the tests that are not done, and the passes over a target that is not filled.
fn estimate(open: &OpenTarget, prepared: &Preparation, done: &HashMap<String, EndedTest>) -> Estimate {
    let due = prepared.suite.tests.iter().filter(|test| !done.contains_key(&test.key()));
    let due: Vec<SurveyTest> = due.cloned().collect();
    let passes = prepared.found.passes(&prepared.request).saturating_sub(u64::from(open.is_filled()));
    let settles = prepared.request.precondition == Precondition::Steady;
    let passes = if settles { passes.max(2) } else { passes };
    Estimate { settles, ..Estimate::of(&due, prepared.time, open.target.total().saturating_mul(passes)) }
}

fn heading(open: &OpenTarget, prepared: &Preparation, done: usize, width: usize) -> String {
    let access = match open.target.access {
        Access::Direct => "O_DIRECT",
        Access::Buffered => "through the page cache",
    };
    let (suite, time) = (&prepared.suite, prepared.time);
    let before = match prepared.warm_up {
        WarmUp::Steady => " once it is steady".to_owned(),
        WarmUp::Seconds(_) if time.ramp == Nanos::ZERO => String::new(),
        WarmUp::Seconds(_) => format!(" after {} s of warm-up", time.ramp.as_secs_f64()),
    };
    let engine =
        if suite.engine == plan::DEFAULT_ENGINE { String::new() } else { format!(", engine {}", suite.engine) };
    let what = format!(
        "Survey of {}: {}, {access}{engine}, {} of {} s{before}.",
        open.shown,
        open.describe(),
        text::counted(suite.tests.len() as u64, "test"),
        time.time.as_secs_f64()
    );
    let mut text = wrapped(&what, "", width);
    if done > 0 {
        text.push_str(&wrapped(
            &format!("Resumed: {} finished before.", text::counted(done as u64, "test")),
            "",
            width,
        ));
    }
    if suite.tests.iter().any(|test| open.target.access == Access::Direct && test.goes_through_cache(&open.target)) {
        let multiple = open.target.direct_multiple;
        let why = format!("Note: log writes below {multiple} bytes go through the page cache, O_DSYNC empties it.");
        text.push_str(&wrapped(&why, "", width));
    }
    for remark in &open.remarks {
        text.push_str(&wrapped(&format!("Note: {remark}."), "", width));
    }
    text
}

/// Where the time of the I/Os of each test went, if it was recorded.
fn parts_of_tests(rows: &[FinishedTest], width: usize) -> String {
    let known = rows.iter().filter_map(|row| Some((row, row.result.layers.as_ref()?)));
    let lines: String = known
        .map(|(row, layers)| format!("{}: {}", row.test.describe(), analysis::parts::brief(layers)))
        .map(|line| printable::lines(&wrapped(&line, "  ", width)).into_owned())
        .collect();
    if lines.is_empty() { lines } else { format!("Largest part of the time of usual I/Os:\n{lines}\n") }
}

/// The limiting resource of each kind of test, at its heaviest load.
fn limits(rows: &[FinishedTest]) -> Vec<String> {
    let heaviest =
        |row: &&FinishedTest| !rows.iter().any(|one| one.test.is_like(&row.test) && one.test.users > row.test.users);
    let mut shown_titles = Vec::new();
    let lines = rows.iter().filter(heaviest).filter_map(|row| {
        // Of several rows with the same number of users, the first one represents the kind.
        if shown_titles.contains(&row.test.title()) {
            return None;
        }
        shown_titles.push(row.test.title());
        let line = crate::remarks::limit_line(row.result.limited_by.as_ref()?);
        let users = text::counted(row.test.users.into(), "user");
        Some(printable::lines(&format!("Of {} with {users}: {line}.", row.test.title())).into_owned())
    });
    lines.collect()
}

/// The plan of `--dry-run`: the tests with time, bytes and wear, printed instead of running them.
pub(super) fn outline(prepared: &Preparation, width: usize) -> String {
    let Preparation { request, found, suite, time, warm_up, .. } = prepared;
    let settles = request.precondition == Precondition::Steady;
    let estimate = Estimate { settles, ..Estimate::of(&suite.tests, *time, found.prepared_bytes(request)) };
    let mut text = wrapped(&format!("Dry run: nothing is done. {}", found.describe()), "", width);
    text.push('\n');
    for (number, test) in suite.tests.iter().take(MOST_LINES).enumerate() {
        text.push_str(&format!("{:>5}  {}\n", number + 1, test.describe()));
    }
    if suite.tests.len() > MOST_LINES {
        text.push_str(&format!("       and {} more\n", suite.tests.len() - MOST_LINES));
    }
    let left: Vec<&str> = suite.left_out.iter().map(|kind| kind.title()).collect();
    if !left.is_empty() {
        text.push_str(&wrapped(&format!("Left out, because it would overwrite data: {}.", left.join(", ")), "", width));
    }
    text.push('\n');
    text.push_str(&wrapped(&duration(*time, *warm_up, &estimate), "  ", width));
    text.push_str(&wrapped(&wear(&estimate), "  ", width));
    text.push_str(&wrapped(&format!("Engine: {}.", suite.engine), "  ", width));
    text
}

fn duration(time: TestTime, warm_up: WarmUp, estimate: &Estimate) -> String {
    let each = format!("{} tests of {} s", estimate.tests, time.time.as_secs_f64());
    let measured = text::clock(estimate.measured.as_duration());
    match warm_up {
        WarmUp::Steady => format!("Time: {each} are {measured}, and before each of them I/O until it is steady."),
        WarmUp::Seconds(_) if time.ramp == Nanos::ZERO => format!("Time: {each} are {measured}."),
        WarmUp::Seconds(_) => format!(
            "Time: {each} are {measured}, and {} s before each of them that do not count: {} in all{}.",
            time.ramp.as_secs_f64(),
            text::clock(estimate.measured.saturating_add(estimate.warm_up).as_duration()),
            if estimate.prepared_bytes > 0 { ", after the writing" } else { "" }
        ),
    }
}

/// The line on what is written, before and during the tests.
fn wear(estimate: &Estimate) -> String {
    if estimate.prepared_bytes == 0 && estimate.writing == Nanos::ZERO {
        return "Wear: nothing is written.".to_owned();
    }
    let more = if estimate.settles { " and more, until the rate is settled," } else { "" };
    let mut text = format!("Wear: {}{more} are written before the first test", short_size(estimate.prepared_bytes));
    if estimate.writing > Nanos::ZERO {
        let amount = |bytes: f64| match bytes < GB {
            true => "less than 1 GB".to_owned(),
            false => format!("{:.0} GB", bytes / GB),
        };
        text.push_str(&format!(
            ", and for {} tests write as fast as the disk takes it: {} in all at 100 MB/s, {} at 1 GB/s",
            text::clock(estimate.writing.as_duration()),
            amount(estimate.written_at(0.1 * GB)),
            amount(estimate.written_at(GB))
        ));
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_that_only_reads_wears_nothing() {
        assert_eq!(wear(&Estimate::default()), "Wear: nothing is written.");
        let writes = Estimate { prepared_bytes: 1 << 30, writing: Nanos::from_secs(60), ..Estimate::default() };
        let short = Estimate { prepared_bytes: 64 << 20, writing: Nanos::from_secs(1), ..Estimate::default() };
        assert!(wear(&short).contains("less than 1 GB in all at 100 MB/s, 1 GB at 1 GB/s"), "{}", wear(&short));
        let settling = Estimate { settles: true, ..writes };
        assert!(wear(&settling).starts_with("Wear: 1G and more, until the rate is settled, are written before"));
        assert!(wear(&writes).contains("1G are written") && wear(&writes).contains("7 GB in all at 100 MB/s"));
    }
}
