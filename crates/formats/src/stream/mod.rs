//! Text of unknown kind → what was found in it, piece by piece: a file of any size in bounded memory.
//!
//! Owns which reader a line belongs to. Each format's reader stands beside its writer and keeps its own state.

mod decode;
mod documents;

use crate::fio_terse;
use crate::fio_text::TextReader;
use crate::iostat::IostatReader;
use crate::iozone::IozoneReader;
use crate::log_summary::LogReader;
use crate::sweep::SweepReader;
use decode::{Encoding, LONGEST_LINE};
use documents::{Collected, Documents};
use memchr::{memchr, memchr_iter};
use model::reading::{Damage, Reading};

/// What the parser says while it reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something whole.
    Reading(Reading),
    /// Something that is not.
    Damage(Damage),
}

impl Event {
    pub(crate) fn damage(line: u64, what: String) -> Event {
        Event::Damage(Damage { line, what })
    }
}

/// Where events go.
pub(crate) type Sink<'sink> = dyn FnMut(Event) + 'sink;

/// Reads bytes as they come.
pub struct Parser<'sink> {
    sink: Box<Sink<'sink>>,
    encoding: Option<Encoding>,
    /// The beginning of a line whose end has not come yet, and of UTF-16 an odd byte before that.
    rest: Vec<u8>,
    undecoded: Vec<u8>,
    line: u64,
    overlong: bool,
    readers: Readers,
}

/// The state of every reader.
#[derive(Default)]
struct Readers {
    documents: Documents,
    text: TextReader,
    iozone: IozoneReader,
    iostat: IostatReader,
    sweep: SweepReader,
    log: LogReader,
    last_terse: Option<Reading>,
}

impl<'sink> Parser<'sink> {
    /// A parser that tells `sink` what it finds.
    pub fn new(sink: impl FnMut(Event) + 'sink) -> Self {
        Parser {
            sink: Box::new(sink),
            encoding: None,
            rest: Vec::new(),
            undecoded: Vec::new(),
            line: 0,
            overlong: false,
            readers: Readers::default(),
        }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        match self.encoding {
            None => {
                self.undecoded.extend_from_slice(bytes);
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

    /// The end of the input.
    pub fn finish(mut self) {
        if self.encoding.is_none() {
            self.start();
        }
        if !self.rest.is_empty() {
            let line = std::mem::take(&mut self.rest);
            self.take_line(&line);
        }
        self.readers.finish(&mut *self.sink);
    }

    fn feed_utf8(&mut self, mut bytes: &[u8]) {
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
        let mut start = 0;
        for end in memchr_iter(b'\n', bytes) {
            self.take_line(&bytes[start..end]);
            start = end + 1;
        }
        self.keep(&bytes[start..]);
    }

    fn keep(&mut self, part: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.rest.len());
        if part.len() > room && !self.overlong {
            self.overlong = true;
            let what = format!("the line is longer than {} MiB; the rest of it is left out", LONGEST_LINE >> 20);
            (self.sink)(Event::damage(self.line + 1, what));
        }
        self.rest.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn take_line(&mut self, line: &[u8]) {
        self.line += 1;
        // Progress overwrites itself: its lines end in CR alone.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = match line.iter().rposition(|&byte| byte == b'\r') {
            Some(last) if last + 1 < line.len() => {
                for part in line[..last].split(|&byte| byte == b'\r') {
                    self.readers.line(self.line, &decode::unwrapped(part), &mut *self.sink);
                }
                &line[last + 1..]
            }
            _ => line,
        };
        self.readers.line(self.line, &decode::unwrapped(line), &mut *self.sink);
    }
}

impl Readers {
    fn line(&mut self, number: u64, line: &str, sink: &mut Sink<'_>) {
        if let Some(collected) = self.documents.line(number, line) {
            match collected {
                Collected::More => {}
                Collected::Whole(document) => self.document(&document, sink),
                Collected::NotOurs(lines) => {
                    for (number, line) in lines {
                        self.plain(number, &line, sink);
                    }
                }
            }
            return;
        }
        self.plain(number, line, sink);
    }

    fn document(&mut self, document: &documents::Document, sink: &mut Sink<'_>) {
        self.text.answered_elsewhere();
        document.read(sink);
    }

    fn plain(&mut self, number: u64, line: &str, sink: &mut Sink<'_>) {
        if self.terse(number, line, sink) {
            return;
        }
        if self.text.line(number, line, sink) {
            self.log.end(sink);
            return;
        }
        let others = self.iozone.line(number, line, sink)
            || self.iostat.line(number, line, sink)
            || self.sweep.line(number, line, sink)
            || self.log.line(number, line, sink);
        if others {
            self.text.followed_by_another(sink);
        }
    }

    /// Lines of fields; that of version 2 has its description on a line of its own.
    fn terse(&mut self, number: u64, line: &str, sink: &mut Sink<'_>) -> bool {
        let text = crate::numeral::trimmed(line);
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
            Some(Ok(reading)) => {
                self.text.answered_elsewhere();
                self.last_terse = Some(reading);
                true
            }
            Some(Err(what)) => {
                sink(Event::damage(number, what));
                true
            }
            None => false,
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        if let Some(document) = self.documents.finish() {
            match document {
                Collected::Whole(document) => self.document(&document, sink),
                Collected::NotOurs(lines) => {
                    for (number, line) in lines {
                        self.plain(number, &line, sink);
                    }
                }
                Collected::More => {}
            }
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

/// Everything in a text that fits in memory.
pub fn parse(bytes: &[u8]) -> (Vec<Reading>, Vec<Damage>) {
    let (mut readings, mut damages) = (Vec::new(), Vec::new());
    let mut parser = Parser::new(|event| match event {
        Event::Reading(reading) => readings.push(reading),
        Event::Damage(damage) => damages.push(damage),
    });
    parser.feed(bytes);
    parser.finish();
    (readings, damages)
}
