//! Results of any origin → a page: their pictures, all their numbers, and their environment.
//!
//! Owns the choice of pictures for results. Formats are `formats`', verdicts `analysis`', contents `data`'s.

mod histograms;
mod iostat;
mod judged;
mod log;
mod native;
mod numbers;
mod pictures;
mod place;
mod placing;
mod surroundings;
mod systems;
mod time;

pub use native::glance;
pub use place::PlaceFacts;

use crate::data::MOST_IN_WORDS;
use crate::data::of_measurements::MeasuredRow;
use crate::page::{Page, Picture};
use analysis::report_card::Profile;
use formats::results::of_reading;
use formats::stream::{Event, Parser, Repeats};
use formats::sweep::LogKind;
use judged::CheckedResult;
use measure::push_new;
use model::reading::{Content, Damage, IozoneRow, Reading};
use native::Test;
use std::io::{self, BufRead, BufReader, Read};

/// Most rows, runs and points taken from one file: bounds memory, and more could not be drawn.
const MOST: usize = 100_000;
/// Most damaged places reported per file.
const MOST_DAMAGES: usize = 5;
/// Most remarks of a page.
const MOST_REMARKS: usize = 50;
/// Largest plumb result file read, in bytes.
const LARGEST: u64 = 512 << 20;

/// Contents of one file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Name shown with these numbers: the file name without directories, or the target of a survey.
    pub name: String,
    /// Path as given by the user.
    pub path: String,
    /// Name of the system that was measured, if the user gave one.
    pub given: Option<String>,
    /// Result of a survey: a separate system.
    pub is_survey: bool,
    pub(crate) rows: Vec<MeasuredRow>,
    /// The program that printed the first report of a run.
    pub(crate) program: Option<String>,
    /// The machine that the first report with one names.
    pub(crate) host: Option<String>,
    /// Disks that reports of runs name.
    pub(crate) disks: Vec<String>,
    pub(crate) iozone: Vec<IozoneRow>,
    /// plumb's own results, with all counters.
    tests: Vec<Test>,
    /// Runs in other files that plumb monitored: what was found during the run, and its samples if the file has them.
    monitored_runs: Vec<Test>,
    pub(crate) judged: Vec<CheckedResult>,
    /// Where and when the results were measured.
    pub(crate) places: place::PlaceFacts,
    /// The formats of what is not a result: rows of iozone and iostat, logs.
    pub(crate) formats: Vec<&'static str>,
    /// Sentences of a survey.
    pub sentences: Vec<String>,
    /// Points of a fio log over time.
    pub(crate) log: Option<log::Log>,
    pub(crate) iostat: iostat::Iostat,
    /// Remarks on input that could not be read.
    pub remarks: Vec<String>,
}

/// Settings of a page.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Heading; `None` to derive it from the sources.
    pub title: Option<String>,
    /// The latency target in nanoseconds, if one was asked for.
    pub target_ns: Option<f64>,
    /// Profile with the thresholds of the report card; `None` for that of the disks.
    pub profile: Option<&'static Profile>,
    /// Program name and version, `plumb 0.1.0`.
    pub made_by: String,
    /// Creation time.
    pub made_at: String,
}

impl Source {
    /// Reads all results in a file.
    ///
    /// # Errors
    /// The file cannot be read. Damaged input is not an error but a remark.
    pub fn read(path: &str, reader: impl Read) -> io::Result<Source> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let mut source = Source { name: name.to_owned(), path: path.to_owned(), ..Source::default() };
        let mut reader = BufReader::with_capacity(256 << 10, reader);
        if native::begins(reader.fill_buf()?) {
            let mut text = Vec::new();
            reader.take(LARGEST).read_to_end(&mut text)?;
            if !source.native(&text) {
                source.foreign(&text[..])?;
            }
        } else {
            source.foreign(reader)?;
        }
        Ok(source)
    }

    /// True if nothing was found.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.tests.is_empty() && self.log.is_none()
    }

    /// The name of its system if one was given, otherwise its own.
    fn shown_name(&self) -> &str {
        self.given.as_deref().unwrap_or(&self.name)
    }

    /// True if the rows are those of runs or of a table of runs, which have latencies; not of iozone, iostat or logs.
    fn is_of_runs(&self) -> bool {
        self.iozone.is_empty() && self.log.is_none() && self.iostat.is_empty()
    }

    fn foreign(&mut self, mut reader: impl Read) -> io::Result<()> {
        let kind = LogKind::of_file(&self.name);
        let mut points = kind.map(log::Log::new);
        let mut damages: Vec<Damage> = Vec::new();
        let (mut dropped, mut damaged) = (0_usize, 0_usize);
        let mut run = 0;
        let mut repeats = Repeats::default();
        let mut parser = Parser::of_results(|event| match event {
            Event::Repeated(repeated) => repeats.add(&repeated),
            Event::Damage(damage) => {
                damaged += 1;
                if damages.len() < MOST_DAMAGES {
                    damages.push(damage);
                }
            }
            Event::Reading(reading) => {
                if self.rows.len() >= MOST {
                    dropped += 1;
                    return;
                }
                run += 1;
                self.reading(run, reading, kind);
            }
        });
        let mut chunk = vec![0; 256 << 10];
        loop {
            let length = match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if let Some(log) = &mut points {
                log.feed(&chunk[..length]);
            }
            parser.feed(&chunk[..length]);
        }
        parser.finish();
        self.log = points.filter(|log| !log.is_empty());
        for damage in damages {
            self.remarks.push(format!("{}:{}: {}", self.path, damage.line, damage.what));
        }
        for (line, message) in repeats.messages() {
            self.remarks.push(format!("{}:{line}: {message}", self.path));
        }
        if damaged > MOST_DAMAGES {
            self.remarks.push(format!("{}: {} more damaged places", self.path, damaged - MOST_DAMAGES));
        }
        if dropped > 0 {
            self.remarks.push(format!("{}: only the first {MOST} results are shown, {dropped} are not", self.path));
        }
        Ok(())
    }

    /// Takes one of the readings of a file, with its number from 1.
    fn reading(&mut self, number: usize, reading: Reading, kind: Option<LogKind>) {
        let mut rows = rows_of(number, &reading, kind);
        let format = reading.format;
        let located = match reading {
            Reading { found: Content::Device(row), .. } => {
                self.iostat.device(*row);
                None
            }
            Reading { found: Content::Processors(row), .. } => {
                self.iostat.processors(*row);
                None
            }
            Reading { found: Content::Iozone(row), .. } => {
                self.iozone.push(*row);
                None
            }
            other => {
                self.program_of(&other);
                of_reading(other)
            }
        };
        match located {
            Some(mut located) => {
                self.places.add(&located.result);
                self.judged.push(CheckedResult::of(number, located.title, &mut located.result).and_mark(&mut rows));
                if located.result.was_monitored() || located.result.layers.is_some() {
                    self.monitored_runs.extend(native::whole_run(number, located.result));
                }
            }
            None if self.formats.contains(&format) => {}
            None => self.formats.push(format),
        }
        self.rows.extend(rows);
    }

    /// Keeps what a report states of its program and its machine.
    fn program_of(&mut self, reading: &Reading) {
        let Content::Run(report) = &reading.found else { return };
        self.program = self.program.take().or_else(|| report.version.clone());
        self.host = self.host.take().or_else(|| report.host.clone());
        for disk in &report.disks {
            push_new(&mut self.disks, disk.name.clone());
        }
    }
}

/// The rows of a reading; a report has a row per job and direction.
fn rows_of(run: usize, reading: &Reading, kind: Option<LogKind>) -> Vec<MeasuredRow> {
    let measured = formats::sweep::measurements(reading, kind).into_iter();
    let mut rows: Vec<MeasuredRow> =
        measured.map(|numbers| MeasuredRow { numbers, run, ..MeasuredRow::default() }).collect();
    if let Content::Run(report) = &reading.found {
        let stated = reading.result.as_ref().filter(|result| result.jobs.len() == report.jobs.len());
        let region = |at: usize| stated.map(|result| result.jobs[at].echo.region_bytes).filter(|&bytes| bytes > 0);
        let jobs = report.jobs.iter().enumerate();
        let directions = jobs.flat_map(|(at, job)| job.directions.iter().map(move |direction| (at, direction)));
        for (row, (job, direction)) in rows.iter_mut().zip(directions) {
            row.count = row.numbers.percentiles_count;
            row.distribution = pictures::printed(direction);
            row.region_bytes = region(job);
        }
    }
    rows
}

/// Builds the page of these results.
pub fn page(sources: &[Source], request: &PageRequest) -> Page {
    let material = pictures::Material::of(sources, request);
    let cards = pictures::cards(sources, request);
    let mut pictures = material.all(sources, request, cards.drawn);
    let mut sentences: Vec<String> = Vec::new();
    // A survey may have concluded with checks that were accepted, and an earlier plumb did without them.
    for source in sources.iter().filter(|source| !judged::is_other_than_storage(source)) {
        for sentence in &source.sentences {
            let line = if sources.len() > 1 { format!("{}: {sentence}", source.name) } else { sentence.clone() };
            sentences.push(line);
        }
    }
    if material.names.len() > MOST_IN_WORDS {
        let compared = material.compared();
        sentences = if compared.is_empty() { sentences } else { compared };
    }
    if sentences.is_empty() {
        sentences = material.best_of_all(sources);
    }
    let of_one_run = if sentences.is_empty() { material.each_of_a_run(sources) } else { Vec::new() };
    if sentences.is_empty() && of_one_run.is_empty() {
        sentences = pictures.iter().find_map(sentences_of).unwrap_or_default();
    }
    // A picture or a survey may have said them, too.
    let lasting = judged::lasting(sources);
    let phases = sources.iter().flat_map(|source| &source.judged).filter_map(|judged| judged.lasting.as_ref());
    let phases: Vec<&str> = phases.map(|lasting| lasting.sentence.as_str()).collect();
    sentences.retain(|sentence| !phases.iter().any(|said| sentence.contains(said)));
    sentences.truncate(if material.names.len() > 1 { 6 } else { 2 });
    sentences.splice(0..0, lasting);
    sentences.extend(of_one_run);
    headings(&mut pictures, &material.names);
    if judged::is_one_run(sources) {
        // The verdict at the top is about this run alone; each kind of its jobs would repeat it.
        pictures.iter_mut().for_each(|picture| picture.mark = None);
    }
    Page {
        title: request.title.clone().unwrap_or_else(|| title(&material.names)),
        made_by: request.made_by.clone(),
        made_at: request.made_at.clone(),
        verdict: judged::verdict(sources),
        places: place::all(sources),
        sentences,
        pictures,
        numbers: numbers::all(sources),
        checks: judged::checks(sources),
        runs: sources.iter().map(surroundings::of).collect(),
        remarks: remarks(sources, [cards.lines, material.remarks]),
    }
}

/// Remarks on the input, on cards without grades, and on what no picture has.
fn remarks(sources: &[Source], [cards, pictures]: [Vec<String>; 2]) -> Vec<String> {
    let input = sources.iter().flat_map(|source| source.remarks.clone());
    input.chain(cards).chain(pictures).take(MOST_REMARKS).collect()
}

/// Text charts for a terminal.
#[derive(Clone, Debug, Default)]
pub struct Sketches {
    /// Several systems over one another.
    pub overlays: Vec<String>,
    /// The sweeps.
    pub sweeps: Vec<String>,
    /// The distribution of histogram logs; empty if there are none.
    pub distribution: String,
    /// Sentences that name the results that are in no sweep.
    pub remarks: Vec<String>,
}

/// These results as text charts for a terminal of this many columns.
pub fn sketches(sources: &[Source], request: &PageRequest, columns: usize) -> Sketches {
    let material = pictures::Material::of(sources, request);
    Sketches {
        overlays: material.overlaid().iter().map(|all| crate::terminal::overlay(all, columns)).collect(),
        sweeps: material.sweeps().map(|sweep| crate::terminal::sketch(sweep, columns)).collect(),
        distribution: histograms::sketch(sources, columns),
        remarks: material.remarks,
    }
}

/// Sentences that name the results that are in no picture of a sweep.
pub fn left_out(sources: &[Source], request: &PageRequest) -> Vec<String> {
    pictures::Material::of(sources, request).remarks
}

/// Titles on the page: without the name of the only system, and without the directory that all systems are in.
fn headings(pictures: &mut [Picture], names: &[String]) {
    let directory = match names {
        [] | [_] => None,
        names => common_directory(names),
    };
    for picture in pictures {
        picture.heading = match (names, directory) {
            ([name], _) => picture.title.strip_prefix(&format!("{name} · ")).unwrap_or(&picture.title).to_owned(),
            (_, Some(directory)) => picture.title.replace(directory, ""),
            _ => picture.title.clone(),
        };
    }
}

/// The directory that all names begin with, with its last slash.
fn common_directory(names: &[String]) -> Option<&str> {
    let (first, rest) = names.split_first()?;
    let mut end = first.rfind('/')? + 1;
    while !rest.iter().all(|name| name.starts_with(&first[..end])) {
        end = first[..end - 1].rfind('/')? + 1;
    }
    (end > 1).then(|| &first[..end])
}

fn sentences_of(picture: &Picture) -> Option<Vec<String>> {
    let sentences = picture.data.get("sentences")?.as_array()?;
    let sentences: Vec<String> = sentences.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect();
    (!sentences.is_empty()).then_some(sentences)
}

/// The heading: the names of all systems.
fn title(systems: &[String]) -> String {
    if systems.is_empty() {
        "Storage report".to_owned()
    } else {
        format!("Storage report: {}", pictures::listed(systems))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_share_a_directory_as_far_as_all_have_it() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            common_directory(&names).map(str::to_owned)
        };
        assert_eq!(of(&["/mnt/a/x", "/mnt/a/y"]).as_deref(), Some("/mnt/a/"));
        assert_eq!(of(&["/mnt/a/x", "/mnt/ab/x"]).as_deref(), Some("/mnt/"));
        assert_eq!(of(&["/a", "/b"]), None);
        assert_eq!(of(&["INTEL", "/b"]), None);
    }
}
