//! `plumb check`: applies the checks to results of other programs, as far as the results contain the data for them.

use crate::failure::Failure;
use crate::output::Output;
use crate::remarks::{self, STRICT};
use formats::printable;
use formats::results::{Located, results};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use sys::files::read_limited;

/// Exit status if a part of the input could not be read.
const PARTIAL: u8 = 3;
/// Maximum size of one result file, in bytes; the file is held in memory.
pub(crate) const LARGEST: u64 = 1 << 30;

/// Judge results: is this number true?
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb check run.json            fio's JSON, or plumb's own, which has more to judge by
  plumb check *.csv               sweeps: rows whose IOPS x latency does not match their users
  plumb check --strict old.txt    exit status 4 if a check finds a problem
  fio job.fio --output-format=json | plumb check -

Each line names file, line and result, the check, a sentence, and a grade: VALID WITH LIMITS or NOT A STORAGE RESULT.
A check that a file has no signal for is not made, and counted at the end: not checked is not passed.
What each check says: docs/checks.md
Exit status: 0; 1 nothing could be judged; 3 a part could not be read; 4 with --strict if a check found a problem")]
pub(crate) struct Args {
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
    damages: usize,
    unchecked: Vec<&'static str>,
}

/// Reads the files and checks the results in them.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let mut out = Output::stdout();
    let mut tally = Tally::default();
    for path in &args.files {
        let bytes = read(path)?;
        let (found, damages) = results(&bytes);
        for damage in &damages {
            Failure::new(format!("{}:{}: {}", path.display(), damage.line, damage.what)).report(&mut std::io::stderr());
        }
        if found.is_empty() {
            Failure::new(format!("{}: no result was found; what works is what plumb parse reads", path.display()))
                .report(&mut std::io::stderr());
            tally.damages += 1;
        }
        tally.damages += damages.len();
        for located in found {
            out.write(&printable::lines(&judged(path, located, &mut tally)))?;
        }
    }
    if tally.results == 0 {
        return Ok(1);
    }
    out.write(&summary(&tally))?;
    Ok(match (args.strict && tally.against > 0, tally.damages) {
        (true, _) => STRICT,
        (false, 0) => 0,
        _ => PARTIAL,
    })
}

/// Reads a whole file or standard input, up to [`LARGEST`] bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path == Path::new("-") {
        read_limited::read_from(std::io::stdin().lock(), LARGEST)
    } else {
        read_limited::read(path, LARGEST)
    };
    read.map_err(|error| {
        let shown = path.display();
        Failure::new(match error.kind() {
            std::io::ErrorKind::FileTooLarge => format!("{shown}: is larger than 1 GiB; give its results one by one"),
            _ => format!("{shown}: cannot be read: {error}"),
        })
    })
}

fn judged(path: &Path, mut located: Located, tally: &mut Tally) -> String {
    remarks::judge(&mut located.result);
    tally.results += 1;
    for name in analysis::unchecked(&located.result) {
        if !tally.unchecked.contains(&name) {
            tally.unchecked.push(name);
        }
    }
    let mut text = String::new();
    for note in remarks::findings(&located.result.notes) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}:{}: {}: {}", path.display(), located.line, located.title, remarks::line(note));
    }
    tally.against += usize::from(!text.is_empty());
    text
}

fn summary(tally: &Tally) -> String {
    let results = if tally.results == 1 { "1 result".to_owned() } else { format!("{} results", tally.results) };
    let mut text = format!("{results} judged, {} with a finding\n", tally.against);
    if !tally.unchecked.is_empty() {
        let _ = writeln!(text, "not checked, for lack of what they need: {}", tally.unchecked.join(", "));
    }
    text
}
