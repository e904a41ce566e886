//! `plumb report` and `plumb plot`: convert results to charts and pages.
//!
//! Owns options, files and messages. Leaves content and drawing to the crate `report`.

pub(crate) mod plot;

use crate::drawing::{ChartFile, PdfContent, plain, read};
use crate::failure::Failure;
use crate::output::Output;
use crate::streams::{self, Streams, is_stdout};
use clap::ValueEnum;
use report::page::DrawingStyle;
use report::sources::PageRequest;
use report::{ChartEngine, Scale, Theme};
use std::path::PathBuf;

/// Help text of `--output`.
const PAGE_OR_STDOUT: &str = if cfg!(feature = "pdf") {
    "File to write: .html, .svg, .png or .pdf; - is standard output, for a page"
} else {
    "File to write: .html, .svg or .png (.pdf is not in this build: feature `pdf`); - is standard output, for a page"
};

/// Write a report of results: charts, checks and all numbers in one file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb report plumb-survey-001.json -o report.html
  plumb report before.json after.json -o compare.html    two systems in the same charts
  plumb report A= a-*.json B= b-*.json -o disks.html     a name is the system of the files after it
  plumb report users-*.json -o sweep.html                fio runs with rising numjobs, as a sweep
  plumb report data_ssd.csv -o ssd.png                   all charts as one image
  plumb report plumb-survey-001.json -o report.pdf       for paper: a page per section
  plumb report plumb-survey-001.json -o - | ssh web 'cat >disk.html'
  plumb report --json plumb-survey-001.json              what the page holds

RESULT is a file that plumb parse can read: results of plumb, text, JSON and logs of fio, tables,
text of iozone.
The page works without a network. A file that plumb did not make is never overwritten.
More: docs/report.md
Exit status: 0; 1 if no report was written; 3 if a part could not be read")]
pub(crate) struct ReportArgs {
    /// Files with results, as for plumb parse, NAME=FILE to name their system; - is standard input
    #[arg(required = true, value_name = "RESULT")]
    files: Vec<PathBuf>,
    #[arg(help = PAGE_OR_STDOUT, short, long, value_name = "FILE", default_value = "plumb-report.html", conflicts_with = "json")]
    output: PathBuf,
    #[command(flatten)]
    charts: ChartOptions,
    #[command(flatten)]
    streams: Streams,
}

/// Options that both commands share.
#[derive(Debug, clap::Args)]
pub(crate) struct ChartOptions {
    /// Title of the report [default: from the results]
    #[arg(long)]
    title: Option<String>,
    /// Latency that is marked as the target, like 10ms or 250us [default: none]
    #[arg(long, value_parser = latency, value_name = "TIME")]
    target: Option<f64>,
    /// Profile with the bounds of the grades: oracle-2012, ssd-2026 or nvme-2026 [default: by the disk]
    #[arg(long)]
    profile: Option<String>,
    /// Colours of .svg and .png (.html uses the setting of the browser)
    #[arg(long, value_enum, default_value_t = Colours::Light)]
    theme: Colours,
    /// Scale of the latency axis in .svg and .png
    #[arg(long, value_enum, default_value_t = AxisScale::Log)]
    axis: AxisScale,
    /// Enlargement of .png
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR")]
    scale: f32,
}

/// Colour theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colours {
    /// Dark on white
    Light,
    /// Light on black
    Dark,
}

/// Scale of the latency axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AxisScale {
    /// Logarithmic
    Log,
    /// Linear, from 0
    Linear,
}

impl ChartOptions {
    fn request(&self) -> Result<PageRequest, Failure> {
        let profile = self.profile.as_deref().map(crate::input::profile_of_grades).transpose()?;
        Ok(PageRequest { title: self.title.clone(), target_ns: self.target, profile, ..plain() })
    }

    fn style(&self) -> DrawingStyle {
        DrawingStyle {
            theme: if self.theme == Colours::Dark { Theme::Dark } else { Theme::Light },
            scale: if self.axis == AxisScale::Linear { Scale::Linear } else { Scale::Log },
            title: self.title.clone(),
            ..DrawingStyle::default()
        }
    }
}

/// Reads results and writes a report about them.
pub(crate) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let request = args.charts.request()?;
    if args.streams.json {
        let (sources, status) = read(&args.files, args.streams.verbosity())?;
        let page = report::sources::page(&sources, &request);
        Output::stdout().write(&streams::document("report", serde_json::to_value(&page)?)?)?;
        return Ok(status);
    }
    if is_stdout(&args.output) {
        let (sources, status) = read(&args.files, args.streams.verbosity())?;
        let engine = ChartEngine::new().map_err(|error| Failure::new(error.to_string()))?;
        let html = report::sources::page(&sources, &request).html(&engine);
        Output::stdout().write(&html.map_err(|error| Failure::new(error.to_string()))?)?;
        return Ok(status);
    }
    // Check the destination before anything is read or drawn.
    let mut file = ChartFile::new(&args.output, PdfContent::Report)?;
    (file.style, file.scale) = (args.charts.style(), args.charts.scale);
    let (sources, status) = read(&args.files, args.streams.verbosity())?;
    let pages = file.write(&report::sources::page(&sources, &request))?;
    if !args.streams.quiet {
        Output::stdout().write(&formats::printable::lines(&format!("Report: {}\n", listed(&pages))))?;
    }
    Ok(status)
}

/// The names of pages in a message.
fn listed(pages: &[PathBuf]) -> String {
    match pages {
        [] => String::new(),
        [one] => one.display().to_string(),
        [first, last] => format!("{} and {}", first.display(), last.display()),
        [first, second, .., last] => {
            format!("{}, {} to {}", first.display(), second.display(), last.display())
        }
    }
}

/// Parses a latency such as `10ms`. Returns nanoseconds.
fn latency(text: &str) -> Result<f64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_alphabetic());
    let unit = match &text[digits.len()..] {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err(format!("{text} is not a time; write it like 10ms, 250us or 2s")),
    };
    match digits.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value * unit),
        _ => Err(format!("{text} is not a time above 0; write it like 10ms, 250us or 2s")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_time_with_its_unit() {
        for (text, expected) in
            [("10ms", Some(10e6)), ("250us", Some(250e3)), ("1.5s", Some(1.5e9)), ("2µs", Some(2e3))]
        {
            assert_eq!(latency(text).ok(), expected, "{text}");
        }
        for text in ["", "10", "ms", "-1ms", "0s", "1 year", "NaNs", "infs"] {
            assert!(latency(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pages_are_named_from_the_first_to_the_last() {
        let pages = ["d/a.b.png", "d/a.b-2.png", "d/a.b-3.png", "d/a.b-4.png"].map(PathBuf::from);
        assert_eq!(listed(&pages[..1]), "d/a.b.png");
        assert_eq!(listed(&pages[..2]), "d/a.b.png and d/a.b-2.png");
        assert_eq!(listed(&pages), "d/a.b.png, d/a.b-2.png to d/a.b-4.png");
    }
}
