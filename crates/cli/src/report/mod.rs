//! `plumb report` and `plumb plot`: convert results to charts and pages.
//!
//! Owns options, files and messages. Leaves content and drawing to the crate `report`.

mod place;
pub(crate) mod plot;

use crate::failure::Failure;
use crate::output::Output;
use analysis::report_card::{self, PROFILES, Profile};
use clap::ValueEnum;
use place::Form;
#[cfg(feature = "pdf")]
use report::page::pdf_of;
use report::page::{DrawingStyle, Page, Picture, sheet};
use report::sources::{PageRequest, Source, TARGET_NS};
use report::{ChartEngine, Scale, Theme};
use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Exit status if a part of the input could not be read.
const PARTIAL: u8 = 3;

/// Help text of `--output`.
const WHERE: &str = if cfg!(feature = "pdf") {
    "Where it goes; .html, .svg, .png or .pdf"
} else {
    "Where it goes; .html, .svg or .png (.pdf is not in this build: feature `pdf`)"
};

/// Make a report of results: pictures, checks and all numbers in one file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb report plumb-survey-001.json -o report.html
  plumb report before.json after.json -o compare.html    two systems over each other
  plumb report users-*.json -o sweep.html                runs of fio with rising numjobs as one sweep
  plumb report data_ssd.csv -o ssd.png                   all pictures as one image
  plumb report plumb-survey-001.json -o report.pdf       on paper: a page per section

RESULT is anything that plumb parse reads: plumb's own results, fio's reports, JSON and logs, tables, iozone.
The page works without a network. A file that plumb did not make is never overwritten.
Exit status: 0 all was read, 3 a part was not, 1 there is no report.")]
pub(crate) struct Args {
    /// Results, as for plumb parse
    #[arg(required = true, value_name = "RESULT")]
    files: Vec<PathBuf>,
    #[arg(help = WHERE, short, long, value_name = "FILE", default_value = "plumb-report.html")]
    output: PathBuf,
    #[command(flatten)]
    request: Wanted,
}

/// Options that both commands share.
#[derive(Debug, clap::Args)]
pub(crate) struct Wanted {
    /// The heading
    #[arg(long)]
    title: Option<String>,
    /// The latency to stay under, like 10ms or 250us
    #[arg(long, value_parser = latency, value_name = "TIME")]
    target: Option<f64>,
    /// Whose bounds grade the report card: oracle-2012, ssd-2026 or nvme-2026
    #[arg(long, default_value = "oracle-2012")]
    profile: String,
    /// Colours of .svg and .png (a page follows its reader)
    #[arg(long, value_enum, default_value_t = Colours::Light)]
    theme: Colours,
    /// How .svg and .png spread latencies
    #[arg(long, value_enum, default_value_t = Spread::Log)]
    axis: Spread,
    /// Pixels of .png for each of the drawing
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
enum Spread {
    /// Each factor of ten as long as the other
    Log,
    /// From 0
    Linear,
}

impl Wanted {
    fn profile(&self) -> Result<&'static Profile, Failure> {
        report_card::profile(&self.profile).ok_or_else(|| {
            let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
            Failure::new(format!("--profile {} is not known; there are {}", self.profile, known.join(", ")))
        })
    }

    fn request(&self) -> Result<PageRequest, Failure> {
        let target_ns = self.target.unwrap_or(TARGET_NS);
        Ok(PageRequest { title: self.title.clone(), target_ns, ..request(self.profile()?) })
    }

    fn style(&self) -> DrawingStyle {
        DrawingStyle {
            theme: if self.theme == Colours::Dark { Theme::Dark } else { Theme::Light },
            scale: if self.axis == Spread::Linear { Scale::Linear } else { Scale::Log },
            title: self.title.clone(),
            ..DrawingStyle::default()
        }
    }
}

/// The settings of a page without options.
fn request(profile: &'static Profile) -> PageRequest {
    let now = jiff::Timestamp::now();
    PageRequest {
        title: None,
        target_ns: TARGET_NS,
        profile,
        made_by: program(),
        made_at: now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    }
}

/// Name and version of the program, for the page.
fn program() -> String {
    format!("plumb {}", env!("CARGO_PKG_VERSION"))
}

/// Reads results and writes a report about them.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let form = Form::of(&args.output)?;
    let request = args.request.request()?;
    // Check the destination before anything is read or drawn.
    place::check(&args.output)?;
    let (sources, status) = read(&args.files)?;
    let page = report::sources::page(&sources, &request);
    let pictures: Vec<&Picture> = page.pictures.iter().collect();
    write(&args.output, form, &page, &pictures, &args.request.style(), args.request.scale, Paper::Report)?;
    Output::stdout().write(&formats::printable::lines(&format!("Report: {}\n", args.output.display())))?;
    Ok(status)
}

/// After a survey: writes a page next to its result. Returns the line that names it, preceded by a small text chart if
/// standard output is a terminal.
///
/// The result has been saved already, so a failure here does not fail the survey: the line reports it instead.
pub(crate) fn after_survey(result: &Path) -> String {
    let html = result.with_extension("html");
    let made = page_of(result, &html);
    let line = match &made {
        Ok(_) => format!("Report: {}\n", html.display()),
        Err(failure) => format!("No report: {}\n", failure.message()),
    };
    let sketch = made.ok().flatten().filter(|_| std::io::stdout().is_terminal());
    sketch.map(|sketch| format!("{sketch}\n")).unwrap_or_default() + &line
}

/// Writes the page of one result. Returns its first sweep as a text chart.
fn page_of(result: &Path, html: &Path) -> Result<Option<String>, Failure> {
    let profile = PROFILES.first().ok_or_else(|| Failure::new("there is no profile"))?;
    let request = request(profile);
    place::check(html)?;
    let (sources, _) = read(&[result.to_owned()])?;
    let page = report::sources::page(&sources, &request);
    let pictures: Vec<&Picture> = page.pictures.iter().collect();
    write(html, Form::Html, &page, &pictures, &DrawingStyle::default(), 1.0, Paper::Report)?;
    Ok(report::sources::sketches(&sources, &request).into_iter().next())
}

/// Checks that charts can be written to this path, by format and existing file.
pub(crate) fn place_for(path: &Path) -> Result<(), Failure> {
    Form::of(path)?;
    place::check(path)
}

/// Draws the charts of a text that was printed in this run.
pub(crate) fn of_text(name: &str, text: &[u8], path: &Path) -> Result<(), Failure> {
    let form = Form::of(path)?;
    let profile = PROFILES.first().ok_or_else(|| Failure::new("there is no profile"))?;
    let request = request(profile);
    place::check(path)?;
    let source = Source::read(name, text).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    let page = report::sources::page(&[source], &request);
    let pictures: Vec<&Picture> = page.pictures.iter().collect();
    write(path, form, &page, &pictures, &DrawingStyle::default(), 1.0, Paper::Plates)
}

/// Reads the files. One that cannot be read or contains no results is reported on standard error; it is an error if
/// none contains results.
fn read(files: &[PathBuf]) -> Result<(Vec<Source>, u8), Failure> {
    let mut sources: Vec<Source> = Vec::new();
    let mut status = 0;
    let mut tell = |failure: Failure| {
        failure.report(&mut std::io::stderr());
        status = PARTIAL;
    };
    for path in files {
        match source(path) {
            Ok(source) => {
                source.remarks.iter().for_each(|remark| tell(Failure::new(remark.clone())));
                if source.is_empty() {
                    let what = "nothing found that can be drawn: no result of plumb, fio, iozone or iostat";
                    tell(Failure::new(format!("{}: {what}", path.display())));
                } else {
                    sources.push(source);
                }
            }
            Err(failure) => tell(failure),
        }
    }
    apart(&mut sources);
    if sources.is_empty() {
        return Err(Failure::new("no result was found in these files; what works is anything that plumb parse reads"));
    }
    Ok((sources, status))
}

fn source(path: &Path) -> Result<Source, Failure> {
    let name = path.to_string_lossy();
    let failed = |error: std::io::Error| Failure::new(format!("{name}: cannot be read: {error}"));
    if path == Path::new("-") {
        return Source::read("standard input", std::io::stdin()).map_err(failed);
    }
    Source::read(&name, File::open(path).map_err(failed)?).map_err(failed)
}

/// Adds numbers to results with the same name.
fn apart(sources: &mut [Source]) {
    let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    for (at, source) in sources.iter_mut().enumerate() {
        let twins = names.iter().filter(|name| **name == source.name).count();
        if twins > 1 {
            let number = names[..=at].iter().filter(|name| **name == source.name).count();
            source.name = format!("{} ({number})", source.name);
        }
    }
}

/// Draws the charts and writes the file.
fn write(
    path: &Path,
    form: Form,
    page: &Page,
    pictures: &[&Picture],
    style: &DrawingStyle,
    scale: f32,
    paper: Paper,
) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    let engine = ChartEngine::new().map_err(|error| failed(&error))?;
    let bytes = if form == Form::Html {
        page.html(&engine).map_err(|error| failed(&error))?.into_bytes()
    } else {
        if pictures.is_empty() && (form != Form::Pdf || paper == Paper::Plates) {
            return Err(failed(&"these results allow no picture; an .html or .pdf report has their numbers"));
        }
        #[cfg(feature = "pdf")]
        if form == Form::Pdf {
            let made = paper.write(&engine, page, pictures, style).map_err(|error| failed(&error))?;
            return place::write(path, &report::mark_pdf(&made, &page.made_by));
        }
        let svg = sheet(&engine, pictures, style).map_err(|error| failed(&error))?;
        drop(engine);
        match form {
            Form::Png => {
                let png = report::png(&svg, scale).map_err(|error| failed(&error))?;
                report::mark_png(&png, &page.made_by)
            }
            _ => report::mark_svg(&svg, &page.made_by).into_bytes(),
        }
    };
    place::write(path, &bytes)
}

/// Content of a PDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paper {
    /// The whole report: A4, one section per page.
    Report,
    /// The charts, one per page, each page as large as its chart.
    Plates,
}

#[cfg(feature = "pdf")]
impl Paper {
    fn write(
        self,
        engine: &ChartEngine,
        page: &Page,
        pictures: &[&Picture],
        style: &DrawingStyle,
    ) -> Result<Vec<u8>, report::page::PaperError> {
        match self {
            Paper::Report => page.pdf(engine),
            Paper::Plates => pdf_of(engine, pictures, style, &page.title, &page.made_by),
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
    fn two_results_of_one_name_get_numbers() {
        let named = |name: &str| Source { name: name.to_owned(), ..Source::default() };
        let mut sources = [named("a"), named("b"), named("a")];
        apart(&mut sources);
        assert_eq!(sources.map(|source| source.name), ["a (1)", "b", "a (2)"]);
    }
}
