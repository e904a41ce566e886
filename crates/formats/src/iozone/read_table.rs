//! The table of iozone: where its columns are, by its heading, and the values of its rows.
//!
//! Values are read by column, because unselected tests are blank and wide values leave no blank between.

use super::TESTS;
use crate::read_number::whole;

/// End of the columns of file size and record size, in all versions.
const SIZE_END: usize = 16;
const RECORD_END: usize = 24;

/// Where a version has its columns.
struct Layout {
    /// The ends of the words of the heading.
    heading: &'static [usize],
    /// The ends of the values under them.
    values: &'static [usize],
}

/// The versions, as public reports of their years have them: up to 2005, to 2014, 3.43 to 3.49, and 3.5.
const LAYOUTS: &[Layout] = &[
    Layout {
        heading: &[32, 40, 48, 58, 66, 74, 82, 90, 98, 107, 116, 124, 133],
        values: &[32, 40, 49, 58, 66, 74, 82, 90, 98, 107, 116, 124, 133],
    },
    Layout {
        heading: &[32, 40, 48, 58, 66, 74, 82, 91, 100, 109, 118, 126, 135],
        values: &[32, 40, 49, 58, 66, 74, 82, 91, 100, 109, 118, 126, 135],
    },
    Layout {
        heading: &[33, 42, 50, 60, 68, 78, 87, 97, 107, 116, 125, 134, 143, 151, 160, 168, 178],
        values: &[33, 42, 51, 60, 69, 78, 87, 97, 107, 116, 125, 134, 143, 152, 161, 170, 178],
    },
    Layout {
        heading: &[33, 44, 54, 64, 74, 84, 94, 105, 116, 126, 136, 146, 156],
        values: &[34, 44, 54, 64, 74, 84, 94, 105, 116, 126, 136, 146, 156],
    },
];

/// A row: sizes in kB, and the values of its tests.
#[derive(Debug, PartialEq)]
pub(super) struct TableRow {
    pub(super) file: f64,
    pub(super) record: f64,
    pub(super) values: Vec<(&'static str, f64)>,
    /// Columns between the end of the last value and that of its column: one behind the blanks of a test that was not
    /// selected, more if it is cut.
    pub(super) gap: usize,
}

/// The columns of an open table.
#[derive(Debug)]
pub(super) struct Columns {
    /// The number of tests in the heading.
    tests: usize,
    /// Where the values end; `None` if the words of the heading do not stand as a version prints them. Then a row must
    /// have a value for each.
    ends: Option<&'static [usize]>,
    /// Columns by which the table is indented compared with iozone's output.
    shift: isize,
    /// True if the heading takes several lines, as mail programs wrap it. Then the rows do, too.
    is_wrapped: bool,
    /// A row of which a part is in the next line, and its number.
    begun: Option<(u64, String)>,
}

/// A line of a table.
pub(super) enum Found {
    /// The rest of its heading, or a part of a row.
    Part,
    /// A row, its line and its text.
    TableRow(u64, Option<TableRow>),
}

impl Columns {
    /// Reads a heading; `None` if the line is none.
    pub(super) fn of_heading(line: &str) -> Option<Self> {
        let words = words(line);
        let [(size, _), (record, end), tests @ ..] = words.as_slice() else { return None };
        if !matches!(*size, "kB" | "KB") || *record != "reclen" {
            return None;
        }
        let shift = signed(*end)? - signed(RECORD_END)?;
        let known = tests.iter().zip(TESTS).take_while(|((word, _), (test, _, _))| word == test).count();
        let stands = |layout: &&Layout| {
            let at = |end: usize| signed(end).map(|end| end - shift);
            let heading = layout.heading.get(..known);
            heading.is_some_and(|ends| tests.iter().zip(ends).all(|((_, end), known)| at(*end) == signed(*known)))
        };
        let ends = LAYOUTS.iter().find(stands).map(|layout| layout.values);
        Some(Columns { tests: known, ends, shift, is_wrapped: false, begun: None })
    }

    /// True if a line is the rest of the heading, which it extends.
    pub(super) fn goes_on(&mut self, line: &str) -> bool {
        let count = line.split_whitespace().count();
        let rest = TESTS.get(self.tests..self.tests + count).unwrap_or_default();
        let matches = !rest.is_empty() && line.split_whitespace().zip(rest).all(|(word, (test, _, _))| word == *test);
        if matches {
            (self.tests, self.ends, self.is_wrapped) = (self.tests + count, None, true);
        }
        matches
    }

    /// The length of a line up to the end of the sizes, where the values begin.
    pub(super) fn is_short(&self, line: &str) -> bool {
        self.ends.is_some() && signed(line.len()) < signed(RECORD_END).map(|end| end + self.shift)
    }

    /// True if rows are read by their number of values, which does not show whether the last one is whole.
    pub(super) fn is_in_order(&self) -> bool {
        self.ends.is_none()
    }

    /// Takes a line of numbers.
    pub(super) fn numbers(&mut self, number: u64, line: &str) -> Found {
        let Some(ends) = self.ends else {
            let (number, line) = match self.begun.take() {
                Some((first, begun)) => (first, begun + " " + line),
                None => (number, line.to_owned()),
            };
            let missing = 2 + self.tests > line.split_whitespace().count();
            if missing && self.is_wrapped {
                self.begun = Some((number, line));
                return Found::Part;
            }
            return Found::TableRow(number, self.row_in_order(&line));
        };
        let row = row_in_columns(line, ends, self.shift).or_else(|| {
            // The row may be moved on its own: blanks before the first line of a pasted text get lost.
            let own = signed(words(line).get(1)?.1)? - signed(RECORD_END)?;
            row_in_columns(line, ends, own).filter(|_| own != self.shift)
        });
        Found::TableRow(number, row)
    }

    /// A part of a row without its rest.
    pub(super) fn left(&mut self) -> Option<u64> {
        self.begun.take().map(|(number, _)| number)
    }

    /// A row that has a value for each test of the heading.
    fn row_in_order(&self, line: &str) -> Option<TableRow> {
        let numbers: Vec<f64> = line.split_whitespace().map(whole).collect::<Option<_>>()?;
        let [file, record, values @ ..] = numbers.as_slice() else { return None };
        let values = TESTS.iter().zip(values).map(|((_, test, _), value)| (*test, *value)).collect::<Vec<_>>();
        let row = TableRow { file: *file, record: *record, values, gap: 0 };
        (numbers.len() == 2 + self.tests && self.tests > 0).then_some(row)
    }
}

/// Parses a row by its columns. A value that is wider than its column moves what is after it, or fills the blank before
/// it: both are tried.
fn row_in_columns(line: &str, ends: &[usize], shift: isize) -> Option<TableRow> {
    in_columns(line, ends, shift, Wide::FillsTheBlank).or_else(|| in_columns(line, ends, shift, Wide::MovesTheRest))
}

/// Effect of a value that needs all of its column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wide {
    FillsTheBlank,
    MovesTheRest,
}

fn in_columns(line: &str, ends: &[usize], shift: isize, wide: Wide) -> Option<TableRow> {
    let place = |end: usize| usize::try_from(signed(end)? + shift).ok();
    let cell = |from: usize, to: usize| line.get(from.min(line.len())..to.min(line.len()));
    let (size_end, mut from) = (place(SIZE_END)?, place(RECORD_END)?);
    let (file, record) = (whole(cell(0, size_end)?.trim_start())?, whole(cell(size_end, from)?)?);
    let is_digit = |at: usize| line.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let (mut values, mut gap, mut moved) = (Vec::new(), 0, 0);
    for (&end, (_, test, _)) in ends.iter().zip(TESTS) {
        let mut to = place(end)? + moved;
        while wide == Wide::MovesTheRest && to > 0 && is_digit(to - 1) && is_digit(to) {
            (to, moved) = (to + 1, moved + 1);
        }
        let text = cell(from, to)?;
        if !text.trim().is_empty() {
            // Nothing can follow a value that is cut, and one that begins at once fills its column.
            let fills = from == 0 || !is_digit(from - 1) || !is_digit(from) || !text.contains([' ', '\t']);
            if gap > 1 || !fills {
                return None;
            }
            values.push((*test, whole(text)?));
            gap = to - (from + text.trim_end().len());
        }
        from = to;
    }
    cell(from, line.len())?.trim().is_empty().then_some(TableRow { file, record, values, gap })
}

/// The words of a line, and where they end.
fn words(line: &str) -> Vec<(&str, usize)> {
    let mut end = 0;
    let word = |word| {
        end += line[end..].find(word).unwrap_or_default() + str::len(word);
        (word, end)
    };
    line.split_whitespace().map(word).collect()
}

fn signed(place: usize) -> Option<isize> {
    isize::try_from(place).ok()
}
