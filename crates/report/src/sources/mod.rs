//! Results of any origin → a page: their pictures, all their numbers, and their environment.
//!
//! Owns the choice of pictures for the results. Leaves parsing of foreign formats to `formats`, verdicts to `analysis`,
//! and the contents of a chart to `data`.

mod glance;
mod iostat;
mod log;
mod native;
mod numbers;
mod pictures;
mod surroundings;
mod time;

pub use glance::glance;
pub use native::Test;

use crate::page::{Page, Picture};
use analysis::report_card::Profile;
use formats::stream::{Event, Parser};
use formats::sweep::LogKind;
use model::Measurement;
use model::reading::{Damage, Found, IozoneRow, ReadRun};
use std::io::{self, BufRead, BufReader, Read};

/// Default latency target, in nanoseconds.
pub const TARGET_NS: f64 = 10e6;
/// Most rows, runs and points taken from one file: bounds memory, and more could not be drawn.
const MOST: usize = 100_000;
/// Most damaged places reported per file.
const MOST_DAMAGES: usize = 5;
/// Largest plumb result file read, in bytes.
const LARGEST: u64 = 512 << 20;

/// Contents of one file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Name shown with these numbers: the file name without directories, or the target of a survey.
    pub name: String,
    /// Path as given by the user.
    pub path: String,
    /// Measurement rows.
    pub rows: Vec<Measurement>,
    /// fio reports.
    pub runs: Vec<ReadRun>,
    /// Rows of iozone tables.
    pub iozone: Vec<IozoneRow>,
    /// plumb's own results, with all counters.
    pub tests: Vec<Test>,
    /// Runs in fio's JSON with plumb's key: what was found during the run, and its samples if the document has them.
    pub monitored_runs: Vec<Test>,
    /// Sentences of a survey.
    pub sentences: Vec<String>,
    /// Points of a fio log over time.
    pub log: Option<log::Log>,
    /// iostat reports.
    pub iostat: iostat::Iostat,
    /// Remarks on input that could not be read.
    pub remarks: Vec<String>,
}

/// Settings of a page.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Heading; `None` to derive it from the sources.
    pub title: Option<String>,
    /// The latency target in nanoseconds.
    pub target_ns: f64,
    /// Profile with the thresholds of the report card.
    pub profile: &'static Profile,
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
        let head = reader.fill_buf()?;
        let (ours, json) = (native::begins(head), native::may_be_json(head));
        if json {
            let mut text = Vec::new();
            reader.take(LARGEST).read_to_end(&mut text)?;
            if ours && source.native(&text) {
                return Ok(source);
            }
            source.read_monitored_run(&text);
            source.foreign(&text[..])?;
        } else {
            source.foreign(reader)?;
        }
        Ok(source)
    }

    /// True if nothing was found.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.tests.is_empty() && self.log.is_none()
    }

    fn foreign(&mut self, mut reader: impl Read) -> io::Result<()> {
        let kind = LogKind::of_file(&self.name);
        let mut points = kind.map(log::Log::new);
        let mut damages: Vec<Damage> = Vec::new();
        let (mut dropped, mut damaged) = (0_usize, 0_usize);
        let mut parser = Parser::new(|event| match event {
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
                self.rows.extend(formats::sweep::measurements(&reading, kind));
                match reading.found {
                    Found::Run(run) if self.runs.len() < MOST => self.runs.push(*run),
                    Found::Device(row) => self.iostat.device(*row),
                    Found::Processors(row) => self.iostat.processors(*row),
                    Found::Iozone(row) if self.iozone.len() < MOST => self.iozone.push(*row),
                    _ => {}
                }
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
        if damaged > MOST_DAMAGES {
            self.remarks.push(format!("{}: {} more damaged places", self.path, damaged - MOST_DAMAGES));
        }
        if dropped > 0 {
            self.remarks.push(format!("{}: only the first {MOST} results are shown, {dropped} are not", self.path));
        }
        Ok(())
    }
}

/// Builds the page of these results.
pub fn page(sources: &[Source], request: &PageRequest) -> Page {
    let pictures = pictures::all(sources, request);
    let mut sentences: Vec<String> = Vec::new();
    for source in sources {
        for sentence in &source.sentences {
            let line = if sources.len() > 1 { format!("{}: {sentence}", source.name) } else { sentence.clone() };
            sentences.push(line);
        }
    }
    if sentences.is_empty() {
        sentences = pictures.iter().find_map(sentences_of).unwrap_or_default();
    }
    sentences.truncate(12);
    Page {
        title: request.title.clone().unwrap_or_else(|| title(sources)),
        made_by: request.made_by.clone(),
        made_at: request.made_at.clone(),
        sentences,
        pictures,
        numbers: numbers::all(sources),
        checks: surroundings::checks(sources),
        runs: sources.iter().map(surroundings::of).collect(),
        remarks: sources.iter().flat_map(|source| source.remarks.clone()).take(50).collect(),
    }
}

/// The sweeps of these results as text charts for a terminal.
pub fn sketches(sources: &[Source], request: &PageRequest) -> Vec<String> {
    pictures::sweeps(sources, request).iter().map(|(_, _, sweep)| crate::terminal::sketch(sweep)).collect()
}

/// The sentences of a picture.
fn sentences_of(picture: &Picture) -> Option<Vec<String>> {
    let sentences = picture.data.get("sentences")?.as_array()?;
    let sentences: Vec<String> = sentences.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect();
    (!sentences.is_empty()).then_some(sentences)
}

fn title(sources: &[Source]) -> String {
    match sources {
        [] => "Storage report".to_owned(),
        [one] => format!("Storage report: {}", one.name),
        [one, other] => format!("Storage report: {} and {}", one.name, other.name),
        [one, .., last] => format!("Storage report: {} results from {} to {}", sources.len(), one.name, last.name),
    }
}
