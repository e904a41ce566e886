//! `plumb grade`: a report card of a sweep, as text or JSON.

mod sweeps;

use crate::failure::Failure;
use crate::input;
use crate::streams::{self, OutputArgs};
use crate::width;
use analysis::report_card::{self, Card, Line, Mark, Profile, ProfileChoice};
use clap::ValueEnum;
use formats::printable;
use serde::Serialize;
use std::path::PathBuf;
use sweeps::{Sweep, Sweeps};

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

Without --profile the kind of the disk decides: NVMe flash, other flash, or rotating. For a virtual
disk, or one that the result does not name, it is what the disk does: how long one random read
takes, and whether a run is faster than SATA. Latencies like those of storage behind a network have
no grade, for want of public bounds.
The run nearest to a test is graded, within the range below, and the card names what was measured.
Bounds of other block sizes grow with the bytes of an I/O; fewer users have as much less time.
  random read      2K to 32K, 16 users (8 to 32), then 32 (16 to 64)
  sequential read  256K to 4M, 1 user (or 2), then 8 (4 to 16)
  log write        512 to 32K, 4 users (2 to 8), then 16 (8 to 32)
  log write        64K to 512K, the same, if it was measured
Scaling is (latency ratio - 1) / (user ratio - 1): 0 if more users do not wait longer, 1 if they
queue for one server.
Users are I/Os in flight (users x depth).
A run whose users were not busy (IOPS x latency is not the number of users), or whose limit was the
machine that measured, gets ? and the reason. The page of plumb report has the same grades.
Exit status: 0; 1 if nothing can be graded; 3 if a part could not be read")]
pub(crate) struct GradeArgs {
    /// Files to read, as for plumb parse, NAME=FILE to name their system; runs that name no system form one sweep
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Profile with the bounds of the grades, from the list below [default: by the disk]
    #[arg(short, long)]
    profile: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    #[command(flatten)]
    written: OutputArgs,
}

/// Output format of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people
    Text,
    /// JSON
    Json,
}

/// A card with the reason for its profile.
#[derive(Serialize)]
struct Graded {
    #[serde(flatten)]
    card: Card,
    /// `None` if the profile was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile_because: Option<String>,
    #[serde(skip)]
    chosen: ProfileChoice,
}

/// Reads the files and grades the sweeps in them.
pub(crate) fn run(args: &GradeArgs) -> Result<u8, Failure> {
    let asked = args.profile.as_deref().map(input::profile_of_grades).transpose()?;
    let mut out = args.written.open()?;
    let Sweeps { all, damaged, .. } = Sweeps::read(&args.files, args.written.streams.verbosity())?;
    let cards: Vec<Graded> = all.iter().map(|sweep| graded(sweep, asked)).collect();
    let is_json = args.written.streams.json || args.format == Format::Json;
    let text = match is_json {
        true => streams::document("grade", serde_json::json!({ "cards": cards }))?,
        false => {
            let columns = width::of_stdout().filter(|_| out.is_stdout());
            cards.iter().map(|card| shown(card, columns)).collect::<Vec<_>>().join("\n")
        }
    };
    if cards.is_empty() {
        return Err(Failure::new(
            "no measurement was found in these files; what works is anything that plumb parse reads",
        ));
    }
    out.write(&text)?;
    let graded = cards.iter().flat_map(|graded| &graded.card.lines).flat_map(|line| &line.marks);
    let graded = graded.filter(|marks| !matches!(marks.latency, Mark::Unknown { .. })).count();
    Ok(input::status(graded, damaged))
}

/// The card of a sweep, with the profile that was asked for or that of its disks.
fn graded(sweep: &Sweep, asked: Option<&'static Profile>) -> Graded {
    let chosen = asked.map_or_else(|| report_card::profile_of(&sweep.disks, &sweep.rows), ProfileChoice::asked);
    let card = report_card::card(&sweep.system, &sweep.rows, chosen.profile);
    Graded { card, profile_because: chosen.reason.clone(), chosen }
}

/// Arrangement of the metrics of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrangement {
    Row,
    /// Below each other, for a narrow terminal.
    Lines,
}

/// Why a test has no grade of its latency, of its scaling, or of both.
struct Reason {
    test: String,
    of: Vec<&'static str>,
    why: String,
}

impl Reason {
    fn add(all: &mut Vec<Reason>, test: &str, of: &'static str, why: &str) {
        match all.iter_mut().find(|known| known.test == test && known.why == why) {
            Some(known) => survey::push_new(&mut known.of, of),
            None => all.push(Reason { test: test.to_owned(), of: vec![of], why: why.to_owned() }),
        }
    }
}

/// Width of a row of all metrics.
const ROW_WIDTH: usize = 88;

fn form_of(columns: Option<usize>) -> Arrangement {
    if columns.is_none_or(|columns| columns >= ROW_WIDTH) { Arrangement::Row } else { Arrangement::Lines }
}

/// The card as text: latency grade / scaling grade, then the two scores.
fn shown(graded: &Graded, columns: Option<usize>) -> String {
    const METRICS: [&str; 3] = ["mean ms", "95 % ms", "99 % ms"];
    let Graded { card, chosen, .. } = graded;
    let form = form_of(columns);
    if let Some(line) = card.without_grades() {
        return width::for_people(&printable::line(&line), "  ", columns);
    }
    let name = printable::line(&card.system);
    let title = match chosen.profile {
        Some(profile) => format!("{name}: {} - {}", profile.name, profile.help),
        None => format!("{name}: no profile"),
    };
    let mut text = width::for_people(&title, "  ", columns);
    text += &format!("{:<19} {:>6} ", "latency/scaling", "users");
    match form {
        Arrangement::Row => METRICS.iter().for_each(|metric| text += &format!(" {metric:<19}")),
        Arrangement::Lines => {}
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    let mut reasons: Vec<Reason> = Vec::new();
    for line in card.lines.iter().filter(|line| line.block_bytes.is_some()) {
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
                    Reason::add(&mut reasons, &line.test, of, reason);
                }
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    for Reason { test, of, why } in reasons {
        let of = if of.len() > 1 { String::new() } else { format!(" ({})", of.join(", ")) };
        text += &width::for_people(&format!("  ? {test}{of}: {}", printable::line(&why)), "    ", columns);
    }
    let missing: Vec<&str> = card.lines.iter().filter_map(Line::missing).collect();
    if !missing.is_empty() {
        let line = format!("  not measured: {}; plumb survey PATH measures all", missing.join(", "));
        text += &width::for_people(&line, "    ", columns);
    }
    for (of, sentence) in &card.lasting {
        let line = format!("  an average over phases that differ: {of}: {}", printable::line(sentence));
        text += &width::for_people(&line, "    ", columns);
    }
    if let Some(because) = chosen.because() {
        text += &width::for_people(&format!("  {}", printable::line(&because)), "    ", columns);
    }
    text
}

fn spelled(mark: &Mark, digits: usize) -> (&'static str, String) {
    let (letter, value) = match mark {
        Mark::Graded { grade, value } => (*grade, Some(value)),
        Mark::Measured { value } => ("-", Some(value)),
        Mark::Unknown { .. } => ("?", None),
    };
    (letter, value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Measurement;

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
        let sweep = Sweep { system: "disk".into(), rows: vec![row(16.0, 1.5), row(32.0, 3.1)], disks: Vec::new() };
        let card = graded(&sweep, report_card::profile("oracle-2012"));
        for columns in [60, 80, 200] {
            let text = shown(&card, Some(columns));
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
            insta::assert_snapshot!(format!("card_at_{columns}"), text);
        }
    }
}
