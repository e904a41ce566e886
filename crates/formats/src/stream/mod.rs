//! Parser for text of unknown format: reports readings one by one, in bounded memory for files of any size.
//!
//! Owns the assignment of lines to readers. Each format's reader is in its writer's module and has its state.

mod commands;
mod decode;
mod documents;
mod repeats;
mod stamps;

pub use crate::event::{Event, Repeat, Repeated, Repeats};

use crate::event::{Line, Sink};
use crate::fio::log::LogReader;
use crate::fio::text::TextReader;
use crate::fio::{json as fio_json, terse as fio_terse};
use crate::iostat::IostatReader;
use crate::iozone::IozoneReader;
use crate::sweep::SweepReader;
use decode::{Encoding, LONGEST_LINE};
use documents::{Collected, Documents};
use memchr::{memchr, memchr_iter, memrchr};
use model::reading::{Content, Damage, Reading};
use repeats::HeldRuns;

/// Bytes that are scanned together before their lines are parsed: they stay in the L1 or L2 cache between.
const BLOCK: usize = 32 * 1024;

/// Incremental parser: takes bytes in chunks of any size.
pub struct Parser<'sink> {
    sink: Box<Sink<'sink>>,
    encoding: Option<Encoding>,
    /// An incomplete last line; for UTF-16, preceded by an odd byte.
    rest: Vec<u8>,
    undecoded: Vec<u8>,
    line: u64,
    overlong: bool,
    /// True while the last line is read, if nothing ends it.
    unended: bool,
    readers: Readers,
    held: HeldRuns,
}

#[derive(Default)]
struct Readers {
    documents: Documents,
    json: fio_json::Reader,
    text: TextReader,
    iozone: IozoneReader,
    iostat: IostatReader,
    sweep: SweepReader,
    log: LogReader,
    last_terse: Option<Reading>,
}

impl<'sink> Parser<'sink> {
    /// Creates a parser that passes events to `sink`.
    pub fn new(sink: impl FnMut(Event) + 'sink) -> Self {
        Parser {
            sink: Box::new(sink),
            encoding: None,
            rest: Vec::new(),
            undecoded: Vec::new(),
            line: 0,
            overlong: false,
            unended: false,
            readers: Readers::default(),
            held: HeldRuns::default(),
        }
    }

    /// A parser whose readings have the results of documents, for [`crate::results::of_reading`].
    pub fn of_results(sink: impl FnMut(Event) + 'sink) -> Self {
        let mut parser = Self::new(sink);
        parser.readers.json.gives_results = true;
        parser
    }

    /// Adds the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        match self.encoding {
            None => {
                self.undecoded.extend_from_slice(bytes);
                // Four bytes are enough to recognize any byte order mark, and UTF-16 without one.
                if self.undecoded.len() >= 4 {
                    self.start();
                }
            }
            Some(Encoding::Utf8) => self.feed_utf8(bytes),
            Some(encoding) => {
                self.undecoded.extend_from_slice(bytes);
                let whole: Vec<u8> = self.undecoded.drain(..decode::whole_letters(&self.undecoded, encoding)).collect();
                self.feed_utf8(decode::utf8_of(&whole, encoding).as_bytes());
            }
        }
    }

    fn start(&mut self) {
        let (encoding, mark) = decode::encoding(&self.undecoded);
        self.encoding = Some(encoding);
        let bytes = std::mem::take(&mut self.undecoded);
        self.feed(&bytes[mark..]);
    }

    /// Ends the input.
    pub fn finish(mut self) {
        if self.encoding.is_none() {
            self.start();
        }
        if !self.rest.is_empty() {
            let line = std::mem::take(&mut self.rest);
            self.unended = true;
            self.take_line(&line);
        }
        let Parser { mut readers, mut held, mut sink, .. } = self;
        readers.finish(&mut |event| held.pass(event, &mut *sink));
        held.finish(&mut *sink);
    }

    fn feed_utf8(&mut self, mut bytes: &[u8]) {
        // Invariant: `rest` holds the start of an unfinished line, whose number is `line` + 1. It is completed first,
        // so that all lines after it can be parsed from `bytes` without copying.
        if !self.rest.is_empty() || self.overlong {
            let Some(end) = memchr(b'\n', bytes) else {
                self.keep(bytes);
                return;
            };
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.rest);
            self.overlong = false;
            self.take_line(&line);
        }
        while bytes.len() > BLOCK
            && let Some(last) = memrchr(b'\n', &bytes[..BLOCK])
        {
            self.take_lines(&bytes[..=last]);
            bytes = &bytes[last + 1..];
        }
        if let Some(last) = memrchr(b'\n', bytes) {
            self.take_lines(&bytes[..=last]);
            bytes = &bytes[last + 1..];
        }
        self.keep(bytes);
    }

    /// Processes complete lines. Few texts need decorations removed, and one scan over many lines is cheaper.
    fn take_lines(&mut self, bytes: &[u8]) {
        let plain = std::str::from_utf8(bytes).ok().filter(|_| !decode::has_odd_bytes(bytes));
        let mut start = 0;
        for end in memchr_iter(b'\n', bytes) {
            match plain {
                Some(text) if !decode::opens_wrapped(&bytes[start..end]) => {
                    self.line += 1;
                    self.read(self.line, &text[start..end]);
                }
                _ => self.take_line(&bytes[start..end]),
            }
            start = end + 1;
        }
    }

    fn keep(&mut self, part: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.rest.len());
        if part.len() > room && !self.overlong {
            self.overlong = true;
            let what = format!("the line is longer than {} MiB; the rest of it is left out", LONGEST_LINE >> 20);
            (self.sink)(Event::damage(self.line + 1, what));
        }
        // Bytes beyond the limit are dropped, but the line keeps its number: memory stays bounded by `LONGEST_LINE`.
        self.rest.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn take_line(&mut self, line: &[u8]) {
        let mut line = line;
        while let Some(shorter) = line.strip_suffix(b"\r") {
            line = shorter;
        }
        if let Some(last) = memrchr(b'\r', line) {
            let unended = std::mem::take(&mut self.unended);
            // A text without other ends has its lines so. In another one they are progress lines, which overwrite each
            // other, and are one line.
            let are_lines = unended && self.line == 0;
            for part in line[..last].split(|&byte| byte == b'\r') {
                self.read(self.line + 1, &decode::unwrapped(part));
                self.line += u64::from(are_lines);
            }
            self.unended = unended;
            line = &line[last + 1..];
        }
        self.line += 1;
        self.read(self.line, &decode::unwrapped(line));
    }

    fn read(&mut self, number: u64, line: &str) {
        let Parser { readers, held, sink, unended, .. } = self;
        let line = Line { unended: *unended, ..Line::new(number, line) };
        readers.line(line, &mut |event| held.pass(event, &mut **sink));
    }
}

impl Readers {
    fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) {
        match self.documents.line(line) {
            None => self.plain(line, sink),
            Some(collected) => self.collected(collected, sink),
        }
    }

    fn collected(&mut self, collected: Collected, sink: &mut Sink<'_>) {
        match collected {
            Collected::More => {}
            Collected::Whole(document) => self.document(&document, sink),
            Collected::NotOurs(lines) => {
                for (number, line) in lines {
                    self.plain(Line::new(number, &line), sink);
                }
            }
        }
    }

    fn document(&mut self, document: &documents::Document, sink: &mut Sink<'_>) {
        self.text.answered_elsewhere();
        self.json.failures = std::mem::take(self.text.failures());
        document.read(&mut self.json, sink);
        *self.text.failures() = std::mem::take(&mut self.json.failures);
    }

    fn plain(&mut self, line: Line<'_>, sink: &mut Sink<'_>) {
        if self.terse(line, sink) {
            return;
        }
        // Fast path for logs, which are long: only another reader's open table can claim a line of digits and commas.
        let is_alone = !self.iozone.is_open() && !self.iostat.is_open() && !self.sweep.is_open();
        if is_alone && self.log.goes_on(line) {
            return;
        }
        if self.text.line(line, sink) {
            self.log.end(sink);
            return;
        }
        let others = self.iozone.line(line, sink)
            || self.iostat.line(line, sink)
            || self.sweep.line(line, sink)
            || self.log.line(line, sink);
        if others {
            self.text.followed_by_another(sink);
        }
    }

    /// Processes terse lines; version 2 prints the description on the following line.
    fn terse(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> bool {
        let Line { number, text, .. } = line;
        let first = text.as_bytes();
        let begins = matches!(first, [b'2'..=b'5', b';', ..]);
        if let Some(mut last) = self.last_terse.take() {
            let continues = first.first() == Some(&b';') && fio_terse::describe(&mut last, &text[1..]);
            sink(Event::Reading(last));
            if continues {
                return true;
            }
        }
        if !begins {
            return false;
        }
        match fio_terse::reading(number, text) {
            Some(Ok(mut reading)) => {
                self.text.answered_elsewhere();
                if let Content::Run(run) = &mut reading.found {
                    self.text.failures().mark_killed(run);
                }
                self.last_terse = Some(reading);
                true
            }
            Some(Err(damage)) => {
                sink(Event::Damage(damage));
                true
            }
            None => false,
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        if let Some(collected) = self.documents.finish() {
            self.collected(collected, sink);
        }
        if let Some(last) = self.last_terse.take() {
            sink(Event::Reading(last));
        }
        self.text.finish(sink);
        self.iozone.finish(sink);
        self.iostat.finish(sink);
        self.sweep.finish(sink);
        self.log.end(sink);
    }
}

/// Parses a whole text in memory: every run once.
pub fn parse(bytes: &[u8]) -> (Vec<Reading>, Vec<Damage>) {
    let (mut readings, mut damages) = (Vec::new(), Vec::new());
    let mut parser = Parser::new(|event| match event {
        Event::Reading(reading) => readings.push(reading),
        Event::Damage(damage) => damages.push(damage),
        Event::Repeated(_) => {}
    });
    parser.feed(bytes);
    parser.finish();
    (readings, damages)
}
