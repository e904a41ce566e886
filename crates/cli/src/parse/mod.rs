//! `plumb parse`: reads all output formats of fio, iozone, iostat and their scripts, and prints a table or converts
//! them.
//!
//! Owns files, options, messages and exit status. Leaves reading and writing of formats to `formats`.

mod views;

use crate::failure::Failure;
use crate::input::{self, MOST_MESSAGES, NamedFile, log_kind};
use crate::streams::OutputArgs;
use clap::ValueEnum;
use formats::stream::{Event, Parser, Repeats};
use formats::sweep::{ColumnNames, Detail, LogKind};
use model::reading::{Content, Reading};
use session::publish::of_result;
use std::path::{Path, PathBuf};
use views::{Names, View};

const CHUNK: usize = 256 * 1024;

/// Read the output of fio, iozone, iostat and fioparse.sh, of any version
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb parse *.out                     a table of all runs, as fioparse.sh shows it
  plumb parse -v -p run.txt             with histogram and percentiles
  plumb parse -l *.json                 with the time of each run and its file
  plumb parse A= a-*.json B= b-*.json   each name is the system of the files after it
  plumb parse -r -n lab run.txt >lab.r  R for fio_scripts: source(\"lab.r\") makes the data frame m
  plumb parse --format csv *.json >a.csv
  plumb parse --format parquet -o a.parquet old-logs/*
  ssh host cat run.log | plumb parse -

One file may contain several outputs among other text, quoted, indented or coloured.
Incomplete and damaged parts are reported with their lines on standard error.
More: docs/parse.md
Exit status: 0; 1 if nothing was found; 3 if a part could not be read")]
pub(crate) struct ParseArgs {
    /// Files to read, NAME=FILE to name their system; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Show the latency histogram (tables only)
    #[arg(short = 'v', long)]
    histogram: bool,
    /// Show percentiles of the completion latency, or of the total latency if only that has percentiles (tables only)
    #[arg(short, long)]
    percentiles: bool,
    /// Show the time at which each run ended, and its file (tables only)
    #[arg(short = 'l', long)]
    origins: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Table, conflicts_with = "json")]
    format: Format,
    /// R code as fioparse.sh -r writes it: the same as --format r --fio-scripts
    #[arg(short, conflicts_with_all = ["format", "json"])]
    r: bool,
    /// Name the columns as fio_scripts do, like MB and lat (CSV and R) [default: with units, like mib_per_second and
    /// mean_ms]
    #[arg(long)]
    fio_scripts: bool,
    /// Name of the test in R code, the variable testtype [default: none]
    #[arg(short, long)]
    name: Option<String>,
    #[command(flatten)]
    written: OutputArgs,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Table,
    /// R code that makes the data frame m
    R,
    /// Comma-separated values with a line of names
    Csv,
    /// Everything that was read, as JSON
    Json,
    #[cfg_attr(feature = "parquet", doc = "A Parquet file")]
    #[cfg_attr(not(feature = "parquet"), doc = "A Parquet file (not in this build: feature `parquet`)")]
    Parquet,
    #[cfg_attr(feature = "workbook", doc = "A workbook of a spreadsheet")]
    #[cfg_attr(not(feature = "workbook"), doc = "A workbook of a spreadsheet (not in this build: feature `workbook`)")]
    Xlsx,
    /// A Markdown table
    Markdown,
    /// OpenMetrics with time stamps, of results that have intervals: for promtool's backfill
    Openmetrics,
}

/// Counts of everything read.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    readings: usize,
    damages: usize,
    empty_files: usize,
}

/// Reads the files and prints their content.
pub(crate) fn run(args: &ParseArgs) -> Result<u8, Failure> {
    let files = input::named(&args.files);
    if args.format == Format::Openmetrics {
        return backfill(&files, &args.written);
    }
    let (format, detail) = args.shape(&files);
    let mut view = View::begin(format, detail, &args.names(format)?, &args.written)?;
    let mut tally = Tally::default();
    for NamedFile { name, path } in &files {
        let before = tally.readings;
        let mut failed = None;
        let mut repeats = Repeats::default();
        let mut hint = None;
        let read = read_file(path, |event| {
            if failed.is_some() {
                return;
            }
            let taken = match event {
                Event::Repeated(repeated) => {
                    repeats.add(&repeated);
                    view.repeated(path, &repeated)
                }
                Event::Reading(reading) => {
                    tally.readings += 1;
                    hint = hint.or_else(|| hidden(&reading, log_kind(path), format, detail));
                    view.reading(path, name.as_deref(), &reading)
                }
                Event::Damage(damage) => {
                    tally.damages += 1;
                    if tally.damages <= MOST_MESSAGES {
                        input::print_damage(path, &damage);
                    }
                    view.damage(path, &damage)
                }
            };
            failed = taken.err();
        });
        if let Some(failure) = failed {
            return Err(failure);
        }
        input::print_repeats(path, &repeats, args.written.streams.verbosity());
        if let Some(hint) = hint {
            Failure::at(path, hint).remark(args.written.streams.verbosity());
        }
        match read {
            Err(failure) => {
                failure.print();
                tally.empty_files += 1;
            }
            Ok(()) if input::is_empty_log(path) => input::remark_empty_log(path, args.written.streams.verbosity()),
            Ok(()) if tally.readings == before => {
                Failure::at(path, "nothing found that fio, iozone or iostat print").print();
                tally.empty_files += 1;
            }
            Ok(()) => {}
        }
    }
    if tally.damages > MOST_MESSAGES {
        let more = tally.damages - MOST_MESSAGES;
        Failure::new(format!("{more} more damaged places; --format json lists all")).print();
    }
    view.end()?;
    Ok(input::status(tally.readings, tally.damages + tally.empty_files))
}

impl ParseArgs {
    /// The names in the output; refuses those of fio_scripts for formats that fio_scripts do not have.
    fn names(&self, format: Format) -> Result<Names<'_>, Failure> {
        let has_them = matches!(format, Format::R | Format::Csv);
        if self.fio_scripts && !has_them {
            return Err(Failure::new("--fio-scripts: only --format csv and --format r have names of fio_scripts"));
        }
        let is_asked = self.r || self.fio_scripts;
        let columns = if is_asked { ColumnNames::FioScripts } else { ColumnNames::Units };
        Ok(Names { test: self.name.as_deref(), columns })
    }

    /// The format and what it shows, of several systems or of one.
    fn shape(&self, files: &[NamedFile]) -> (Format, Detail) {
        let detail = Detail {
            buckets: self.histogram,
            percentiles: self.percentiles,
            systems: files.len() > 1,
            origins: self.origins,
            ..Detail::default()
        };
        let format = match self.written.streams.json {
            true => Format::Json,
            false if self.r => Format::R,
            false => self.format,
        };
        (format, detail)
    }
}

/// Says where the values of a log are that have no column in this format.
fn hidden(reading: &Reading, kind: Option<LogKind>, format: Format, detail: Detail) -> Option<&'static str> {
    let Content::Log(log) = &reading.found else { return None };
    match format {
        Format::Json => None,
        _ if !log.histograms && matches!(kind, Some(LogKind::Part) | None) => {
            Some("the columns are of total latency; --format json has the submission or completion latency of this log")
        }
        Format::Table | Format::Markdown if log.histograms && !detail.percentiles => {
            Some("a histogram log has percentiles only; -p shows them")
        }
        _ => None,
    }
}

/// Passes everything in a file to `sink`.
pub(crate) fn read_file(path: &Path, sink: impl FnMut(Event)) -> Result<(), Failure> {
    let mut source = input::open(path)?;
    let mut parser = Parser::new(sink);
    let mut chunk = vec![0; CHUNK];
    let read = loop {
        match source.read(&mut chunk) {
            Ok(0) => break Ok(()),
            Ok(length) => parser.feed(&chunk[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => break Err(input::unreadable(path, &error)),
        }
    };
    parser.finish();
    read
}

/// `--format openmetrics`: writes all results that have intervals, with their times. A file with one run is the run; of
/// several, each is `FILE:NUMBER`.
fn backfill(files: &[NamedFile], written: &OutputArgs) -> Result<u8, Failure> {
    let mut out = written.open()?;
    let (mut runs, mut damages) = (Vec::new(), 0);
    for NamedFile { name, path } in files {
        let (found, damaged) = input::read_results(path, written.streams.verbosity())?;
        damages += damaged;
        let shown = name.clone().unwrap_or_else(|| path.display().to_string());
        let is_one = found.len() == 1;
        for (number, located) in (1..).zip(&found) {
            let run = if is_one { shown.clone() } else { format!("{shown}:{number}") };
            match of_result(&run, &located.result) {
                Some(metrics) => runs.push(metrics),
                None => {
                    damages += 1;
                    let why = "has no intervals: only plumb fio --result, survey, knee and iozone --json write them";
                    Failure::new(format!("{run}: {} {why}", located.title)).print();
                }
            }
        }
    }
    if !runs.is_empty() {
        out.write(&formats::openmetrics::open_metrics(&runs))?;
    }
    Ok(input::status(runs.len(), damages))
}
