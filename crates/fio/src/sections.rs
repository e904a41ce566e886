//! Grammar of job files: sections, options, comments, includes. Values are not interpreted here.

use crate::error::{Place, Problem, Sources};
use crate::surroundings::Surroundings;
use crate::untrusted::Trust;
use std::io;
use std::path::{Path, PathBuf};

/// One option as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assignment {
    /// The name as written.
    pub name: String,
    /// The text after `=`; `None` without one.
    pub value: Option<String>,
    /// Place of the name.
    pub name_place: Place,
    /// Place of the value (the whole option if it has none).
    pub value_place: Place,
}

/// The kind of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    /// Defaults for the jobs that follow.
    Global,
    /// A job.
    Job,
}

/// A `[section]`, or the options that follow a `--name`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// Global defaults or a job.
    pub kind: SectionKind,
    /// The name between the brackets.
    pub title: String,
    /// Place where it was opened.
    pub place: Place,
    /// Its options, in the order in which they are applied.
    pub assignments: Vec<Assignment>,
    /// Number of the file it came from, counted from 0; the command line and the first file share 0.
    pub scope: usize,
    /// True for the first job of each further file: it waits for all earlier jobs.
    pub implied_stonewall: bool,
}

impl Section {
    /// Creates an empty section; a title that starts with `global` makes it a section of defaults.
    pub(crate) fn open(title: &str, place: Place, scope: usize) -> Self {
        let kind = if title.starts_with("global") { SectionKind::Global } else { SectionKind::Job };
        Section { kind, title: title.to_owned(), place, assignments: Vec::new(), scope, implied_stonewall: false }
    }
}

/// The text of a job file with these options at the end of each section.
pub fn with_options(text: &str, added: &[String]) -> String {
    let lines: String = added.iter().map(|option| format!("{}\n", option.trim_start_matches('-'))).collect();
    let mut found = String::new();
    let mut is_in_section = false;
    for line in text.lines() {
        if line.trim_start().starts_with('[') {
            if is_in_section {
                found.push_str(&lines);
            }
            is_in_section = true;
        }
        found.push_str(line);
        found.push('\n');
    }
    found + &lines
}

/// Longest line in bytes, as in fio.
const LONGEST_LINE: usize = 8192;
/// Longest section name, as in fio.
const LONGEST_NAME: usize = 255;
/// Maximum nesting of includes.
const DEEPEST_INCLUDE: usize = 16;
/// Maximum number of included files, so that files that include each other do not loop forever.
const MOST_INCLUDES: usize = 256;

/// Reads job files into sections.
pub(crate) struct Reader<'a> {
    pub surroundings: &'a Surroundings<'a>,
    pub sources: &'a mut Sources,
    pub problems: &'a mut Vec<Problem>,
    pub sections: Vec<Section>,
    pub scope: usize,
    pub trust: Trust,
    /// Number of files included so far.
    pub includes: usize,
}

impl Reader<'_> {
    /// Reads one job file named on the command line; `asked` is the place of the name there.
    pub(crate) fn file(&mut self, path: &str, asked: &Place) {
        let name = if path == "-" { "standard input" } else { path };
        match self.surroundings.files.read(Path::new(path)) {
            Ok(bytes) => {
                let source = self.sources.add(name, String::from_utf8_lossy(&bytes).into_owned());
                self.lines(source, path, 0);
            }
            Err(error) => {
                let what = format!("unable to open the job file `{path}`: {error}");
                self.problems.push(Problem::at(asked.clone(), what, None));
            }
        }
    }

    /// Parses the lines of a source.
    fn lines(&mut self, source: usize, path: &str, depth: usize) {
        let text = self.sources.text(source).to_owned();
        let mut start = 0;
        let mut outside_reported = false;
        for line in text.split_inclusive('\n') {
            let whole = Place { source, span: start..start + line.trim_end().len() };
            if line.len() > LONGEST_LINE {
                let what = format!("the line has {} bytes; {LONGEST_LINE} is the most", line.len());
                self.problems.push(Problem::at(whole, what, None));
            } else {
                let words = without_comment(line);
                let indent = words.len() - words.trim_start().len();
                let words = words.trim();
                let place = Place { source, span: start + indent..start + indent + words.len() };
                if !words.is_empty() {
                    self.line(words, &place, path, depth, &mut outside_reported);
                }
            }
            start += line.len();
        }
    }

    /// Parses one line, without its comment and surrounding whitespace.
    fn line(&mut self, words: &str, place: &Place, path: &str, depth: usize, outside_reported: &mut bool) {
        if let Some(header) = words.strip_prefix('[') {
            self.header(header, place, depth);
            return;
        }
        if self.sections.is_empty() && !*outside_reported {
            *outside_reported = true;
            let what = format!("`{words}` is outside of a [job] section");
            let help = Some("start a section first, [global] or [name]".to_owned());
            self.problems.push(Problem::at(place.clone(), what, help));
        }
        if let Some(file) = words.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t', '='])) {
            self.include(file.trim_start_matches('=').trim(), place, path, depth);
            return;
        }
        let assignment = self.assignment(words, place);
        if let Some(section) = self.sections.last_mut() {
            section.assignments.push(assignment);
        }
    }

    /// Parses `[name]`.
    fn header(&mut self, header: &str, place: &Place, depth: usize) {
        let help = || Some("write it like [name]".to_owned());
        let Some((title, rest)) = header.rsplit_once(']') else {
            self.problems.push(Problem::at(place.clone(), "the section's name has no closing `]`", help()));
            self.sections.push(Section::open(header, place.clone(), self.scope));
            return;
        };
        if !rest.is_empty() {
            let what = format!("`{rest}` follows the section's name");
            self.problems.push(Problem::at(place.clone(), what, help()));
        } else if title.len() > LONGEST_NAME {
            let what = format!("the section's name has {} bytes; {LONGEST_NAME} is the most", title.len());
            self.problems.push(Problem::at(place.clone(), what, None));
        } else if depth > 0 {
            let help = Some("an included file holds options only".to_owned());
            self.problems.push(Problem::at(place.clone(), "an included file opens a section", help));
        }
        let title = self.surroundings.with_environment(title);
        self.sections.push(Section::open(&title, place.clone(), self.scope));
    }

    /// Parses `key=value` or `key`.
    fn assignment(&self, words: &str, place: &Place) -> Assignment {
        if words.contains("${") {
            let expanded = self.surroundings.with_environment(words);
            let (name, value) = split_assignment(&expanded);
            let value = value.map(|value| self.surroundings.with_keywords(value));
            return Assignment { name: name.to_owned(), value, name_place: place.clone(), value_place: place.clone() };
        }
        let (name, value) = split_assignment(words);
        let start = place.span.start;
        let name_place = Place { source: place.source, span: start..start + name.len() };
        let value_place = value.map_or(name_place.clone(), |value| Place {
            source: place.source,
            span: place.span.end - value.len()..place.span.end,
        });
        let value = value.map(|value| self.surroundings.with_keywords(value));
        Assignment { name: name.to_owned(), value, name_place, value_place }
    }

    /// Parses `include FILE` or `include=FILE`. A relative path is tried from the working directory first, then from
    /// the directory of the including file.
    fn include(&mut self, file: &str, place: &Place, including: &str, depth: usize) {
        if self.trust == Trust::None {
            let what = format!("--untrusted: include {file} reads another file");
            let help = Some("put its lines here".to_owned());
            self.problems.push(Problem::at(place.clone(), what, help));
            return;
        }
        if depth >= DEEPEST_INCLUDE || self.includes >= MOST_INCLUDES {
            if self.includes <= MOST_INCLUDES {
                let what = format!("includes nest deeper than {DEEPEST_INCLUDE} or are more than {MOST_INCLUDES}");
                let help = Some("look for a file that includes itself".to_owned());
                self.problems.push(Problem::at(place.clone(), what, help));
                // One past the maximum marks the error as reported, so that nested includes do not repeat it.
                self.includes = MOST_INCLUDES + 1;
            }
            return;
        }
        self.includes += 1;
        let sibling: PathBuf = Path::new(including).parent().unwrap_or(Path::new("")).join(file);
        let files = self.surroundings.files;
        let found =
            files.read(Path::new(file)).map(|bytes| (PathBuf::from(file), bytes)).or_else(|error| match error.kind() {
                // The file exists but is too large: report that, and do not look elsewhere.
                io::ErrorKind::FileTooLarge => Err(error),
                _ => files.read(&sibling).map(|bytes| (sibling.clone(), bytes)),
            });
        match found {
            Ok((path, bytes)) => {
                let path = path.to_string_lossy().into_owned();
                let source = self.sources.add(&path, String::from_utf8_lossy(&bytes).into_owned());
                self.lines(source, &path, depth + 1);
            }
            Err(error) => {
                let what = format!("cannot include `{file}`: {error}");
                self.problems.push(Problem::at(place.clone(), what, None));
            }
        }
    }
}

/// Returns the line up to `;` or `#`.
fn without_comment(line: &str) -> &str {
    line.find([';', '#']).map_or(line, |end| &line[..end])
}

/// Splits an option into name and value, without the whitespace around `=`.
fn split_assignment(words: &str) -> (&str, Option<&str>) {
    match words.split_once('=') {
        Some((name, value)) => (name.trim_end(), Some(value.trim())),
        None => (words, None),
    }
}
