//! `plumb fidelity`: how like is one load to another?
//!
//! Owns options, files and exit status. `formats::trace` reads the traces, `analysis::fidelity` compares them, `shown`
//! has the words.

mod shown;

use crate::failure::Failure;
use crate::output::Verbosity;
use crate::streams::OutputArgs;
use analysis::fidelity::{
    Answer, Counts, Extent, Fidelity, Halved, Pairs, Ruler, Side, SideFacts, Sides, fidelity, pairs,
};
use formats::printable;
use formats::trace::{Columns, ColumnsError, Options, Reader};
use measure::Nanos;
use measure::text::{grouped, listed, percent, time};
use model::{Level, TraceIo};
use std::path::{Path, PathBuf};

/// Say how like two loads are: a recorded one and its replay, two recordings, two traces
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb why --record original.parquet --pid 4711     what runs now
  plumb why --record replay.parquet -- plumb fio job.fio
  plumb fidelity original.parquet replay.parquet     is the job like it?
  plumb fidelity --timed original.log replay.parquet a replay at the moments of a record
  plumb fidelity disk.blkparse other.blkparse
  plumb fidelity --columns time:us,offset:sectors,size:sectors,op a.csv b.csv
  plumb fidelity --json a.parquet b.parquet | jq .score

It reads recordings of plumb why, fio's iolog, blktrace, blkparse, block_rq events of tracefs,
biosnoop, strace -ttt -T -f, traces of Alibaba, Tencent CBS, MSR Cambridge, SYSTOR'17, SPC and
CloudPhysics, and other columns with --columns; packed with gzip, too.
More: docs/fidelity.md
Exit status: 0 faithful to 80 % or more; 1 unlike; 2 cannot tell; 3 an error")]
pub(crate) struct FidelityArgs {
    /// Trace or recording of the load that is to be copied
    #[arg(value_name = "ORIGINAL")]
    original: PathBuf,
    /// Trace or recording of its copy
    #[arg(value_name = "REPLAY")]
    replay: PathBuf,
    /// REPLAY plays the I/Os of ORIGINAL at their moments: kept time and order count, too
    #[arg(long)]
    timed: bool,
    /// I/Os of recordings that have both: system calls, or those of the block layer
    #[arg(long, value_enum, value_name = "LEVEL")]
    level: Option<LevelWord>,
    /// Columns of texts in no known format, like time:us,offset:sectors,size,op
    #[arg(long, value_name = "LIST", value_parser = columns)]
    columns: Option<Columns>,
    #[command(flatten)]
    written: OutputArgs,
}

/// A level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LevelWord {
    /// System calls
    Call,
    /// Block layer
    Device,
}

fn columns(text: &str) -> Result<Columns, ColumnsError> {
    Columns::parse(text)
}

/// Exit status after an error. 1 and 2 are answers.
pub(crate) const ERROR: u8 = 3;

/// A trace with its facts.
struct Named {
    path: PathBuf,
    format: &'static str,
    level: Option<Level>,
    facts: SideFacts,
    /// Latencies at p50 and p99 in ns, and the mean number in flight, if they are known.
    outcome: [Option<f64>; 3],
}

/// All that is shown.
struct Compared {
    sides: [Named; 2],
    found: Fidelity,
    pairs: Option<Pairs>,
    is_timed: bool,
}

/// Compares and prints.
pub(crate) fn run(args: &FidelityArgs) -> Result<u8, Failure> {
    answered(args).map_err(|failure| failure.with_status(ERROR))
}

fn answered(args: &FidelityArgs) -> Result<u8, Failure> {
    let mut out = args.written.open()?;
    let compared = compare(args)?;
    if args.written.streams.json {
        out.write(&shown::document(&compared)?)?;
    } else {
        out.write(&printable::lines(&shown::text(&compared, args.written.streams.quiet)))?;
    }
    Ok(match compared.found.answer {
        Answer::Faithful(_) => 0,
        Answer::Unlike(_) => 1,
        Answer::CannotTell(_) => 2,
    })
}

fn compare(args: &FidelityArgs) -> Result<Compared, Failure> {
    let level = args.level.map(|level| if level == LevelWord::Call { Level::Call } else { Level::Device });
    let options = Options { columns: args.columns.clone(), level };
    let paths = [&args.original, &args.replay];
    let [first, second] = paths.map(|path| look(path, &options, args.written.streams.verbosity()));
    let [first, second] = [first?, second?];
    if options.columns.is_some() && first.format != shown::COLUMNS && second.format != shown::COLUMNS {
        return Err(Failure::new("--columns is for texts, and both files state their columns"));
    }
    let ruler = Ruler::of(&first.facts.extent, &second.facts.extent);
    let mut original = Halved::new(ruler, first.facts.extent.ios);
    each(&args.original, &options, |io| original.add(io))?;
    original.finish();
    let mut replay = Counts::new(ruler);
    each(&args.replay, &options, |io| replay.add(io))?;
    replay.finish();
    let sides = [first, second];
    let has_order = sides.iter().all(|side| side.facts.extent.has_ends && side.facts.extent.has_threads);
    let pairs = (args.timed || has_order).then(|| paired(paths, &options)).transpose()?;
    let facts = [sides[0].facts, sides[1].facts];
    let compared = Sides { facts, original: &original, replay: &replay, pairs, is_replay: args.timed };
    let found = fidelity(&compared);
    let outcome = |counts: &Counts| [counts.latency(0.5), counts.latency(0.99), counts.depth()];
    let outcomes = [outcome(&original.all), outcome(&replay)];
    let mut outcomes = outcomes.into_iter();
    let sides = sides.map(|side| Named { outcome: outcomes.next().unwrap_or_default(), ..side });
    Ok(Compared { sides, found, pairs, is_timed: args.timed })
}

fn open(path: &Path, options: &Options) -> Result<Reader<'static>, Failure> {
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(Failure::at(path, "is not a file, and a trace is read more than once; write it to a file"));
    }
    Reader::open(path, options).map_err(|error| Failure::new(error.to_string()))
}

fn next(reader: &mut Reader<'_>) -> Result<Option<TraceIo>, Failure> {
    reader.next().map_err(|error| Failure::new(error.to_string()))
}

fn each(path: &Path, options: &Options, mut add: impl FnMut(&TraceIo)) -> Result<Reader<'static>, Failure> {
    let mut reader = open(path, options)?;
    while let Some(io) = next(&mut reader)? {
        add(&io);
    }
    Ok(reader)
}

/// The first look at a trace, and remarks on it.
fn look(path: &Path, options: &Options, verbosity: Verbosity) -> Result<Named, Failure> {
    let mut extent = Extent::default();
    let reader = each(path, options, |io| extent.add(io))?;
    if extent.ios == 0 {
        let other = if reader.others() > 0 { "; it has some of the other level: --level" } else { "" };
        return Err(Failure::at(path, format!("has no I/O{other}")));
    }
    let coarse_tick = reader.clock().and_then(|clock| clock.coarse_tick());
    let remark = |what: String| Failure::at(path, what).remark(verbosity);
    match coarse_tick {
        Some(Nanos::MAX) => remark("all its moments are equal: nothing is known of arrivals".to_owned()),
        Some(tick) => remark(format!(
            "its moments are multiples of {}: nothing is known of arrivals below that, and they are spread evenly",
            time(tick.as_f64())
        )),
        None => {}
    }
    let count = |number: u64| grouped(measure::float(number));
    if reader.late() > 0 {
        let late = count(reader.late());
        remark(format!("{late} I/Os are far behind later ones, and are taken as if they began with those"));
    }
    if reader.others() > 0 {
        remark(format!("{} I/Os of the other level are left out (--level)", count(reader.others())));
    }
    let (format, level, lost) = (reader.format(), reader.level(), reader.lost());
    let facts = SideFacts { extent, coarse_tick, lost };
    Ok(Named { path: path.to_owned(), format, level, facts, outcome: [None; 3] })
}

fn paired(paths: [&PathBuf; 2], options: &Options) -> Result<Pairs, Failure> {
    let [mut original, mut replay] = [open(paths[0], options)?, open(paths[1], options)?];
    pairs(|side| next(if side == Side::Original { &mut original } else { &mut replay }))
}

/// The words for a format and its level.
fn kind(side: &Named) -> String {
    match side.level {
        Some(level) => format!("{}, level {}", side.format, level.name()),
        None => side.format.to_owned(),
    }
}

/// Why the answer is not known, for people.
fn reasons(compared: &Compared) -> String {
    use analysis::fidelity::{FEWEST_IOS, MOST_LOST, NoAnswer};
    let Answer::CannotTell(reasons) = &compared.found.answer else { return String::new() };
    let name = |side: Side| if side == Side::Original { "the original" } else { "the replay" };
    let count = |number: u64| grouped(measure::float(number));
    let words = reasons.iter().map(|reason| match reason {
        NoAnswer::FewIos(side, ios) => {
            format!("{} has {} I/Os, and {} are needed", name(*side), count(*ios), count(FEWEST_IOS))
        }
        NoAnswer::LostEvents(side, lost) => {
            format!("{} lost {} of its events, above {}", name(*side), percent(*lost), percent(MOST_LOST))
        }
        NoAnswer::NoReplay(share) => {
            format!("the replay has {} of the I/Os of the original in their order: leave --timed out", percent(*share))
        }
        NoAnswer::NoDistance => "no distance is known".to_owned(),
    });
    listed(&words.collect::<Vec<_>>())
}
