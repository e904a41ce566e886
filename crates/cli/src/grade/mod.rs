//! `plumb grade`: a report card of a sweep, as text or JSON.

use crate::failure::Failure;
use crate::streams::{self, Written};
use crate::width;
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
Where no run has as many users, one counts that has as many I/Os in flight: users x depth.
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
    #[arg(short, long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    #[command(flatten)]
    written: Written,
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
    let mut out = args.written.open()?;
    let (found, damages) = parse::measurements(&args.files)?;
    let cards: Vec<Card> =
        sweeps(found).iter().map(|(system, rows)| report_card::card(system, rows, profile)).collect();
    let is_json = args.written.streams.json || args.format == Format::Json;
    let text = match is_json {
        true => streams::document("grade", serde_json::json!({ "cards": cards }))?,
        false => {
            let form = form(width::of_stdout().filter(|_| out.is_stdout()));
            cards.iter().map(|card| shown(card, profile, form)).collect::<Vec<_>>().join("\n")
        }
    };
    if cards.is_empty() {
        return Err(Failure::new(
            "no measurement was found in these files; what works is anything that plumb parse reads",
        ));
    }
    out.write(&text)?;
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

/// Arrangement of the metrics of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrangement {
    /// Next to each other.
    Row,
    /// Below each other, for a narrow terminal.
    Lines,
}

/// Width of a row of all metrics.
const ROW_WIDTH: usize = 88;

fn form(columns: Option<usize>) -> Arrangement {
    if columns.is_none_or(|columns| columns >= ROW_WIDTH) { Arrangement::Row } else { Arrangement::Lines }
}

/// The card as text: latency grade / scaling grade, then the two scores.
fn shown(card: &Card, profile: &Profile, form: Arrangement) -> String {
    const METRICS: [&str; 3] = ["mean ms", "95 % ms", "99 % ms"];
    let name = printable::line(&card.system);
    let mut text = format!("{name}: {} - {}\n{:<19} {:>6} ", profile.name, profile.help, "latency/scaling", "users");
    match form {
        Arrangement::Row => METRICS.iter().for_each(|metric| text += &format!(" {metric:<19}")),
        Arrangement::Lines => {}
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    let mut reasons: Vec<(String, String)> = Vec::new();
    for line in &card.lines {
        text += &format!("{:<19} {:>2}→{:<3} ", line.test, line.users, line.more_users);
        for (number, (marks, metric)) in line.marks.iter().zip(METRICS).enumerate() {
            let (latency, value) = spelled(&marks.latency, 3);
            let (scaling, queueing) = spelled(&marks.scaling, 2);
            let cell = format!("{latency:>2}/{scaling:<2} {value}/{queueing}");
            text += &match (form, number) {
                (Arrangement::Row, _) => format!(" {cell:<19}"),
                (Arrangement::Lines, 0) => format!(" {metric:<8} {cell}\n"),
                (Arrangement::Lines, _) => format!("{:28}{metric:<8} {cell}\n", ""),
            };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_as_wide_as_the_terminal() {
        let row = |users: f64, mean_ms: f64| {
            let mut row = Measurement {
                test: "randread".into(),
                users: Some(users),
                block: Some((8192, 8192)),
                iops: Some(1000.0 * users / mean_ms),
                mean_ns: Some(mean_ms * 1e6),
                ..Measurement::default()
            };
            row.percentiles_ns[0] = Some(2e6 * mean_ms);
            row
        };
        let profile = &PROFILES[0];
        let card = report_card::card("disk", &[row(16.0, 1.5), row(32.0, 3.1)], profile);
        for columns in [60, 80, 200] {
            let text = shown(&card, profile, form(Some(columns)));
            let table = text.lines().skip(1).take_while(|line| !line.starts_with("  ?"));
            assert!(table.clone().all(|line| line.chars().count() <= columns), "{text}");
            insta::assert_snapshot!(format!("card_at_{columns}"), text);
        }
    }
}
