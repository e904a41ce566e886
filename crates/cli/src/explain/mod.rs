//! `plumb explain`: both sides of every identity with the result's numbers, and the conclusion.

use crate::failure::Failure;
use crate::output::Output;
use crate::{input, remarks};
use analysis::{Identity, Side, Verdict, identities};
use formats::printable;
use formats::results::Located;
use std::fmt::Write;
use std::path::PathBuf;

/// Check the equations that every true result satisfies, with its numbers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb explain run.json          plumb's or fio's JSON
  plumb explain old-run.txt       fio's text of any version, as far as it has the numbers
  plumb fio job.fio --output-format=json | plumb explain -

For each equation: holds, BROKEN or cannot tell; its left side, its right side with the numbers,
their difference, the allowed difference, and why. First come the equations of the jobs, then those
of the devices, then those of both.
More: docs/explain.md
Exit status: 0; 1 if there was nothing to explain; 3 if a part could not be read")]
pub(crate) struct ExplainArgs {
    /// Files to read; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Reads the files and explains the results in them.
pub(crate) fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let mut out = Output::stdout();
    let (mut explained, mut damaged) = (0, 0);
    for path in &args.files {
        let (found, places) = input::read_results(path)?;
        damaged += places;
        for located in found {
            explained += 1;
            let head = format!("{}:{}: {}\n", path.display(), located.line, located.title);
            out.write(&printable::lines(&(head + &explanation(located))))?;
        }
    }
    Ok(input::status(explained, damaged))
}

fn explanation(mut located: Located) -> String {
    remarks::judge(&mut located.result);
    let result = &located.result;
    let mut text = String::new();
    let mut subject = String::new();
    for identity in identities(result) {
        if identity.subject != subject {
            subject.clone_from(&identity.subject);
            let _ = writeln!(text, "\n  {subject}");
        }
        text.push_str(&shown(&identity));
    }
    if let Some((device, sides)) = analysis::sides(result) {
        text.push_str(&side_by_side(&device, &sides));
    }
    text.push('\n');
    if let Some(limited_by) = &result.limited_by {
        let _ = writeln!(text, "  {}", remarks::limit_line(limited_by));
    }
    for note in remarks::shown(&result.notes) {
        let _ = writeln!(text, "  check: {}", remarks::line(note));
    }
    let unchecked = analysis::unchecked(result);
    if !unchecked.is_empty() {
        let _ = writeln!(text, "  not checked, for lack of what they need: {}", unchecked.join(", "));
    }
    text
}

/// The same quantities as jobs and device report them, like fio's and iostat's output side by side.
fn side_by_side(device: &str, sides: &[Side]) -> String {
    let mut text = format!("\n  side by side\n    {:<16}{:>14}{:>14}\n", "", "jobs", device);
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    for side in sides {
        let (jobs, device) = (cell(side.jobs), cell(side.device));
        let _ = writeln!(text, "    {:<16}{jobs:>14}{device:>14}  {}", side.quantity, side.column);
    }
    text
}

fn shown(identity: &Identity) -> String {
    let word = match &identity.verdict {
        Verdict::Holds => "holds",
        Verdict::Broken(_) => "BROKEN",
        Verdict::CannotTell(_) => "cannot tell",
    };
    let mut text = format!("    {word:<12}{}\n", identity.equation);
    let indent = " ".repeat(16);
    if let (Some(left), Some(right), Some(apart)) = (identity.left, identity.right, identity.apart()) {
        let (unit, numbers) = (identity.unit, &identity.numbers);
        let _ = writeln!(text, "{indent}{} {unit} = {numbers} = {} {unit}", number(left), number(right));
        let _ = writeln!(
            text,
            "{indent}apart by {:.2} %, allowed {:.1} %: {}",
            100.0 * apart,
            100.0 * identity.tolerance,
            identity.because
        );
    }
    match &identity.verdict {
        Verdict::Holds => {}
        Verdict::Broken(why) | Verdict::CannotTell(why) => {
            let _ = writeln!(text, "{indent}{why}");
        }
    }
    text
}

/// Formats a value: whole numbers with thousands separators, values below 1000 with two decimals.
fn number(value: f64) -> String {
    if value.abs() >= 1000.0 { analysis::thousands(value.round()) } else { format!("{value:.2}") }
}
