//! `plumb report` and `plumb plot`: results to pictures and pages.
//!
//! Owns options, files and messages. Leaves what is drawn, and how, to the crate `report`.

mod place;
pub(crate) mod plot;

use crate::failure::Failure;
use crate::output::Output;
use analysis::report_card::{self, PROFILES, Profile};
use clap::ValueEnum;
use place::Form;
use report::page::{Dress, Page, PaperError, Picture, pdf_of, sheet};
use report::sources::{Source, Wishes};
use report::{Easel, Scale, Theme};
use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The status when a part could not be read.
const PARTIAL: u8 = 3;
/// The latency to stay under, where nobody says.
pub(crate) const TARGET_NS: f64 = 10e6;

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
    /// Where it goes; .html, .svg, .png or .pdf
    #[arg(short, long, value_name = "FILE", default_value = "plumb-report.html")]
    output: PathBuf,
    #[command(flatten)]
    wishes: Wanted,
}

/// What both commands can be asked for.
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

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colours {
    /// Dark on white
    Light,
    /// Light on black
    Dark,
}

/// How latencies are spread.
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

    fn wishes(&self) -> Result<Wishes, Failure> {
        let target_ns = self.target.unwrap_or(TARGET_NS);
        Ok(Wishes { title: self.title.clone(), target_ns, ..wishes(self.profile()?) })
    }

    fn dress(&self) -> Dress {
        Dress {
            theme: if self.theme == Colours::Dark { Theme::Dark } else { Theme::Light },
            scale: if self.axis == Spread::Linear { Scale::Linear } else { Scale::Log },
            title: self.title.clone(),
            ..Dress::default()
        }
    }
}

/// What a page is asked for where nobody asks for anything else.
fn wishes(profile: &'static Profile) -> Wishes {
    let now = jiff::Timestamp::now();
    Wishes {
        title: None,
        target_ns: TARGET_NS,
        profile,
        made_by: program(),
        made_at: now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    }
}

/// Who makes it.
fn program() -> String {
    format!("plumb {}", env!("CARGO_PKG_VERSION"))
}

/// Reads results and writes their report.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let form = Form::of(&args.output)?;
    let wishes = args.wishes.wishes()?;
    // Refused before anything is read or drawn.
    place::check(&args.output)?;
    let (sources, status) = read(&args.files)?;
    let page = report::sources::page(&sources, &wishes);
    let pictures: Vec<&Picture> = page.pictures.iter().collect();
    write(&args.output, form, &page, &pictures, &args.wishes.dress(), args.wishes.scale, Paper::Report)?;
    Output::stdout().write(&formats::printable::lines(&format!("Report: {}\n", args.output.display())))?;
    Ok(status)
}

/// After a survey: a page beside its result, and a picture in letters where somebody looks at a terminal; what to tell.
///
/// The result is safe already, so that no failure here fails the survey: it is told instead.
pub(crate) fn after_survey(result: &Path) -> String {
    let html = result.with_extension("html");
    let made = page_of(result, &html);
    let told = match &made {
        Ok(_) => format!("Report: {}\n", html.display()),
        Err(failure) => format!("No report: {}\n", failure.message()),
    };
    let sketch = made.ok().flatten().filter(|_| std::io::stdout().is_terminal());
    sketch.map(|sketch| format!("{sketch}\n")).unwrap_or_default() + &told
}

/// Writes the page of one result; the first of its sweeps in letters.
fn page_of(result: &Path, html: &Path) -> Result<Option<String>, Failure> {
    let profile = PROFILES.first().ok_or_else(|| Failure::new("there is no profile"))?;
    let wishes = wishes(profile);
    place::check(html)?;
    let (sources, _) = read(&[result.to_owned()])?;
    let page = report::sources::page(&sources, &wishes);
    let pictures: Vec<&Picture> = page.pictures.iter().collect();
    write(html, Form::Html, &page, &pictures, &Dress::default(), 1.0, Paper::Report)?;
    Ok(report::sources::sketches(&sources, &wishes).into_iter().next())
}

/// Whether pictures may go there, and in which form.
pub(crate) fn place_for(path: &Path) -> Result<(), Failure> {
    Form::of(path)?;
    place::check(path)
}

/// Pictures of a text that was printed just now.
pub(crate) fn of_text(name: &str, text: &[u8], path: &Path) -> Result<(), Failure> {
    let form = Form::of(path)?;
    let profile = PROFILES.first().ok_or_else(|| Failure::new("there is no profile"))?;
    let wishes = wishes(profile);
    place::check(path)?;
    let source = Source::read(name, text).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    let page = report::sources::page(&[source], &wishes);
    let pictures: Vec<&Picture> = page.pictures.iter().collect();
    write(path, form, &page, &pictures, &Dress::default(), 1.0, Paper::Plates)
}

/// Reads the files. One that cannot be read, or has nothing, is told; at least one must have something.
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

/// Two results of one name are told apart by their files, or else by their number.
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

/// Draws and writes.
fn write(
    path: &Path,
    form: Form,
    page: &Page,
    pictures: &[&Picture],
    dress: &Dress,
    scale: f32,
    paper: Paper,
) -> Result<(), Failure> {
    let told = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    let easel = Easel::new().map_err(|error| told(&error))?;
    let bytes = if form == Form::Html {
        page.html(&easel).map_err(|error| told(&error))?.into_bytes()
    } else {
        if pictures.is_empty() && (form != Form::Pdf || paper == Paper::Plates) {
            return Err(told(&"these results allow no picture; an .html or .pdf report has their numbers"));
        }
        if form == Form::Pdf {
            let made = paper.write(&easel, page, pictures, dress).map_err(|error| told(&error))?;
            return place::write(path, &report::mark_pdf(&made, &page.made_by));
        }
        let svg = sheet(&easel, pictures, dress).map_err(|error| told(&error))?;
        drop(easel);
        match form {
            Form::Png => {
                let png = report::png(&svg, scale).map_err(|error| told(&error))?;
                report::mark_png(&png, &page.made_by)
            }
            _ => report::mark_svg(&svg, &page.made_by).into_bytes(),
        }
    };
    place::write(path, &bytes)
}

/// What a PDF holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paper {
    /// The whole report: A4, a page per section.
    Report,
    /// The pictures, each on a page of its size.
    Plates,
}

impl Paper {
    fn write(self, easel: &Easel, page: &Page, pictures: &[&Picture], dress: &Dress) -> Result<Vec<u8>, PaperError> {
        match self {
            Paper::Report => page.pdf(easel),
            Paper::Plates => pdf_of(easel, pictures, dress, &page.title, &page.made_by),
        }
    }
}

/// A latency as people write it, in nanoseconds.
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
    fn two_results_of_one_name_are_told_apart() {
        let named = |name: &str| Source { name: name.to_owned(), ..Source::default() };
        let mut sources = [named("a"), named("b"), named("a")];
        apart(&mut sources);
        assert_eq!(sources.map(|source| source.name), ["a (1)", "b", "a (2)"]);
    }
}
