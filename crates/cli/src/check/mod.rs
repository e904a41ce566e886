//! `plumb check`: applies the checks to results of other programs, as far as the results contain the data for them.

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::remarks::{self, STRICT};
use formats::printable;
use formats::results::Located;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Check results of other programs: is this number true?
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb check run.json            fio's JSON, or plumb's own, which has more data to check
  plumb check *.csv               sweeps: rows whose IOPS x latency does not match their users
  plumb check --strict old.txt    exit status 4 if a check finds a problem
  fio job.fio --output-format=json | plumb check -

Each line has file, line and result, the check, a sentence, and a grade: VALID WITH LIMITS or
NOT A STORAGE RESULT.
Checks for which the file has no data are listed at the end: not checked is not passed.
More: docs/checks.md
Exit status: 0; 1 if there was nothing to check; 3 if a part could not be read; 4 with --strict if a check found a problem")]
pub(crate) struct CheckArgs {
    /// Files to read; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Exit with status 4 if a check finds a problem
    #[arg(long)]
    strict: bool,
}

/// Counts of checked results and remarks.
#[derive(Default)]
struct Tally {
    results: usize,
    against: usize,
    damaged: usize,
    unchecked: Vec<&'static str>,
}

/// Reads the files and checks the results in them.
pub(crate) fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let mut out = Output::stdout();
    let mut tally = Tally::default();
    for path in &args.files {
        let (found, damaged) = input::read_results(path)?;
        tally.damaged += damaged;
        for located in found {
            out.write(&printable::lines(&judged(path, located, &mut tally)))?;
        }
    }
    if tally.results > 0 {
        out.write(&summary(&tally))?;
    }
    let is_refused = args.strict && tally.against > 0;
    Ok(if is_refused { STRICT } else { input::status(tally.results, tally.damaged) })
}

fn judged(path: &Path, mut located: Located, tally: &mut Tally) -> String {
    remarks::judge(&mut located.result);
    tally.results += 1;
    analysis::unchecked(&located.result).into_iter().for_each(|name| survey::push_new(&mut tally.unchecked, name));
    let mut text = String::new();
    for note in remarks::shown(&located.result.notes) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}:{}: {}: {}", path.display(), located.line, located.title, remarks::line(note));
    }
    tally.against += usize::from(remarks::findings(&located.result.notes).next().is_some());
    text
}

fn summary(tally: &Tally) -> String {
    let results = survey::counted(tally.results as u64, "result");
    let mut text = format!("{results} judged, {} with a finding\n", tally.against);
    if !tally.unchecked.is_empty() {
        let _ = writeln!(text, "not checked, for lack of what they need: {}", tally.unchecked.join(", "));
    }
    text
}
