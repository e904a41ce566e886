//! `plumb report` and `plumb plot`: convert results to charts and pages.
//!
//! Owns options, files and messages. Leaves content and drawing to the crate `report`.

mod place;
pub(crate) mod plot;

use crate::failure::Failure;
use crate::input::{self, NamedFile, PARTIAL};
use crate::output::Output;
use crate::streams::{self, Streams, is_stdout};
use clap::ValueEnum;
use place::Form;
#[cfg(feature = "pdf")]
use report::page::pdf_of;
use report::page::{DrawingStyle, Page, Picture, sheet, sheets};
use report::sources::{PageRequest, Source};
use report::{ChartEngine, Scale, Theme};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Help text of `--output`.
const PAGE_OR_STDOUT: &str = if cfg!(feature = "pdf") {
    "File to write: .html, .svg, .png or .pdf; - is standard output, for a page"
} else {
    "File to write: .html, .svg or .png (.pdf is not in this build: feature `pdf`); - is standard output, for a page"
};

/// Help text of an `--output` that is a drawing.
pub(crate) const DRAWN: &str = if cfg!(feature = "pdf") {
    "File to write: .html, .svg, .png or .pdf; - is standard output, for a drawing as SVG"
} else {
    "File to write: .html, .svg or .png (.pdf is not in this build: feature `pdf`); - is standard output, for SVG"
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
    #[arg(long, value_enum, default_value_t = Spread::Log)]
    axis: Spread,
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
enum Spread {
    /// Logarithmic
    Log,
    /// Linear, from 0
    Linear,
}

impl ChartOptions {
    fn request(&self) -> Result<PageRequest, Failure> {
        Ok(PageRequest { title: self.title.clone(), target_ns: self.target, ..request(self.profile.as_deref())? })
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
fn request(profile: Option<&str>) -> Result<PageRequest, Failure> {
    Ok(PageRequest {
        title: None,
        target_ns: None,
        profile: profile.map(crate::grade::profile).transpose()?,
        made_by: crate::pages::MADE_BY.to_owned(),
        made_at: crate::pages::now(),
    })
}

/// Reads results and writes a report about them.
pub(crate) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    args.streams.apply();
    let request = args.charts.request()?;
    if args.streams.json {
        let (sources, status) = read(&args.files)?;
        let page = report::sources::page(&sources, &request);
        Output::stdout().write(&streams::document("report", serde_json::to_value(&page)?)?)?;
        return Ok(status);
    }
    if is_stdout(&args.output) {
        let (sources, status) = read(&args.files)?;
        let engine = ChartEngine::new().map_err(|error| Failure::new(error.to_string()))?;
        let html = report::sources::page(&sources, &request).html(&engine);
        Output::stdout().write(&html.map_err(|error| Failure::new(error.to_string()))?)?;
        return Ok(status);
    }
    // Check the destination before anything is read or drawn.
    let mut file = ChartFile::new(&args.output, PdfContent::Report)?;
    (file.style, file.scale) = (args.charts.style(), args.charts.scale);
    let (sources, status) = read(&args.files)?;
    let pages = file.write(&report::sources::page(&sources, &request))?;
    if !args.streams.quiet {
        Output::stdout().write(&formats::printable::lines(&format!("Report: {}\n", listed(&pages))))?;
    }
    Ok(status)
}

/// After a survey: writes a page next to its result. Returns the line that names it, preceded by a small text chart if
/// standard output is a terminal.
///
/// The result has been saved already, so a failure here does not fail the survey: the line reports it instead.
pub(crate) fn after_survey(result: &Path) -> String {
    let html = result.with_extension("html");
    match page_of(result, &html) {
        Err(failure) => format!("No report: {}\n", failure.message()),
        Ok(sketch) => {
            let sketch = sketch.filter(|_| std::io::stdout().is_terminal()).map(|sketch| sketch + "\n");
            format!("{}Report: {}\n", sketch.unwrap_or_default(), html.display())
        }
    }
}

/// Writes the page of one result. Returns its first sweep as a text chart.
fn page_of(result: &Path, html: &Path) -> Result<Option<String>, Failure> {
    let file = ChartFile::new(html, PdfContent::Report)?;
    let request = request(None)?;
    let (sources, _) = read(&[result.to_owned()])?;
    file.write(&report::sources::page(&sources, &request))?;
    Ok(report::sources::sketches(&sources, &request, crate::width::of_drawing()).sweeps.into_iter().next())
}

/// Checks that charts can be written to this path, by format and existing file.
pub(crate) fn check_output(path: &Path) -> Result<(), Failure> {
    ChartFile::new(path, PdfContent::Charts).map(|_| ())
}

/// Draws this page to a file.
pub(crate) fn drawn(path: &Path, page: &Page) -> Result<(), Failure> {
    ChartFile::new(path, PdfContent::Report)?.write(page).map(drop)
}

/// Draws this page as SVG.
pub(crate) fn svg_of(page: &Page) -> Result<String, Failure> {
    plot::svg_of(page, &DrawingStyle::default())
}

/// Draws the charts of a text that was printed in this run.
pub(crate) fn of_text(name: &str, text: &[u8], path: &Path) -> Result<(), Failure> {
    let file = ChartFile::new(path, PdfContent::Charts)?;
    let source = Source::read(name, text).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    file.write(&report::sources::page(&[source], &request(None)?)).map(drop)
}

/// Reads the files. One that cannot be read or contains no results is reported on standard error; it is an error if
/// none contains results.
fn read(files: &[PathBuf]) -> Result<(Vec<Source>, u8), Failure> {
    let mut sources: Vec<Source> = Vec::new();
    let named = input::named(files);
    let mut status = 0;
    let mut print = |failure: Failure| {
        failure.print();
        status = PARTIAL;
    };
    for (NamedFile { path, .. }, source) in named.iter().zip(sources_of(&named)) {
        match source {
            Ok(source) => {
                source.remarks.iter().for_each(|remark| print(Failure::new(remark.clone())));
                if source.is_empty() {
                    print(Failure::at(path, "no result of plumb, fio, iozone or iostat was found"));
                } else {
                    sources.push(source);
                }
            }
            Err(failure) => print(failure),
        }
    }
    distinguish_names(&mut sources);
    if sources.is_empty() {
        return Err(Failure::new("no result was found in these files; give files that plumb parse can read"));
    }
    Ok((sources, status))
}

/// Largest file, in bytes, of which several are read at a time: a reader may need ten times as much memory.
const MOST_AT_A_TIME: u64 = 8 << 20;

/// Reads the files, on all processors if none is large.
fn sources_of(files: &[NamedFile]) -> Vec<Result<Source, Failure>> {
    let is_small = |file: &NamedFile| file.path.metadata().is_ok_and(|found| found.len() <= MOST_AT_A_TIME);
    let read = |file: &NamedFile| source(&file.path, file.name.as_deref());
    if files.iter().all(is_small) { report::on_all_processors(files, read) } else { files.iter().map(read).collect() }
}

fn source(path: &Path, given: Option<&str>) -> Result<Source, Failure> {
    let name = if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
    let mut source = Source::read(&name, input::open(path)?).map_err(|error| input::unreadable(path, &error))?;
    source.given = given.map(str::to_owned);
    Ok(source)
}

/// Makes names of results distinct: surveys of one target are named by their files, the others get numbers.
fn distinguish_names(sources: &mut [Source]) {
    let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    for source in sources.iter_mut().filter(|source| source.is_survey) {
        if names.iter().filter(|name| **name == source.name).count() > 1 {
            let file = source.path.rsplit('/').next().unwrap_or(&source.path);
            source.name = file.strip_suffix(".json").unwrap_or(file).to_owned();
        }
    }
    let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    for (at, source) in sources.iter_mut().enumerate() {
        let twins = names.iter().filter(|name| **name == source.name).count();
        if twins > 1 {
            let number = names[..=at].iter().filter(|name| **name == source.name).count();
            source.name = format!("{} ({number})", source.name);
        }
    }
}

struct ChartFile<'a> {
    path: &'a Path,
    form: Form,
    content: PdfContent,
    style: DrawingStyle,
    /// Pixels of a PNG for each of the drawing.
    scale: f32,
}

impl<'a> ChartFile<'a> {
    /// Checks the format by the name and that the file may be written.
    fn new(path: &'a Path, content: PdfContent) -> Result<Self, Failure> {
        let form = Form::of(path)?;
        place::check(path)?;
        Ok(ChartFile { path, form, content, style: DrawingStyle::default(), scale: 1.0 })
    }

    /// Draws the charts and writes the file; returns its path, and those of further pages of a PNG.
    fn write(&self, page: &Page) -> Result<Vec<PathBuf>, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::at(self.path, error);
        let pictures: Vec<&Picture> = page.pictures.iter().collect();
        let is_report = self.form == Form::Html || (self.form == Form::Pdf && self.content == PdfContent::Report);
        if pictures.is_empty() && !is_report {
            return Err(failed(&"these results have no chart; an .html or .pdf report has their numbers"));
        }
        let engine = ChartEngine::new().map_err(|error| failed(&error))?;
        let svg = || sheet(&engine, &pictures, &self.style).map_err(|error| failed(&error));
        let bytes = match self.form {
            Form::Html => page.html(&engine).map_err(|error| failed(&error))?.into_bytes(),
            Form::Svg => report::mark_svg(&svg()?, &page.made_by).into_bytes(),
            Form::Png => return self.write_pages(&engine, &pictures, &page.made_by),
            #[cfg(feature = "pdf")]
            Form::Pdf => {
                let made = match self.content {
                    PdfContent::Report => page.pdf(&engine),
                    PdfContent::Charts => pdf_of(&engine, &pictures, &self.style, &page.title, &page.made_by),
                };
                report::mark_pdf(&made.map_err(|error| failed(&error))?, &page.made_by)
            }
            #[cfg(not(feature = "pdf"))]
            Form::Pdf => return crate::features::Feature::Pdf.require(&self.path.display().to_string()),
        };
        place::write(self.path, &bytes)?;
        Ok(vec![self.path.to_owned()])
    }

    /// Writes the charts as one image, or as several if one would be too large.
    fn write_pages(&self, engine: &ChartEngine, pictures: &[&Picture], made_by: &str) -> Result<Vec<PathBuf>, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::at(self.path, error);
        let limits = |width| report::most_high(width, self.scale);
        let sheets = sheets(engine, pictures, &self.style, limits).map_err(|error| failed(&error))?;
        let paths: Vec<PathBuf> = (1..=sheets.len()).map(|number| place::of_page(self.path, number)).collect();
        paths.iter().try_for_each(|path| place::check(path))?;
        let images = report::pngs(&sheets, self.scale).map_err(|error| failed(&error))?;
        for ((path, image), number) in paths.iter().zip(images).zip(1..) {
            place::write(path, &report::mark_png(&image, made_by, number))?;
        }
        place::remove_pages_after(self.path, paths.len()).iter().for_each(Failure::print);
        Ok(paths)
    }
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

/// Content of a PDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PdfContent {
    /// The whole report: A4, one section per page.
    Report,
    /// The charts, one per page, each page as large as its chart.
    Charts,
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
        let pages: Vec<PathBuf> = (1..=4).map(|number| place::of_page(Path::new("d/a.b.png"), number)).collect();
        assert_eq!(listed(&pages[..1]), "d/a.b.png");
        assert_eq!(listed(&pages[..2]), "d/a.b.png and d/a.b-2.png");
        assert_eq!(listed(&pages), "d/a.b.png, d/a.b-2.png to d/a.b-4.png");
    }

    #[test]
    fn two_results_of_one_name_get_numbers() {
        let named = |name: &str| {
            let mut source = Source::default();
            source.name = name.to_owned();
            source
        };
        let mut sources = [named("a"), named("b"), named("a")];
        distinguish_names(&mut sources);
        assert_eq!(sources.map(|source| source.name), ["a (1)", "b", "a (2)"]);
    }
}
