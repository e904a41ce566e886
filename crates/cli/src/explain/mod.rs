//! `plumb explain`: both sides of every identity with the result's numbers, and the conclusion.

use crate::failure::Failure;
use crate::streams::{self, OutputArgs};
use crate::{input, remarks, width};
use analysis::{Identity, Side, Verdict, identities};
use formats::printable;
use formats::results::LocatedResult;
use measure::text;
use model::{Calibration, RunResult};
use serde_json::{Value, json};
use session::colour::Tone;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Check the equations that every true result satisfies, with its numbers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb explain run.json          plumb's or fio's JSON
  plumb explain old-run.txt       fio's text of any version, as far as it has the numbers
  plumb fio job.fio --output-format=json | plumb explain -
  plumb explain --json run.json | jq '.results[].identities[].verdict'

For each equation: holds, BROKEN or cannot tell; its left side, its right side with the numbers,
their difference, the allowed difference, and why. First come the equations of the jobs, then those
of the devices, then those of both.
More: docs/explain.md
Exit status: 0; 1 if there was nothing to explain; 3 if a part could not be read")]
pub(crate) struct ExplainArgs {
    /// Files to read; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    written: OutputArgs,
}

/// Reads the files and explains the results in them.
pub(crate) fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let mut out = args.written.open()?;
    let columns = width::of_stdout().filter(|_| out.is_stdout());
    let (mut explained, mut damaged) = (0, 0);
    let mut documents = Vec::new();
    for path in &args.files {
        let (found, places) = input::read_results(path, args.written.streams.verbosity())?;
        damaged += places;
        for located in found {
            explained += 1;
            if args.written.streams.json {
                documents.push(document(path, located));
                continue;
            }
            let head = format!("{}:{}: {}", path.display(), located.line, located.title);
            let text = width::for_people(&head, "    ", columns) + &explanation(located, columns);
            out.write_painted(&printable::lines(&text), &VERDICTS)?;
        }
    }
    if args.written.streams.json {
        out.write(&streams::document("explain", json!({ "results": documents }))?)?;
    }
    Ok(input::status(explained, damaged))
}

/// An equation that does not hold, and the grades of remarks.
const VERDICTS: [(&str, Tone); 3] =
    [("    BROKEN ", Tone::Bad), ("[NOT A STORAGE RESULT]", Tone::Bad), ("[VALID WITH LIMITS]", Tone::Limited)];

/// A result with all of its identities.
fn document(path: &Path, mut located: LocatedResult) -> Value {
    analysis::judge(&mut located.result);
    let identity = |identity: &Identity| {
        let (verdict, why) = match &identity.verdict {
            Verdict::Holds => ("holds", None),
            Verdict::Broken(why) => ("broken", Some(why)),
            Verdict::CannotTell(why) => ("cannot_tell", Some(why)),
        };
        json!({
            "subject": identity.subject, "equation": identity.equation, "left": identity.left, "right": identity.right,
            "numbers": identity.numbers, "unit": identity.unit, "apart": identity.apart(),
            "tolerance": identity.tolerance, "because": identity.because, "verdict": verdict, "why": why,
        })
    };
    let side = |side: &Side| json!({ "quantity": side.quantity, "jobs": side.jobs, "device": side.device, "column": side.column });
    let sides = analysis::sides(&located.result)
        .map(|(device, sides)| json!({ "device": device, "quantities": sides.iter().map(side).collect::<Vec<_>>() }));
    json!({
        "source": path.display().to_string(), "line": located.line, "title": located.title,
        "identities": identities(&located.result).iter().map(identity).collect::<Vec<_>>(),
        "sides": sides,
        "calibration": calibrated(&located.result).map(|(job, tool)| json!({ "job": job, "tool": tool })).collect::<Vec<_>>(),
        "limited_by": located.result.limited_by,
        "until_regime": located.result.until_regime,
        "lasting": located.result.lasting,
        "phases": located.result.phases,
        "notes": located.result.notes,
        "not_checked": analysis::unchecked(&located.result),
    })
}

/// The jobs whose latencies are known to be partly the tool's; of workers that are alike, the first.
fn calibrated(result: &RunResult) -> impl Iterator<Item = (&str, &Calibration)> {
    let mut known: Vec<&str> = Vec::new();
    let jobs = result.jobs.iter().filter_map(|job| Some((job.echo.name.as_str(), job.calibration.as_deref()?)));
    jobs.filter(move |(name, _)| {
        let is_new = !known.contains(name);
        known.push(name);
        is_new
    })
}

fn explanation(mut located: LocatedResult, columns: Option<usize>) -> String {
    analysis::judge(&mut located.result);
    let result = &located.result;
    let mut text = String::new();
    let mut subject = String::new();
    for identity in identities(result) {
        if identity.subject != subject {
            subject.clone_from(&identity.subject);
            text += &format!("\n{}", width::for_people(&format!("  {subject}"), "    ", columns));
        }
        text.push_str(&shown(&identity, columns));
    }
    if let Some((device, sides)) = analysis::sides(result) {
        text.push_str(&side_by_side(&device, &sides));
    }
    text.push('\n');
    for (job, tool) in calibrated(result) {
        text += &width::for_people(
            &format!("  tool, job {job}: {}", analysis::tool_share::sentence(tool)),
            "    ",
            columns,
        );
    }
    let mut line = |sentence: String| text.push_str(&width::for_people(&format!("  {sentence}"), "    ", columns));
    if let Some(limited_by) = &result.limited_by {
        line(remarks::limit_line(limited_by));
    }
    result.until_regime.iter().for_each(|ended| line(ended.sentence.clone()));
    result.lasting.iter().for_each(|lasting| line(lasting.sentence.clone()));
    result.phases.iter().for_each(|phase| line(remarks::phase_line(phase)));
    remarks::shown(&result.notes).for_each(|note| line(format!("check: {}", remarks::line(note))));
    let unchecked = analysis::unchecked(result);
    if !unchecked.is_empty() {
        line(format!("not checked, for lack of what they need: {}", unchecked.join(", ")));
    }
    text
}

/// The same quantities as jobs and device report them, like fio's and iostat's output side by side.
fn side_by_side(device: &str, sides: &[Side]) -> String {
    let mut text = format!("\n  side by side\n    {:<16}{:>14}{:>14}\n", "", "jobs", device);
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), text::number);
    for side in sides {
        let (jobs, device) = (cell(side.jobs), cell(side.device));
        let _ = writeln!(text, "    {:<16}{jobs:>14}{device:>14}  {}", side.quantity, side.column);
    }
    text
}

fn shown(identity: &Identity, columns: Option<usize>) -> String {
    let word = match &identity.verdict {
        Verdict::Holds => "holds",
        Verdict::Broken(_) => "BROKEN",
        Verdict::CannotTell(_) => "cannot tell",
    };
    let indent = " ".repeat(16);
    let mut text = width::for_people(&format!("    {word:<12}{}", identity.equation), &indent, columns);
    let mut line = |sentence: &str| text.push_str(&width::for_people(&format!("{indent}{sentence}"), &indent, columns));
    if let (Some(left), Some(right), Some(apart)) = (identity.left, identity.right, identity.apart()) {
        let (unit, numbers) = (identity.unit, &identity.numbers);
        line(&format!("{} {unit} = {numbers} = {} {unit}", text::number(left), text::number(right)));
        let (apart, allowed) = (text::percent(apart), text::percent(identity.tolerance));
        line(&format!("apart by {apart}, allowed {allowed}: {}", identity.because));
    }
    match &identity.verdict {
        Verdict::Holds => {}
        Verdict::Broken(why) | Verdict::CannotTell(why) => line(why),
    }
    text
}
