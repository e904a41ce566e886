//! Results of any origin → a page: which pictures they allow, all their numbers, and where they come from.
//!
//! Owns what is drawn of what. Leaves reading foreign text to `formats`, judgements to `analysis`, and what a chart
//! shows of its data to `data`.

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
use model::reading::{Damage, Found, IozoneRow, Measurement, ReadRun};
use std::io::{self, BufRead, BufReader, Read};

/// Rows, runs and points that one file may give: more is no picture, and memory has an end.
const MOST: usize = 100_000;
/// Damaged places that are told of one file.
const MOST_DAMAGES: usize = 5;
/// The largest result file of our own.
const LARGEST: u64 = 512 << 20;

/// Everything that was found in one file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Whose numbers these are: the file's name without its directory, or what was surveyed.
    pub name: String,
    /// The file as it was named.
    pub path: String,
    /// Lines of measurements.
    pub rows: Vec<Measurement>,
    /// Reports of fio.
    pub runs: Vec<ReadRun>,
    /// iozone's tables.
    pub iozone: Vec<IozoneRow>,
    /// plumb's own results, with everything that was counted.
    pub tests: Vec<Test>,
    /// What plumb saw beside a run that is told in fio's words: its own key in fio's JSON.
    pub beside: Vec<Test>,
    /// The sentences of a survey.
    pub sentences: Vec<String>,
    /// The points of a log over time.
    pub log: Option<log::Log>,
    /// iostat's reports.
    pub iostat: iostat::Iostat,
    /// What could not be read, as sentences.
    pub remarks: Vec<String>,
}

/// What a reader wants to see.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// The page's heading; from the sources where none is given.
    pub title: Option<String>,
    /// The latency to stay under, in nanoseconds.
    pub target_ns: f64,
    /// Whose bounds grade the card.
    pub profile: &'static Profile,
    /// `plumb 0.1.0`.
    pub made_by: String,
    /// When.
    pub made_at: String,
}

impl Source {
    /// Reads everything that is in a file.
    ///
    /// # Errors
    /// When it cannot be read. What is damaged is a remark.
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
            source.beside(&text);
            source.foreign(&text[..])?;
        } else {
            source.foreign(reader)?;
        }
        Ok(source)
    }

    /// Whether nothing was found.
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

/// The page of these results.
pub fn page(sources: &[Source], wishes: &Wishes) -> Page {
    let pictures = pictures::all(sources, wishes);
    let mut sentences: Vec<String> = Vec::new();
    for source in sources {
        for sentence in &source.sentences {
            let told = if sources.len() > 1 { format!("{}: {sentence}", source.name) } else { sentence.clone() };
            sentences.push(told);
        }
    }
    if sentences.is_empty() {
        sentences = pictures.iter().find_map(told).unwrap_or_default();
    }
    sentences.truncate(12);
    Page {
        title: wishes.title.clone().unwrap_or_else(|| title(sources)),
        made_by: wishes.made_by.clone(),
        made_at: wishes.made_at.clone(),
        sentences,
        pictures,
        numbers: numbers::all(sources),
        checks: surroundings::checks(sources),
        runs: sources.iter().map(surroundings::of).collect(),
        remarks: sources.iter().flat_map(|source| source.remarks.clone()).take(50).collect(),
    }
}

/// The sweeps of these results in few letters, for a terminal.
pub fn sketches(sources: &[Source], wishes: &Wishes) -> Vec<String> {
    pictures::sweeps(sources, wishes).iter().map(|(_, _, sweep)| crate::terminal::sketch(sweep)).collect()
}

/// The sentences of a picture.
fn told(picture: &Picture) -> Option<Vec<String>> {
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
