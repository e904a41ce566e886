//! `plumb check`: applies the checks to results of other programs, as far as the results contain the data for them.

use crate::failure::Failure;
use crate::input;
use crate::remarks::{self, STRICT};
use crate::streams::{self, OutputArgs};
use crate::width;
use analysis::Strictness;
use formats::printable;
use formats::results::{LocatedResult, LocatedRow};
use measure::text;
use model::{Note, RunResult};
use serde_json::{Value, json};
use session::colour::MARKS;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Check results of other programs: is this number true?
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb check run.json            fio's JSON, or plumb's own, which has more data to check
  plumb check *.csv               sweeps: rows whose IOPS x latency does not match their users
  plumb check --strict old.txt    exit status 4 if a check finds a problem
  plumb check --remarks *.csv     every remark with its line, also of a file with more than five
  fio job.fio --output-format=json | plumb check -
  plumb check --json run.json | jq '.results[].notes[].check'

Each line has file, line and result, the check, a sentence, and a grade: VALID WITH LIMITS or
NOT A STORAGE RESULT.
Checks for which the file has no data are listed at the end: not checked is not passed.
More: docs/checks.md
Exit status: 0; 1 if there was nothing to check; 3 if a part could not be read; 4 with --strict if
a check found a problem")]
pub(crate) struct CheckArgs {
    /// Files to read; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Exit with status 4 if a check finds a problem, or one of a LIST of checks or worse than a grade, like
    /// cache,no-flush or not-a-storage-result
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "usual", value_parser = Strictness::read)]
    strict: Option<Strictness>,
    /// Print every remark; without it, a file with more than five has one line per check
    #[arg(long)]
    remarks: bool,
    #[command(flatten)]
    written: OutputArgs,
}

/// Most remarks of a file that are printed one by one.
const MOST: usize = 5;

/// Counts of checked results and remarks.
#[derive(Default)]
struct Tally {
    results: usize,
    against: usize,
    refused: usize,
    damaged: usize,
    unchecked: Vec<&'static str>,
}

/// Reads the files and checks the results in them.
pub(crate) fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let mut out = args.written.open()?;
    let columns = width::of_stdout().filter(|_| out.is_stdout());
    let mut tally = Tally::default();
    let mut documents = Vec::new();
    for path in &args.files {
        let (mut found, rows, damaged) = input::read_with_rows(path, args.written.streams.verbosity())?;
        found.iter_mut().for_each(|located| analysis::judge(&mut located.result));
        found.extend(rows.into_iter().map(judged_row));
        tally.damaged += damaged;
        found.iter().for_each(|located| tally.add(located, args));
        if args.written.streams.json {
            documents.extend(found.iter().map(|located| document(path, located)));
            continue;
        }
        let shown = found.iter().map(|located| remarks::shown(&located.result.notes).count()).sum::<usize>();
        let text = if args.remarks || shown <= MOST { one_by_one(path, &found) } else { by_check(path, &found) };
        out.write_painted(&fitted(&printable::lines(&text), columns), &MARKS)?;
    }
    if args.written.streams.json {
        out.write(&streams::document("check", json!({ "results": documents }))?)?;
    } else if tally.results > 0 && !args.written.streams.quiet {
        out.write(&fitted(&summary(&tally), columns))?;
    }
    Ok(if tally.refused > 0 { STRICT } else { input::status(tally.results, tally.damaged) })
}

/// A row of iozone's table with its remarks.
fn judged_row(LocatedRow { line, row }: LocatedRow) -> LocatedResult {
    let [record, file] = [row.record_bytes, row.file_bytes].map(text::rounded_size);
    let result = RunResult { notes: analysis::check_iozone_row(&row), ..RunResult::default() };
    LocatedResult { line, title: format!("records of {record} in {file}"), result }
}

/// Each line wrapped for a terminal; in a pipe a line stays a line.
fn fitted(text: &str, columns: Option<usize>) -> String {
    text.lines().map(|line| width::for_people(line, "    ", columns)).collect()
}

impl Tally {
    fn add(&mut self, located: &LocatedResult, args: &CheckArgs) {
        let (result, notes) = (&located.result, &located.result.notes);
        self.results += 1;
        self.against += usize::from(remarks::findings(notes).next().is_some());
        self.refused += usize::from(args.strict.as_ref().is_some_and(|strict| strict.fails(notes)));
        analysis::unchecked(result).into_iter().for_each(|name| survey::push_new(&mut self.unchecked, name));
    }
}

/// A result with its notes, each with what to do about it.
fn document(path: &Path, located: &LocatedResult) -> Value {
    let note = |note: &Note| {
        json!({
            "check": note.check, "grade": note.grade, "sentence": note.sentence, "advice": analysis::advice(&note.check),
            "evidence": note.evidence.iter().cloned().collect::<BTreeMap<String, f64>>(),
        })
    };
    json!({
        "source": path.display().to_string(), "line": located.line, "title": located.title,
        "notes": located.result.notes.iter().map(note).collect::<Vec<_>>(),
        "limited_by": located.result.limited_by,
        "until_regime": located.result.until_regime,
        "lasting": located.result.lasting,
        "phases": located.result.phases,
        "not_checked": analysis::unchecked(&located.result),
    })
}

fn one_by_one(path: &Path, found: &[LocatedResult]) -> String {
    let mut text = String::new();
    for located in found {
        for note in remarks::shown(&located.result.notes) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}:{}: {}: {}", path.display(), located.line, located.title, remarks::line(note));
        }
    }
    text
}

/// A line for each check: the line of the first of the worst, its sentence, and how many results it concerns.
fn by_check(path: &Path, found: &[LocatedResult]) -> String {
    let notes: Vec<&[Note]> = found.iter().map(|located| located.result.notes.as_slice()).collect();
    let groups = analysis::by_check(&notes);
    let mut text = String::new();
    for group in groups.iter().take(MOST) {
        let first = group.rows.first().map_or(0, |&row| found[row].line);
        let rows = format!("{} of {} results", group.rows.len(), found.len());
        let _ = writeln!(text, "{}:{first}: {rows}: {}: {}", path.display(), group.check, group.text("results"));
    }
    if groups.len() > MOST {
        let _ = writeln!(text, "{}: {} more findings", path.display(), groups.len() - MOST);
    }
    text + "every remark with its line: plumb check --remarks\n"
}

fn summary(tally: &Tally) -> String {
    let results = text::counted(tally.results as u64, "result");
    let mut text = format!("{results} judged, {} with a finding\n", tally.against);
    if !tally.unchecked.is_empty() {
        let _ = writeln!(text, "not checked, for lack of what they need: {}", tally.unchecked.join(", "));
    }
    text
}
