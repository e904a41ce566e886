//! Text pages of the PDF: headings, paragraphs and tables in the embedded font, broken into lines and pages.

use super::html::escaped;
use super::table::shown;
use super::{Check, Page};
use crate::font::{FAMILY, Measure};
use serde_json::Value;

/// Width of A4 in points.
pub(super) const WIDTH: f32 = 595.0;
/// Height of A4 in points.
pub(super) const HEIGHT: f32 = 842.0;
/// Page margin in points.
pub(super) const MARGIN: f32 = 32.0;
/// Most rows of the table of numbers in the PDF; the HTML page and its CSV have all rows.
const MOST_ROWS: usize = 2000;

const INK: &str = "#1a2433";
const SOFT: &str = "#5b6776";

/// One page.
#[derive(Debug)]
pub(super) struct TextPage {
    /// Positioned text, as SVG.
    pub(super) words: String,
    /// Vertical position of the end of the text, in points.
    pub(super) end: f32,
    /// A picture below the text.
    pub(super) drawing: Option<String>,
}

impl TextPage {
    /// An empty page.
    pub(super) fn blank() -> TextPage {
        TextPage { words: String::new(), end: MARGIN, drawing: None }
    }

    /// The text as an SVG document.
    pub(super) fn svg(&self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"{FAMILY}\">{}</svg>",
            self.words
        )
    }
}

/// Font size, weight and colour of text.
#[derive(Clone, Copy)]
struct Type {
    size: f32,
    weight: &'static str,
    ink: &'static str,
}

const TITLE: Type = Type { size: 16.0, weight: "bold", ink: INK };
const HEAD: Type = Type { size: 12.0, weight: "bold", ink: INK };
const SMALL_HEAD: Type = Type { size: 8.5, weight: "bold", ink: INK };
const BODY: Type = Type { size: 8.5, weight: "normal", ink: INK };
const REMARK: Type = Type { ink: "#96600a", ..BODY };
const FINE: Type = Type { size: 7.0, weight: "normal", ink: SOFT };

/// Lays out text page by page.
pub(super) struct Writer {
    measure: Measure,
    text_pages: Vec<TextPage>,
}

/// Writes a section; returns false if it is empty.
type Section = fn(&mut Writer, &Page) -> bool;

impl Writer {
    /// Sections after the pictures.
    pub(super) const SECTIONS: [(&'static str, Section); 3] =
        [("All numbers", Writer::numbers), ("Checks", Writer::checks), ("Where it was measured", Writer::surroundings)];

    /// Creates an empty writer; `None` if the embedded font cannot be parsed.
    pub(super) fn new() -> Option<Writer> {
        Some(Writer { measure: Measure::new()?, text_pages: Vec::new() })
    }

    /// Returns the pages written since the last call.
    pub(super) fn take(&mut self) -> Vec<TextPage> {
        std::mem::take(&mut self.text_pages)
    }

    /// Writes title, sentences and remarks.
    pub(super) fn top(&mut self, page: &Page) {
        self.paragraph(&page.title, TITLE, MARGIN);
        self.gap(3.0);
        page.sentences.iter().for_each(|sentence| self.paragraph(sentence, BODY, MARGIN));
        page.remarks.iter().for_each(|remark| self.paragraph(remark, REMARK, MARGIN));
        self.paragraph(&format!("Made by {} on {}.", page.made_by, page.made_at), FINE, MARGIN);
        self.gap(8.0);
    }

    fn numbers(&mut self, page: &Page) -> bool {
        let (columns, rows) = (&page.numbers.columns, &page.numbers.rows);
        if rows.is_empty() {
            return false;
        }
        self.paragraph("All numbers", HEAD, MARGIN);
        let heads: Vec<String> = columns
            .iter()
            .map(|column| {
                if column.unit.is_empty() {
                    column.title.to_owned()
                } else {
                    format!("{} ({})", column.title, column.unit)
                }
            })
            .collect();
        let cells: Vec<Vec<String>> = rows.iter().take(MOST_ROWS).map(|row| row.iter().map(cell).collect()).collect();
        let right: Vec<bool> =
            (0..columns.len()).map(|at| rows.iter().any(|row| row.get(at).is_some_and(Value::is_number))).collect();
        self.table(&heads, &cells, &right);
        if rows.len() > MOST_ROWS {
            let left_out = rows.len() - MOST_ROWS;
            self.paragraph(&format!("{left_out} more rows are in the page (.html) and its CSV."), FINE, MARGIN);
        }
        true
    }

    fn checks(&mut self, page: &Page) -> bool {
        if page.checks.is_empty() {
            return false;
        }
        self.paragraph("Checks", HEAD, MARGIN);
        let mut of = None;
        for check in &page.checks {
            if of != Some(&check.of) {
                self.gap(5.0);
                self.keep(60.0);
                self.paragraph(&check.of, SMALL_HEAD, MARGIN);
                of = Some(&check.of);
            }
            self.check(check);
        }
        true
    }

    fn check(&mut self, check: &Check) {
        let ink = match check.verdict.as_str() {
            "TRUSTED" => "#1d7f5a",
            "NOT A STORAGE RESULT" => "#a31328",
            "VALID WITH LIMITS" => "#96600a",
            _ => SOFT,
        };
        let head = Type { size: 7.5, weight: "bold", ink };
        self.paragraph(&format!("{} · {}", check.check, check.verdict), head, MARGIN + 10.0);
        self.paragraph(&check.sentence, BODY, MARGIN + 10.0);
        let evidence: Vec<String> =
            check.evidence.iter().map(|(name, value)| format!("{name} = {}", shown(*value))).collect();
        self.paragraph(&evidence.join(",  "), FINE, MARGIN + 10.0);
        self.gap(2.0);
    }

    fn surroundings(&mut self, page: &Page) -> bool {
        if page.runs.is_empty() {
            return false;
        }
        self.paragraph("Where it was measured", HEAD, MARGIN);
        for run in &page.runs {
            self.gap(6.0);
            self.keep(60.0);
            self.paragraph(&run.source, SMALL_HEAD, MARGIN);
            for (what, which) in &run.facts {
                self.fact(what, which);
            }
            if let Some(command) = &run.command {
                self.fact("to repeat it", command);
            }
        }
        true
    }

    /// Writes a name on the left and its value on the right.
    fn fact(&mut self, what: &str, which: &str) {
        let from = MARGIN + 95.0;
        let name = self.cut(what, Type { ink: SOFT, ..BODY }, 90.0);
        let lines = self.lines(which, BODY, WIDTH - MARGIN - from);
        for (at, line) in lines.iter().enumerate() {
            let y = self.advance(BODY);
            if at == 0 {
                self.put(MARGIN, y, &name, Type { ink: SOFT, ..BODY }, "start");
            }
            self.put(from, y, line, BODY, "start");
        }
    }

    fn paragraph(&mut self, text: &str, face: Type, from: f32) {
        for line in self.lines(text, face, WIDTH - MARGIN - from) {
            let y = self.advance(face);
            self.put(from, y, &line, face, "start");
        }
    }

    /// Writes a table as wide as the page, in the largest font size that fits; the longest texts are truncated.
    fn table(&mut self, heads: &[String], rows: &[Vec<String>], right: &[bool]) {
        let room = WIDTH - 2.0 * MARGIN;
        let natural = |writer: &Writer, size: f32| -> Vec<f32> {
            let bold = Type { size, ..SMALL_HEAD };
            let face = Type { size, ..BODY };
            let widest = |at: usize| {
                let cells = rows.iter().take(200).filter_map(|row| row.get(at)).map(|text| writer.width(text, face));
                cells.fold(writer.width(&heads[at], bold), f32::max).min(size * 16.0) + size * 0.9
            };
            (0..heads.len()).map(widest).collect()
        };
        let mut size = 7.5;
        let mut widths = natural(self, size);
        while widths.iter().sum::<f32>() > room && size > 3.6 {
            size -= 0.3;
            widths = natural(self, size);
        }
        let squeeze = (room / widths.iter().sum::<f32>()).min(1.0);
        widths.iter_mut().for_each(|width| *width *= squeeze);
        let face = Type { size, ..BODY };
        let mut text_page = usize::MAX;
        for row in rows {
            // The headings are repeated before the first row and at the top of every page.
            if text_page != self.text_pages.len() || self.is_full(face) {
                if self.is_full(face) {
                    self.text_pages.push(TextPage::blank());
                }
                text_page = self.text_pages.len();
                self.row(heads, &widths, right, Type { size, ..SMALL_HEAD });
            }
            self.row(row, &widths, right, face);
        }
    }

    fn row(&mut self, cells: &[String], widths: &[f32], right: &[bool], face: Type) {
        let y = self.advance(face);
        let mut x = MARGIN;
        for ((text, &width), &right) in cells.iter().zip(widths).zip(right) {
            let text = self.cut(text, face, width - face.size * 0.6);
            if right {
                self.put(x + width - face.size * 0.8, y, &text, face, "end");
            } else {
                self.put(x, y, &text, face, "start");
            }
            x += width;
        }
        if let Some(text_page) = self.text_pages.last_mut() {
            let (below, end) = (y + face.size * 0.42, WIDTH - MARGIN);
            text_page
                .words
                .push_str(&format!("<path d=\"M{MARGIN} {below:.2}H{end}\" stroke=\"#e3e7ec\" stroke-width=\"0.5\"/>"));
        }
    }

    fn is_full(&self, face: Type) -> bool {
        self.text_pages.last().is_none_or(|text_page| text_page.end + face.size * 1.5 > HEIGHT - MARGIN)
    }

    /// Baseline of the next line, on a new page if the current one is full.
    fn advance(&mut self, face: Type) -> f32 {
        if self.is_full(face) {
            self.text_pages.push(TextPage::blank());
        }
        let Some(text_page) = self.text_pages.last_mut() else { return MARGIN };
        text_page.end += face.size * 1.45;
        text_page.end - face.size * 0.4
    }

    fn gap(&mut self, points: f32) {
        if let Some(text_page) = self.text_pages.last_mut() {
            text_page.end += points;
        }
    }

    /// Starts a new page unless `points` are left on this one, so that no heading is alone at the bottom.
    fn keep(&mut self, points: f32) {
        if self.text_pages.last().is_some_and(|text_page| text_page.end + points > HEIGHT - MARGIN) {
            self.text_pages.push(TextPage::blank());
        }
    }

    fn put(&mut self, x: f32, y: f32, text: &str, face: Type, anchor: &str) {
        let Some(text_page) = self.text_pages.last_mut().filter(|_| !text.is_empty()) else { return };
        let Type { size, weight, ink } = face;
        text_page.words.push_str(&format!(
            "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size:.2}\" font-weight=\"{weight}\" fill=\"{ink}\" \
             text-anchor=\"{anchor}\">{}</text>",
            escaped(text)
        ));
    }

    fn width(&self, text: &str, face: Type) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "a width on a page")]
        let width = self.measure.width(text, &format!("{} {}px {FAMILY}", face.weight, face.size)) as f32;
        width
    }

    /// Truncates text to the available width.
    fn cut(&self, text: &str, face: Type, room: f32) -> String {
        let text = plain(text);
        if self.width(&text, face) <= room {
            return text;
        }
        let mut letters: Vec<char> = text.chars().take(200).collect();
        while letters.len() > 1 && self.width(&letters.iter().collect::<String>(), face) + face.size > room {
            letters.pop();
        }
        letters.push('…');
        letters.into_iter().collect()
    }

    /// Breaks text into lines that fit, at blanks, and inside words that are too long.
    fn lines(&self, text: &str, face: Type, room: f32) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = String::new();
        let mut used = 0.0;
        for word in plain(text).split(' ').filter(|word| !word.is_empty()) {
            let blank = if line.is_empty() { "" } else { " " };
            let wide = self.width(word, face);
            if used + self.width(blank, face) + wide <= room {
                used += self.width(blank, face) + wide;
                line.push_str(blank);
                line.push_str(word);
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            used = 0.0;
            for letter in word.chars() {
                let wide = self.width(letter.encode_utf8(&mut [0; 4]), face);
                if used + wide > room && !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                    used = 0.0;
                }
                line.push(letter);
                used += wide;
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }
}

/// Removes control characters, and limits the length to a page.
fn plain(text: &str) -> String {
    let steers = |letter: &char| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
    };
    text.chars().take(4000).map(|letter| if steers(&letter) { ' ' } else { letter }).collect()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Number(number) => number.as_f64().map(shown).unwrap_or_default(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
