//! JSON documents embedded in other text: detects their start and end, and recovers parts of damaged ones.

use crate::event::{Event, Line, Sink};
use crate::fio::json as fio_json;
use crate::tree::{Object, Tree};
use crate::{iostat, result_as_reading};
use model::RunResult;
use model::reading::{Content, Reading};

/// Size of the largest document read, in bytes.
const LARGEST: usize = 256 << 20;
/// Bytes within which a document must show a known key.
const PATIENCE: usize = 4096;
/// Known keys, one of which is near the start of every supported document.
const KEYS: &[&str] = &["\"fio version\"", "\"sysstat\"", "\"schema\"", "\"jobs\"", "\"client_stats\""];

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
            None if line.first() == b'{' => Box::new(Document { first_line: number, ..Document::default() }),
            None => return None,
        };
        let line = line.whole;
        // fio's documents begin with a single brace on a line: a second one means that the first was cut off.
        if document.ours && document.depth > 0 && line == "{" && !document.text.is_empty() && !document.in_string {
            let cut =
                std::mem::replace(&mut document, Box::new(Document { first_line: number, ..Document::default() }));
            document.push(line);
            self.open = Some(document);
            return Some(Collected::Whole(cut));
        }
        document.push(line);
        if !document.ours && (document.text.len() > PATIENCE || document.depth <= 0) {
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
            self.ours = KEYS.iter().any(|key| self.text.contains(key));
        }
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
        match Tree::of(&self.text) {
            Ok(value) => self.read_value(&value, json, sink),
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
        if value.get("sysstat").is_some() {
            iostat::from_json(value, self.first_line, sink);
        } else if let Some(tests) = value.get("tests").and_then(Tree::as_list) {
            self.read_survey(tests, json, sink);
        } else if value.get("schema").is_some() {
            match crate::native::read(&self.text) {
                Ok(result) => sink(Event::Reading(self.own(result, json))),
                Err(error) => sink(Event::damage(self.first_line, error.to_string())),
            }
        } else {
            json.read(value, self.first_line, sink);
        }
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
        for list in ["jobs", "client_stats"] {
            if let Some(at) = self.text.find(&format!("\"{list}\"")) {
                let entries = whole_entries(&self.text[at..]);
                if !entries.is_empty() {
                    let head = self.text.lines().find_map(|line| line.trim().strip_prefix("\"fio version\" : \""));
                    let mut root = Object::default();
                    if let Some(version) = head.and_then(|rest| rest.split('"').next()) {
                        root.set("fio version".into(), Tree::Text(version.into()));
                    }
                    if let Some(global) = self.whole_object("global options") {
                        root.set("global options".into(), global);
                    }
                    root.set(list.into(), Tree::List(entries));
                    json.read(&Tree::Object(root), self.first_line, sink);
                    return;
                }
            }
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
