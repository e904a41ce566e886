//! `plumb grade`: a report card of a sweep, as text or JSON.

use crate::failure::Failure;
use crate::output::Output;
use crate::{input, parse};
use analysis::report_card::{self, Card, Mark, PROFILES, Profile};
use clap::ValueEnum;
use formats::printable;
use model::Measurement;
use std::path::PathBuf;

/// Grade a sweep: latency and scaling against the bounds of a profile
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb grade data_ssd.csv
  plumb grade --profile nvme-2026 *.out

Profiles:
  oracle-2012  databases on the disks and arrays of 2012 (the bounds of grade.r)
  ssd-2026     SATA and SAS flash of 2026
  nvme-2026    NVMe flash of 2026

Scaling is (latency ratio - 1) / (user ratio - 1): 0 if more users do not wait longer, 1 if they queue for one server.
A run whose users were not busy (IOPS x latency is not the number of users) gets ? and the reason.
Exit status: 0; 1 if nothing can be graded; 3 if a part could not be read")]
pub(crate) struct GradeArgs {
    /// Files to read, as for plumb parse; files without a column `system` form one sweep
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Profile with the bounds of the grades, from the list below
    #[arg(short, long, default_value = "oracle-2012")]
    profile: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Output format of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people
    Text,
    /// JSON
    Json,
}

/// Reads the files and grades the sweeps in them.
pub(crate) fn run(args: &GradeArgs) -> Result<u8, Failure> {
    let profile = profile(&args.profile)?;
    let (found, damages) = parse::measurements(&args.files)?;
    let cards: Vec<Card> =
        sweeps(found).iter().map(|(system, rows)| report_card::card(system, rows, profile)).collect();
    let text = match args.format {
        Format::Text => cards.iter().map(|card| shown(card, profile)).collect::<Vec<_>>().join("\n"),
        Format::Json => {
            let text = serde_json::to_string_pretty(&serde_json::json!({ "grade_schema": 1, "cards": cards }));
            text.map_err(|error| Failure::new(format!("the card cannot be written as JSON: {error}")))? + "\n"
        }
    };
    if cards.is_empty() {
        return Err(Failure::new(
            "no measurement was found in these files; what works is anything that plumb parse reads",
        ));
    }
    Output::stdout().write(&text)?;
    let graded = cards.iter().flat_map(|card| &card.lines).flat_map(|line| &line.marks);
    let graded = graded.filter(|marks| matches!(marks.latency, Mark::Graded { .. })).count();
    Ok(input::status(graded, damages))
}

pub(crate) fn profile(name: &str) -> Result<&'static Profile, Failure> {
    report_card::profile(name).ok_or_else(|| {
        let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Failure::new(format!("--profile {name} is not known; there are {}", known.join(", ")))
    })
}

/// The rows by system, in order of first appearance; rows without a system belong to the first file.
fn sweeps(found: Vec<parse::Content>) -> Vec<(String, Vec<Measurement>)> {
    let unnamed = found.iter().find(|file| !file.rows.is_empty()).map(|file| file.source.clone()).unwrap_or_default();
    let mut sweeps: Vec<(String, Vec<Measurement>)> = Vec::new();
    for row in found.into_iter().flat_map(|file| file.rows) {
        let system = row.system.clone().unwrap_or_else(|| unnamed.clone());
        match sweeps.iter_mut().find(|(known, _)| *known == system) {
            Some((_, rows)) => rows.push(row),
            None => sweeps.push((system, vec![row])),
        }
    }
    sweeps
}

/// The card as text: latency grade / scaling grade, then the two scores.
fn shown(card: &Card, profile: &Profile) -> String {
    let mut text = format!(
        "{}: {} - {}\n{:<19} {:>6}  {:<19} {:<19} {:<19}\n",
        printable::line(&card.system),
        profile.name,
        profile.help,
        "latency/scaling",
        "users",
        "mean ms",
        "95 % ms",
        "99 % ms"
    );
    let mut reasons: Vec<(String, String)> = Vec::new();
    for line in &card.lines {
        text += &format!("{:<19} {:>2}→{:<3} ", line.test, line.users, line.more_users);
        for marks in &line.marks {
            let (latency, value) = spelled(&marks.latency, 3);
            let (scaling, queueing) = spelled(&marks.scaling, 2);
            text += &format!(" {:<19}", format!("{latency:>2}/{scaling:<2} {value}/{queueing}"));
            for (of, mark) in [("latency", &marks.latency), ("scaling", &marks.scaling)] {
                if let Mark::Unknown { reason } = mark {
                    survey::push_new(&mut reasons, (format!("{} ({of})", line.test), reason.clone()));
                }
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    for (of, reason) in reasons {
        text += &format!("  ? {of}: {reason}\n");
    }
    text
}

fn spelled(mark: &Mark, digits: usize) -> (&'static str, String) {
    match mark {
        Mark::Graded { grade, value } => (grade, format!("{value:.digits$}")),
        Mark::Unknown { .. } => ("?", "-".to_owned()),
    }
}
