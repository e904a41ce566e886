//! Files with the charts and the pages of results, for all commands that draw.
//!
//! `place` says where a file may be. Leaves content and drawing to the crate `report`.

mod place;

use crate::failure::Failure;
use crate::input::{self, NamedFile, PARTIAL};
use crate::output::Verbosity;
use measure::text::counted;
use place::Form;
use report::ChartEngine;
#[cfg(feature = "pdf")]
use report::page::pdf_of;
use report::page::{DrawingStyle, Page, Picture, sheet, sheets};
use report::sources::{PageRequest, Source};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Help text of an `--output` that is a drawing.
pub(crate) const DRAWN: &str = if cfg!(feature = "pdf") {
    "File to write: .html, .svg, .png or .pdf; - is standard output, for a drawing as SVG"
} else {
    "File to write: .html, .svg or .png (.pdf is not in this build: feature `pdf`); - is standard output, for SVG"
};

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

/// The settings of a page without options.
pub(crate) fn plain() -> PageRequest {
    PageRequest {
        title: None,
        target_ns: None,
        profile: None,
        made_by: crate::pages::MADE_BY.to_owned(),
        made_at: crate::pages::now(),
    }
}

/// Writes the page of one result. Returns its first sweep as a text chart.
fn page_of(result: &Path, html: &Path) -> Result<Option<String>, Failure> {
    let file = ChartFile::new(html, PdfContent::Report)?;
    let request = plain();
    let (sources, _) = read(&[result.to_owned()], Verbosity::Usual)?;
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

pub(crate) fn svg_of(page: &Page) -> Result<String, Failure> {
    svg_with(page, &DrawingStyle::default())
}

/// Draws the charts of a text that was printed in this run.
pub(crate) fn of_text(name: &str, text: &[u8], path: &Path) -> Result<(), Failure> {
    let file = ChartFile::new(path, PdfContent::Charts)?;
    let source = Source::read(name, text).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    file.write(&report::sources::page(&[source], &plain())).map(drop)
}

pub(crate) fn svg_with(page: &Page, style: &DrawingStyle) -> Result<String, Failure> {
    let pictures: Vec<&Picture> = page.pictures.iter().collect();
    if pictures.is_empty() {
        return Err(Failure::new("these results have no chart; plumb report has their numbers"));
    }
    let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
    let engine = ChartEngine::new().map_err(|error| failed(&error))?;
    let svg = sheet(&engine, &pictures, style).map_err(|error| failed(&error))?;
    Ok(report::mark_svg(&svg, &page.made_by))
}

/// Reads the files. One that cannot be read or contains no results is reported on standard error; it is an error if
/// none contains results.
pub(crate) fn read(files: &[PathBuf], verbosity: Verbosity) -> Result<(Vec<Source>, u8), Failure> {
    let mut sources: Vec<Source> = Vec::new();
    let named = input::named(files);
    let mut failures: Vec<Failure> = Vec::new();
    for (NamedFile { path, .. }, source) in named.iter().zip(sources_of(&named)) {
        match source {
            Ok(_) if input::is_empty_log(path) => input::remark_empty_log(path, verbosity),
            Ok(source) => {
                failures.extend(source.remarks.iter().map(|remark| Failure::new(remark.clone())));
                match source.is_empty() {
                    false => sources.push(source),
                    // Its remarks say why there is none.
                    true if !source.remarks.is_empty() => {}
                    true => failures.push(Failure::at(path, "no result of plumb, fio, iozone or iostat was found")),
                }
            }
            Err(failure) => failures.push(failure),
        }
    }
    print_some(&failures);
    distinguish_names(&mut sources);
    if sources.is_empty() {
        return Err(Failure::new("no result was found in these files; give files that plumb parse can read"));
    }
    Ok((sources, if failures.is_empty() { 0 } else { PARTIAL }))
}

/// Most messages about files that are printed.
const MOST_MESSAGES: usize = 4;

/// Prints the first failures, and how many more there are: of a directory with other files there is one for each.
fn print_some(failures: &[Failure]) {
    failures.iter().take(MOST_MESSAGES).for_each(Failure::print);
    if let Some(more) = failures.len().checked_sub(MOST_MESSAGES).filter(|more| *more > 0) {
        let files = counted(more as u64, "message");
        Failure::new(format!("and {files} more like these; plumb parse FILE prints all of a file")).print();
    }
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

pub(crate) struct ChartFile<'a> {
    path: &'a Path,
    form: Form,
    content: PdfContent,
    pub(crate) style: DrawingStyle,
    /// Pixels of a PNG for each of the drawing.
    pub(crate) scale: f32,
}

impl<'a> ChartFile<'a> {
    /// Checks the format by the name and that the file may be written.
    pub(crate) fn new(path: &'a Path, content: PdfContent) -> Result<Self, Failure> {
        let form = Form::of(path)?;
        place::check(path)?;
        Ok(ChartFile { path, form, content, style: DrawingStyle::default(), scale: 1.0 })
    }

    /// Draws the charts and writes the file; returns its path, and those of further pages of a PNG.
    pub(crate) fn write(&self, page: &Page) -> Result<Vec<PathBuf>, Failure> {
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

/// Content of a PDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PdfContent {
    /// The whole report: A4, one section per page.
    Report,
    /// The charts, one per page, each page as large as its chart.
    Charts,
}

#[cfg(test)]
mod tests {
    use super::*;

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
