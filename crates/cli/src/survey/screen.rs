//! Text of a survey on standard output: what is going to be measured and written, then the results.
//!
//! Owns the order of the text and its width. With `--json` there is no text, and what is written is named on standard error.

use super::measure::Findings;
use super::remarks::Extent;
use super::save::Done;
use super::{dry_run, members, remarks, table};
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::streams::Form;
use crate::width::{self, wrapped};
use formats::printable;
use measure::Nanos;
use measure::text;
use std::collections::HashMap;
use std::path::Path;
use survey::{Access, Estimate, FinishedTest, OpenTarget, Preparation, Suite, SurveyTest, TargetKind, TestKind};
use survey::{Precondition, WarmUp};

/// Standard output of a survey.
pub(super) struct Screen {
    out: Output,
    form: Form,
    extent: Extent,
    /// Columns of the terminal; `None` if standard output is not one.
    columns: Option<usize>,
}

impl Screen {
    /// Standard output in this form, with this many remarks.
    pub(super) fn new(form: Form, extent: Extent) -> Self {
        Screen { out: Output::stdout(), form, extent, columns: width::of_stdout() }
    }

    /// Prints what is going to be measured, and what will be written for it.
    pub(super) fn begin(
        &mut self,
        open: &OpenTarget,
        prepared: &Preparation,
        done: &HashMap<String, Done>,
    ) -> Result<(), Failure> {
        let wear = dry_run::wear(&estimate(open, prepared, done));
        match self.form {
            _ if output::is_quiet() => Ok(()),
            Form::Json => {
                output::print_remark(&format!("plumb: {wear}"));
                Ok(())
            }
            Form::Text => {
                let width = width::of_text(self.columns);
                let text = heading(open, prepared, done.len(), width) + &wrapped(&wear, "", width);
                self.out.write(&printable::lines(&text))
            }
        }
    }

    /// Prints the results.
    pub(super) fn result(
        &mut self,
        place: (&OpenTarget, &Suite),
        found: &Findings,
        sentences: &[String],
    ) -> Result<(), Failure> {
        match self.form {
            Form::Json => Ok(()),
            Form::Text => {
                let text = self.report(place, found, sentences);
                self.out.write(if output::is_quiet() { text.trim_start() } else { &text })
            }
        }
    }

    /// Prints what the store says of the result.
    pub(super) fn kept(&mut self, text: &str) -> Result<(), Failure> {
        if self.form == Form::Json || output::is_quiet() { Ok(()) } else { self.out.write(text) }
    }

    /// Prints where the result is, after `page` about it.
    pub(super) fn end(&mut self, path: &Path, page: &str, (planned, found): (usize, &Findings)) -> Result<(), Failure> {
        if self.form == Form::Json || output::is_quiet() {
            return Ok(());
        }
        let shown = path.display();
        let mut text = format!("\n{page}Result: {shown}\n");
        if found.rows.len() < planned {
            text.push_str(&format!("Continue with: plumb survey --resume {shown}\n"));
            if found.under_way.is_some() {
                text.push_str("This measures the interrupted test again.\n");
            }
        }
        self.out.write(&printable::lines(&text))
    }

    /// The table, the sentences, the verdict and what the checks found.
    fn report(&self, (open, suite): (&OpenTarget, &Suite), found: &Findings, sentences: &[String]) -> String {
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
            let kinds = suite.left_out.iter().map(named).collect::<Vec<_>>().join(" and ");
            let kinds = format!("{}{}", kinds[..1].to_uppercase(), &kinds[1..]);
            let instead = match open.target.kind {
                TargetKind::Device => "they would overwrite the device; survey a directory on it, or see --overwrite",
                _ => "they would overwrite the file; survey a directory",
            };
            text.push_str(&wrapped(&format!("{kinds}: skipped, {instead}."), "", width));
            text.push('\n');
        }
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
fn estimate(open: &OpenTarget, prepared: &Preparation, done: &HashMap<String, Done>) -> Estimate {
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
