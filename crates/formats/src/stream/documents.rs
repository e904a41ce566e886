//! JSON documents embedded in other text: detects their start and end, and recovers parts of damaged ones.
//!
//! Owns what in a document is a result, at any depth: other programs put fio's documents into their own.

use super::{Parser, commands};
use crate::event::{Event, Line, Repeated, Sink};
use crate::fio::json as fio_json;
use crate::tree::{Object, Tree};
use crate::{iostat, result_as_reading};
use model::RunResult;
use model::reading::{Content, Reading};

/// Size of the largest document read, in bytes.
const LARGEST: usize = 256 << 20;
/// Bytes within which a document must show a known key.
const PATIENCE: usize = 1 << 20;
/// Known keys, one of which is in every supported document. The last two are of fio's output in a string.
const KEYS: &[&str] = &[
    "\"fio version\"",
    "\"sysstat\"",
    "\"schema\"",
    "\"jobs\"",
    "\"client_stats\"",
    "\"jobname\"",
    "_schema\"",
    "fio version\\\"",
    GROUP,
];
/// In every report of fio as text: `a: (g=0): rw=..`, `a: (groupid=0, ..`.
const GROUP: &str = ": (g";

/// A document, possibly incomplete.
#[derive(Debug, Default)]
pub(super) struct Document {
    first_line: u64,
    text: String,
    /// Number of open braces and brackets.
    depth: i64,
    in_string: bool,
    escaped: bool,
    ours: bool,
    too_large: bool,
}

/// Result of adding a line.
pub(super) enum Collected {
    /// The line belongs to a document that continues.
    More,
    /// The line ended a document.
    Whole(Box<Document>),
    /// The line showed that these lines are not a supported document.
    NotOurs(Vec<(u64, String)>),
}

/// Collects lines into documents.
#[derive(Debug, Default)]
pub(super) struct Documents {
    open: Option<Box<Document>>,
}

impl Documents {
    /// Adds a line; `None` if no document is open and none begins here.
    pub(super) fn line(&mut self, line: Line<'_>) -> Option<Collected> {
        let number = line.number;
        let mut document = match self.open.take() {
            Some(open) => open,
            None if opens(line.text) => Box::new(Document { first_line: number, ..Document::default() }),
            None => {
                let mut document = Document { first_line: number, ..Document::default() };
                document.push(behind_words(line.text)?);
                return Some(Collected::Whole(Box::new(document)));
            }
        };
        let line = line.whole;
        // fio's documents begin with a single brace on a line: a second one means that the first was cut off.
        if document.ours && document.depth > 0 && line == "{" && !document.text.is_empty() && !document.in_list() {
            let cut =
                std::mem::replace(&mut document, Box::new(Document { first_line: number, ..Document::default() }));
            document.push(line);
            self.open = Some(document);
            return Some(Collected::Whole(cut));
        }
        document.push(line);
        let is_other = document.text.len() > PATIENCE || document.depth <= 0 || !is_of_json(line);
        if !document.ours && is_other {
            return Some(document.given_back());
        }
        if document.depth <= 0 {
            return Some(Collected::Whole(document));
        }
        self.open = Some(document);
        Some(Collected::More)
    }

    /// The open document at the end of the input.
    pub(super) fn finish(&mut self) -> Option<Collected> {
        let document = self.open.take()?;
        Some(if document.ours { Collected::Whole(document) } else { document.given_back() })
    }
}

impl Document {
    fn push(&mut self, line: &str) {
        if self.text.len() + line.len() > LARGEST {
            self.too_large = true;
        } else {
            self.text.push_str(line);
            self.text.push('\n');
        }
        // Nearly all lines have a name and a number, and no bracket.
        if may_have_bracket(line) {
            line.bytes().for_each(|byte| self.count(byte));
        }
        // fio does not escape strings, so a string is taken to end with its line.
        self.in_string = false;
        self.escaped = false;
        if !self.ours {
            self.ours = KEYS.iter().any(|key| line.contains(key));
        }
    }

    /// True where the next value of a list is expected.
    fn in_list(&self) -> bool {
        self.text.trim_end().ends_with('[') || (self.text.starts_with('[') && self.depth == 1)
    }

    fn count(&mut self, byte: u8) {
        if self.escaped {
            self.escaped = false;
            return;
        }
        match byte {
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' | b'[' if !self.in_string => self.depth += 1,
            b'}' | b']' if !self.in_string => self.depth -= 1,
            _ => {}
        }
    }

    fn given_back(&self) -> Collected {
        Collected::NotOurs((self.first_line..).zip(self.text.lines().map(str::to_owned)).collect())
    }

    /// Reads the document, or its intact parts.
    pub(super) fn read(&self, json: &mut fio_json::Reader, sink: &mut Sink<'_>) {
        if self.too_large {
            let what = format!("the JSON document that begins here is larger than {} MiB", LARGEST >> 20);
            sink(Event::damage(self.first_line, what));
        }
        let mended;
        let mut read = values(&self.text);
        if read.is_err()
            && let Some(text) = without_nan(&self.text)
        {
            mended = text;
            read = values(&mended).or(read);
        }
        match read {
            Ok(values) => match values.as_slice() {
                // Of a document that is a result, the text is at hand, with the lines of its mistakes.
                [only] if is_native(only) => self.read_native(&self.text, json, sink),
                values => values.iter().for_each(|value| self.read_value(value, json, sink)),
            },
            Err(error) => {
                let at = error.line().min(self.text.lines().count());
                let line = self.first_line + u64::try_from(at).unwrap_or(1).saturating_sub(1);
                let what = if error.is_eof() {
                    "the JSON document ends here, too early".to_owned()
                } else {
                    format!("damaged JSON: {error}")
                };
                sink(Event::damage(line, what));
                self.salvage(json, sink);
            }
        }
    }

    fn read_value(&self, value: &Tree<'_>, json: &mut fio_json::Reader, sink: &mut Sink<'_>) {
        let mut lines = Lines { document: self, after: 0 };
        if self.find(value, &mut lines, json, sink) {
            return;
        }
        match value.as_object().and_then(commands::explained) {
            Some(what) => sink(Event::damage(self.first_line, what)),
            None if value.get("schema").is_some() => self.read_native(&self.text, json, sink),
            None => json.read(value, self.first_line, sink),
        }
    }

    /// Reads the results in a value; true if there are any.
    fn find(&self, value: &Tree<'_>, lines: &mut Lines<'_>, json: &mut fio_json::Reader, sink: &mut Sink<'_>) -> bool {
        match value {
            Tree::Object(object) => self.find_in_object(value, object, lines, json, sink),
            Tree::List(list) => match text_of_lines(list) {
                Some(text) => self.find_in_text(&text, json, sink),
                None => list.iter().fold(false, |found, value| self.find(value, lines, json, sink) | found),
            },
            Tree::Text(text) if text.contains('\n') || text.starts_with('{') => self.find_in_text(text, json, sink),
            _ => false,
        }
    }

    fn find_in_object(
        &self,
        value: &Tree<'_>,
        object: &Object<'_>,
        lines: &mut Lines<'_>,
        json: &mut fio_json::Reader,
        sink: &mut Sink<'_>,
    ) -> bool {
        let tests = value.get("tests").and_then(Tree::as_list);
        if object.has("sysstat") {
            iostat::from_json(value, self.first_line, sink);
        } else if commands::read(object, self.first_line, sink) {
            // Its rows are all that it holds.
        } else if let (Some(tests), false) = (tests, commands::is_of_command(object)) {
            self.read_survey(tests, json, sink);
        } else if is_native(value) {
            self.read_native(&serde_json::to_string(value).unwrap_or_default(), json, sink);
        } else if object.has("fio version") || is_list_of_jobs(object) {
            json.read(value, lines.next(), sink);
        } else if is_job(object) {
            let mut root = Object::default();
            root.set("jobs".into(), Tree::List(vec![value.clone()]));
            json.read(&Tree::Object(root), lines.next(), sink);
        } else {
            // Ansible has the same output as one string and as a list of lines.
            let is_again = |name: &str| name.strip_suffix("_lines").is_some_and(|name| object.has(name));
            let members = object.iter().filter(|(name, _)| !is_again(name));
            return members.fold(false, |found, (_, value)| self.find(value, lines, json, sink) | found);
        }
        true
    }

    fn read_native(&self, text: &str, json: &fio_json::Reader, sink: &mut Sink<'_>) {
        match crate::native::read(text) {
            Ok(result) => sink(Event::Reading(self.own(result, json))),
            Err(error) => sink(Event::damage(self.first_line, error.to_string())),
        }
    }

    /// Reads what a program printed that another one keeps as a string.
    fn find_in_text(&self, text: &str, json: &fio_json::Reader, sink: &mut Sink<'_>) -> bool {
        if !["\"fio version\"", GROUP].iter().any(|mark| text.contains(mark)) {
            return false;
        }
        let line = self.first_line;
        let mut found = false;
        let at_this_line = |event| {
            let moved = |mut reading: Reading| {
                reading.line = line;
                if let Content::Run(run) = &mut reading.found {
                    run.jobs.iter_mut().for_each(|job| job.line = line);
                }
                reading
            };
            found = true;
            sink(match event {
                Event::Reading(reading) => Event::Reading(moved(reading)),
                Event::Repeated(other) => Event::Repeated(Repeated { reading: moved(other.reading), line, ..other }),
                Event::Damage(damage) => Event::damage(line, damage.what),
            });
        };
        let mut parser = if json.gives_results { Parser::of_results(at_this_line) } else { Parser::new(at_this_line) };
        parser.feed(text.as_bytes());
        parser.finish();
        found
    }

    fn own(&self, result: RunResult, json: &fio_json::Reader) -> Reading {
        let reading = result_as_reading::reading(&result, "native", self.first_line);
        Reading { result: json.gives_results.then(|| Box::new(result)), ..reading }
    }

    /// Reads the results of a survey, one run per test.
    fn read_survey(&self, tests: &[Tree<'_>], json: &fio_json::Reader, sink: &mut Sink<'_>) {
        let round = |test: &Tree<'_>| test.get("round").and_then(Tree::as_number);
        let is_repeated = tests.iter().filter_map(round).any(|round| round > 1.0);
        for (number, test) in tests.iter().enumerate() {
            match test.get("result").map(crate::native::of_value) {
                Some(Ok(result)) => {
                    let mut reading = self.own(result, json);
                    if let (Content::Run(run), true) = (&mut reading.found, is_repeated) {
                        run.round = round(test);
                    }
                    sink(Event::Reading(reading));
                }
                Some(Err(error)) => {
                    sink(Event::damage(self.first_line, format!("test {} of a survey: {error}", number + 1)))
                }
                None => sink(Event::damage(self.first_line, format!("test {} of a survey has no result", number + 1))),
            }
        }
    }

    /// Recovers the intact entries of the innermost lists: tests of a survey, jobs of fio, devices of iostat.
    fn salvage(&self, json: &mut fio_json::Reader, sink: &mut Sink<'_>) {
        if let Some(tests) = self.tests_of_survey() {
            self.read_survey(&whole_entries(tests), json, sink);
            return;
        }
        let mut found = false;
        for list in ["jobs", "client_stats"] {
            for (at, _) in self.text.match_indices(&format!("\"{list}\"")) {
                let entries = whole_entries(&self.text[at..]);
                if !entries.is_empty() {
                    let before = &self.text[..at];
                    let head = before.rfind("\"fio version\"").map(|at| &before[at + "\"fio version\"".len()..]);
                    let mut root = Object::default();
                    if let Some(version) = head.and_then(|rest| rest.split('"').nth(1)) {
                        root.set("fio version".into(), Tree::Text(version.into()));
                    }
                    if let Some(global) = self.whole_object("global options") {
                        root.set("global options".into(), global);
                    }
                    root.set(list.into(), Tree::List(entries));
                    json.read(&Tree::Object(root), self.first_line, sink);
                    found = true;
                }
            }
        }
        if found {
            return;
        }
        if let Some(at) = self.text.find("\"disk\"") {
            let disks = self.text[at..].lines().filter_map(|line| {
                Tree::of(line.trim().trim_end_matches(',')).ok().filter(|value| value.get("disk_device").is_some())
            });
            for disk in disks {
                iostat::device_from_json(&disk, None, self.first_line, sink);
            }
        }
    }
}

impl Document {
    /// The text from the list of a survey's tests on; its request has a list of that name, too, of words.
    fn tests_of_survey(&self) -> Option<&str> {
        let is_list = |text: &&str| {
            let after = text["\"tests\"".len()..].trim_start().strip_prefix(':').map(str::trim_start);
            after.and_then(|after| after.strip_prefix('[')).is_some_and(|after| after.trim_start().starts_with('{'))
        };
        let found = self.text.match_indices("\"tests\"").map(|(at, _)| &self.text[at..]).find(is_list);
        found.filter(|_| self.text.contains("\"schema\""))
    }

    /// The object with this key, if it is intact.
    fn whole_object(&self, key: &str) -> Option<Tree<'_>> {
        let after = &self.text[self.text.find(&format!("\"{key}\""))? + key.len() + 2..];
        whole_entries_of(after.trim_start().strip_prefix(':')?).into_iter().next()
    }
}

/// The lines of fio's documents in a document of another program.
struct Lines<'document> {
    document: &'document Document,
    /// Where the search for the next one begins.
    after: usize,
}

impl Lines<'_> {
    /// The line where the next document of fio begins.
    fn next(&mut self) -> u64 {
        let text = &self.document.text;
        let Some(at) = text[self.after..].find("\"fio version\"").map(|at| at + self.after) else {
            return self.document.first_line;
        };
        let opens = text[..at].rfind('{').unwrap_or(at);
        self.after = at + 1;
        self.document.first_line + text[..opens].bytes().filter(|byte| *byte == b'\n').count() as u64
    }
}

/// True for the first line of a document. A line that is only a bracket begins a list whose entries are documents.
fn opens(line: &str) -> bool {
    match line.as_bytes() {
        [b'{', rest @ ..] => matches!(rest.trim_ascii_start(), [] | [b'"' | b'}', ..]),
        [b'[', rest @ ..] => matches!(rest.trim_ascii_start(), [b'{' | b'[', ..]),
        _ => false,
    }
}

/// A document of fio on one line behind words, such as `Result: {"fio version": ..}`.
fn behind_words(line: &str) -> Option<&str> {
    const LEAST: usize = 256;
    let is_long = line.len() > LEAST;
    let at = if is_long { memchr::memmem::find(line.as_bytes(), b"{\"fio version\"") } else { None };
    at.map(|at| &line[at..])
}

/// True if a line can be one of JSON.
fn is_of_json(line: &str) -> bool {
    match line.trim_ascii_start().as_bytes() {
        [] | [b'{' | b'}' | b'[' | b']' | b'"' | b',' | b':' | b'-' | b'0'..=b'9', ..] => true,
        text => ["true", "false", "null", "nan", "inf"].iter().any(|word| text.starts_with(word.as_bytes())),
    }
}

/// The values in a text; commas and brackets behind one are of a list around it.
fn values(text: &str) -> serde_json::Result<Vec<Tree<'_>>> {
    let mut found = Vec::new();
    let mut rest = text.trim_ascii_start();
    while found.is_empty() || rest.starts_with(['{', '[']) {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Tree<'_>>();
        let Some(value) = stream.next() else { break };
        found.push(value?);
        rest = rest[stream.byte_offset()..]
            .trim_start_matches(|letter: char| letter.is_whitespace() || ",;])".contains(letter));
    }
    Ok(found)
}

/// The text with null in place of `nan` and `inf`, which old versions of fio print; `None` if there are none.
fn without_nan(text: &str) -> Option<String> {
    let is_word = |at: usize, word: &str| {
        let before = text[..at].trim_end_matches('-').trim_end();
        let after = text[at + word.len()..].trim_start();
        before.ends_with([':', ',', '[']) && (after.is_empty() || after.starts_with([',', '}', ']']))
    };
    let mut mended = String::new();
    let mut copied = 0;
    let mut words: Vec<(usize, &str)> = text.match_indices("nan").chain(text.match_indices("inf")).collect();
    words.retain(|&(at, word)| is_word(at, word));
    words.sort_unstable();
    for (at, word) in words {
        let start = text[..at].trim_end_matches('-').len();
        if start >= copied {
            mended.push_str(&text[copied..start]);
            mended.push_str("null");
            copied = at + word.len();
        }
    }
    (copied > 0).then(|| mended + &text[copied..])
}

/// The lines of a program's output that are kept as a list, as one text.
fn text_of_lines(list: &[Tree<'_>]) -> Option<String> {
    let lines: Vec<&str> = list.iter().map(Tree::as_text).collect::<Option<_>>()?;
    (lines.len() > 1).then(|| lines.join("\n") + "\n")
}

/// True for a result of plumb.
fn is_native(value: &Tree<'_>) -> bool {
    value.get("schema").is_some() && value.get("result").is_some()
}

/// True for an entry of fio's list of jobs, which some programs keep alone.
fn is_job(object: &Object<'_>) -> bool {
    let is_direction = |name: &&str| {
        object.get(name).is_some_and(|found| found.get("total_ios").is_some() || found.get("iops").is_some())
    };
    object.has("jobname") && ["read", "write", "trim", "mixed"].iter().any(is_direction)
}

fn is_list_of_jobs(object: &Object<'_>) -> bool {
    let jobs = object.get("jobs").and_then(Tree::as_list).unwrap_or_default();
    object.get("client_stats").is_some_and(|list| list.as_list().is_some())
        || jobs.iter().any(|job| job.get("jobname").is_some())
}

/// False for most lines that open or close nothing; none that does is missed. The brackets differ in one bit.
fn may_have_bracket(line: &str) -> bool {
    line.bytes().fold(false, |found, byte| found | ((byte & !0x20).wrapping_sub(b'[') <= b']' - b'['))
}

/// The intact entries at the start of a JSON list; damaged ones are skipped.
fn whole_entries(text: &str) -> Vec<Tree<'_>> {
    text.find('[').map_or_else(Vec::new, |open| whole_entries_of(&text[open + 1..]))
}

/// The same, of the text after the bracket.
fn whole_entries_of(text: &str) -> Vec<Tree<'_>> {
    let mut entries = Vec::new();
    let mut entry = Document::default();
    let mut start = None;
    for (at, byte) in text.bytes().enumerate() {
        let before = entry.depth;
        entry.count(byte);
        if byte == b'\n' {
            entry.in_string = false;
        }
        if before == 0 && entry.depth == 1 {
            start = Some(at);
        }
        if entry.depth < 0 {
            break;
        }
        if before == 1
            && entry.depth == 0
            && let Some(start) = start.take()
            && let Ok(value) = Tree::of(&text[start..=at])
        {
            entries.push(value);
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_bracket_is_never_passed_over() {
        for line in ["{", "}", "[", "]", "  \"a\" : {", "  },", "\\", "{}".repeat(50).as_str()] {
            assert!(may_have_bracket(line), "{line}");
        }
        for line in ["", "  \"min\" : 10,", "\"a\" : \"Z~é\"", "\"x\" : 1.5e-7", "A@`z_^"] {
            assert!(!may_have_bracket(line), "{line}");
        }
    }
}
