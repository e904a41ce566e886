//! `plumb plot`: one kind of chart of any result, written to a file or drawn on the terminal.

use super::ChartOptions;
use crate::drawing::{ChartFile, PdfContent, read, svg_with};
use crate::failure::Failure;
use crate::output::{Output, Verbosity};
use crate::streams::{self, Streams, is_stdout};
use crate::width;
use formats::printable;
use report::CHARTS;
use report::page::{DrawingStyle, Picture};
use std::path::PathBuf;

/// Draw a chart of results, in a file or as text
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb plot data_ssd.csv                                 as text, on the terminal
  plumb plot --list data_ssd.csv                          list the charts of these results
  plumb plot data_ssd.csv --chart sweep:2 -o sweep.png    the second sweep
  plumb plot run.json --chart cdf --theme dark --target 2ms -o latency.svg
  plumb plot A= a-*.json B= b-*.json -o disks.svg         disks A and B over each other
  plumb plot bw_bw.1.log iops_iops.1.log --chart series -o time.png
  plumb plot run.json --chart cdf -o - | rsvg-convert -o cdf.png
  plumb plot --json run.json                              the data of the pictures

RESULT is a file that plumb parse can read. A file that plumb did not make is never overwritten.
More: docs/pictures.md
Exit status: 0; 1 if nothing was drawn; 3 if a part could not be read")]
pub(crate) struct PlotArgs {
    /// Files with results, as for plumb parse, NAME=FILE to name their system; - is standard input
    #[arg(value_name = "RESULT", required_unless_present = "list")]
    files: Vec<PathBuf>,
    /// List the charts of these results; without results, all kinds of charts
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Chart to draw: all of this name, or with :N only the Nth [default: the first of --list]
    #[arg(long, value_name = "NAME[:N]")]
    chart: Option<String>,
    /// Width in pixels [default: by chart]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(200..=8000))]
    width: Option<u32>,
    /// Height of each chart in pixels [default: by chart]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(150..=8000))]
    height: Option<u32>,
    #[arg(help = crate::drawing::DRAWN, short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
    #[command(flatten)]
    charts: ChartOptions,
    #[command(flatten)]
    streams: Streams,
}

pub(crate) fn run(args: &PlotArgs) -> Result<u8, Failure> {
    let verbosity = args.streams.verbosity();
    let to_file = args.output.as_deref().filter(|path| !is_stdout(path));
    let mut file = to_file.map(|path| ChartFile::new(path, PdfContent::Charts)).transpose()?;
    if let Some(chart) = &args.chart {
        known(chart)?;
    }
    if args.list && args.files.is_empty() {
        let text: String = CHARTS.iter().map(|chart| format!("{:<9} {}\n", chart.name, chart.title)).collect();
        Output::stdout().write(&text)?;
        return Ok(0);
    }
    let request = args.charts.request()?;
    let (sources, status) = read(&args.files, verbosity)?;
    if args.output.is_none() && !args.list && !args.streams.json {
        return in_letters(&sources, &request, args).map(|()| status);
    }
    let mut page = report::sources::page(&sources, &request);
    print_remarks(&report::sources::left_out(&sources, &request), verbosity);
    if args.list {
        Output::stdout().write(&listed(&page.pictures))?;
        return Ok(status);
    }
    let all = page.pictures.len();
    if !args.streams.json || args.chart.is_some() {
        page.pictures = chosen(page.pictures, args.chart.as_deref())?;
    }
    if args.streams.json {
        Output::stdout().write(&streams::document("plot", serde_json::json!({ "pictures": page.pictures }))?)?;
        return Ok(status);
    }
    if args.chart.is_none() && all > 1 {
        Failure::new(format!("the first of {all} pictures is drawn; --list names all, --chart NAME draws others"))
            .remark(verbosity);
    }
    let style = DrawingStyle { width: args.width, height: args.height, ..args.charts.style() };
    match &mut file {
        Some(file) => {
            (file.style, file.scale) = (style, args.charts.scale);
            let pages = file.write(&page)?;
            if pages.len() > 1 {
                Failure::new(format!("the pictures are in {} pages: {}", pages.len(), super::listed(&pages)))
                    .remark(verbosity);
            }
        }
        None => Output::stdout().write(&svg_with(&page, &style)?)?,
    }
    Ok(status)
}

/// Draws sweeps, over one another and one by one, and the distribution of logs as text; other charts need a file.
fn in_letters(
    sources: &[report::sources::Source],
    request: &report::sources::PageRequest,
    args: &PlotArgs,
) -> Result<(), Failure> {
    let all = report::sources::sketches(sources, request, width::of_drawing());
    let asked = args.chart.as_deref().map(asked);
    let mut sketches = match asked {
        None => [all.overlays, all.sweeps, vec![all.distribution]].concat(),
        Some(("overlay", _)) => all.overlays,
        Some(("sweep", _)) => all.sweeps,
        Some((name, _)) => {
            return Err(Failure::new(format!("--chart {name} is not drawn in letters; name a file: -o {name}.svg")));
        }
    };
    if let Some(number) = asked.and_then(|(_, number)| number) {
        sketches = sketches.into_iter().skip(number - 1).take(1).collect();
    }
    sketches.retain(|sketch| !sketch.is_empty());
    if sketches.is_empty() {
        return Err(Failure::new(
            "these results have no such sweep to draw in letters; --list names what they allow, -o FILE.svg draws it",
        ));
    }
    Output::stdout().write(&sketches.join("\n"))?;
    print_remarks(&all.remarks, args.streams.verbosity());
    Ok(())
}

/// Names on standard error the results that no picture holds.
fn print_remarks(remarks: &[String], verbosity: Verbosity) {
    remarks.iter().for_each(|remark| Failure::new(remark.clone()).remark(verbosity));
}

/// Splits `sweep:2` into name and number.
fn asked(chart: &str) -> (&str, Option<usize>) {
    match chart.rsplit_once(':') {
        Some((name, number)) => (name, number.parse().ok().filter(|&number| number > 0)),
        None => (chart, None),
    }
}

fn known(chart: &str) -> Result<(), Failure> {
    let (name, number) = asked(chart);
    let names: Vec<&str> = CHARTS.iter().map(|chart| chart.name).collect();
    if !names.contains(&name) {
        return Err(Failure::new(format!("--chart {chart}: no chart is named {name}; there are {}", names.join(", "))));
    }
    if chart.contains(':') && number.is_none() {
        return Err(Failure::new(format!("--chart {chart}: after the colon stands a number from 1, as in {name}:2")));
    }
    Ok(())
}

/// One line per chart, with the value of `--chart` that selects it.
fn listed(pictures: &[Picture]) -> String {
    let mut text = String::new();
    for (at, picture) in pictures.iter().enumerate() {
        let name = picture.chart.name;
        let number = pictures[..=at].iter().filter(|other| other.chart.name == name).count();
        text.push_str(&format!("{:<12} {}\n", format!("{name}:{number}"), printable::line(&picture.title)));
    }
    if text.is_empty() {
        text.push_str("These results allow no picture; plumb report -o FILE.html has their numbers.\n");
    }
    text
}

/// The selected charts: the first one by default, all with a name, or one by number.
fn chosen(pictures: Vec<Picture>, chart: Option<&str>) -> Result<Vec<Picture>, Failure> {
    let Some(chart) = chart else {
        return Ok(pictures.into_iter().take(1).collect());
    };
    let (name, number) = asked(chart);
    let mut same: Vec<Picture> = pictures.into_iter().filter(|picture| picture.chart.name == name).collect();
    let count = same.len();
    if let Some(number) = number {
        same = same.into_iter().skip(number - 1).take(1).collect();
    }
    if same.is_empty() {
        return Err(Failure::new(format!(
            "--chart {chart}: these results allow {count} pictures of {name}; --list names what they allow"
        )));
    }
    Ok(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_asked_for_by_name_and_number() {
        assert_eq!(asked("sweep:2"), ("sweep", Some(2)));
        assert_eq!(asked("sweep"), ("sweep", None));
        for wrong in ["pie", "sweep:0", "sweep:x", "sweep:"] {
            assert!(known(wrong).is_err(), "{wrong}");
        }
        assert!(known("card").is_ok() && known("sweep:3").is_ok());
    }
}
