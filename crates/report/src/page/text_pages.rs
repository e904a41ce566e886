//! Text pages of the PDF: headings, paragraphs and tables in the embedded font, broken into lines and pages.

use super::html::{class, escaped};
use super::{Check, Mark, Page, Surroundings};
use crate::font::{FAMILY, Measure};
use measure::text;
use serde_json::Value;

/// Width of A4 in points.
pub(super) const WIDTH: f32 = 595.0;
/// Height of A4 in points.
pub(super) const HEIGHT: f32 = 842.0;
/// Page margin in points.
pub(super) const MARGIN: f32 = 32.0;
/// Most rows of the table of numbers in the PDF; the HTML page and its CSV have all rows.
const MOST_ROWS: usize = 2000;

/// Where the values of facts begin, behind their names.
const FACTS_FROM: f32 = MARGIN + 95.0;
/// Height of a line, as a multiple of the font size.
const LINE: f32 = 1.45;

const INK: &str = "#1a2433";
const SOFT: &str = "#5b6776";

#[derive(Debug)]
pub(super) struct TextPage {
    /// Positioned text, as SVG.
    pub(super) words: String,
    /// Vertical position of the end of the text, in points.
    pub(super) end: f32,
    pub(super) drawings: Vec<PageDrawing>,
}

/// A drawing on a page, in points.
#[derive(Debug)]
pub(super) struct PageDrawing {
    pub(super) svg: String,
    /// Distance of its corner from that of the page.
    pub(super) corner: (f32, f32),
    /// Width and height.
    pub(super) size: (f32, f32),
}

/// A drawing that is to be placed.
pub(super) struct Drawing<'a> {
    pub(super) svg: String,
    /// Width and height in pixels.
    pub(super) pixels: (f32, f32),
    /// Its title in the outline.
    pub(super) heading: &'a str,
    /// The findings on its results.
    pub(super) mark: Option<&'a Mark>,
}

/// An entry of the outline: title, number of its page from 0, and distance from the top.
pub(super) type Entry = (String, usize, f32);

impl TextPage {
    pub(super) fn blank() -> TextPage {
        TextPage { words: String::new(), end: MARGIN, drawings: Vec::new() }
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
    outline: Vec<Entry>,
}

/// Writes a section, unless it is empty.
type Section = fn(&mut Writer, &Page);

/// Points per pixel of a drawing, at most.
const POINTS: f32 = 0.75;
/// Points between two drawings.
const GAP: f32 = 10.0;

impl Writer {
    /// Sections after the pictures.
    pub(super) const SECTIONS: [Section; 3] = [Writer::numbers, Writer::checks, Writer::surroundings];

    /// Creates an empty writer; `None` if the embedded font cannot be parsed.
    pub(super) fn new() -> Option<Writer> {
        Some(Writer { measure: Measure::new()?, text_pages: Vec::new(), outline: Vec::new() })
    }

    /// The pages, and the entries of the outline.
    pub(super) fn finish(self) -> (Vec<TextPage>, Vec<Entry>) {
        (self.text_pages, self.outline)
    }

    /// Writes title, verdict, places, sentences and remarks.
    pub(super) fn top(&mut self, page: &Page) {
        self.paragraph(&page.title, TITLE, MARGIN);
        self.outline.push((page.title.clone(), 0, 0.0));
        self.gap(3.0);
        let (verdict, _) = page.verdict.line.split_once(": ").unwrap_or((&page.verdict.line, ""));
        self.paragraph(&page.verdict.line, Type { weight: "bold", ink: ink(verdict), ..BODY }, MARGIN);
        for finding in page.verdict.findings.iter().take(1) {
            self.paragraph(&format!("{}: {}", finding.check, finding.text), FINE, MARGIN);
        }
        self.gap(3.0);
        for place in &page.places {
            let facts: Vec<String> = place.facts.iter().map(|(what, which)| format!("{what} {which}")).collect();
            let of = if page.places.len() > 1 { format!("{}: ", place.system) } else { String::new() };
            self.paragraph(&format!("{of}{}", facts.join("  ·  ")), Type { ink: SOFT, ..BODY }, MARGIN);
        }
        self.gap(3.0);
        page.sentences.iter().for_each(|sentence| self.paragraph(sentence, BODY, MARGIN));
        page.remarks.iter().for_each(|remark| self.paragraph(remark, REMARK, MARGIN));
        self.paragraph(&format!("Made by {} on {}.", page.made_by, page.made_at), FINE, MARGIN);
        self.gap(8.0);
    }

    /// Places drawings next to each other in `columns`, on a new page if this one has no room for them.
    pub(super) fn drawings(&mut self, row: Vec<Drawing<'_>>, columns: u8) {
        let columns = f32::from(columns.max(1));
        let wide = (WIDTH - 2.0 * MARGIN - GAP * (columns - 1.0)) / columns;
        let highest = HEIGHT - 2.0 * MARGIN;
        let placed: Vec<(Vec<String>, f32, Drawing<'_>)> = row
            .into_iter()
            .map(|drawing| {
                let lines =
                    drawing.mark.map_or_else(Vec::new, |mark| self.lines(&format!("! {}", mark.line), FINE, wide));
                let room = highest - lines.len() as f32 * LINE * FINE.size;
                let scale = (wide / drawing.pixels.0).min(room / drawing.pixels.1).min(POINTS);
                (lines, scale, drawing)
            })
            .collect();
        let high = |(lines, scale, drawing): &(Vec<String>, f32, Drawing<'_>)| {
            lines.len() as f32 * LINE * FINE.size + scale * drawing.pixels.1
        };
        let needed = placed.iter().map(high).fold(0.0, f32::max);
        self.keep(needed);
        if self.text_pages.is_empty() {
            self.text_pages.push(TextPage::blank());
        }
        let top = self.text_pages.last().map_or(MARGIN, |text_page| text_page.end);
        let page_number = self.text_pages.len() - 1;
        let mut left = MARGIN;
        for (lines, scale, drawing) in placed {
            self.outline.push((drawing.heading.to_owned(), page_number, top));
            let mut y = top;
            let ink = drawing.mark.map_or(SOFT, |mark| ink(&mark.verdict));
            for line in &lines {
                y += LINE * FINE.size;
                self.put(left, y - FINE.size * 0.4, line, Type { ink, ..FINE }, "start");
            }
            let size = (drawing.pixels.0 * scale, drawing.pixels.1 * scale);
            let indent = if columns > 1.0 { 0.0 } else { (wide - size.0) / 2.0 };
            if let Some(text_page) = self.text_pages.last_mut() {
                text_page.drawings.push(PageDrawing { svg: drawing.svg, corner: (left + indent, y), size });
            }
            left += wide + GAP;
        }
        self.gap(needed + GAP);
    }

    /// Writes the title of a section, with room for what begins it on the same page.
    fn section(&mut self, title: &str, first: f32) {
        self.gap(12.0);
        self.keep(30.0 + first.max(60.0));
        self.paragraph(title, HEAD, MARGIN);
        let number = self.text_pages.len().saturating_sub(1);
        let end = self.text_pages.last().map_or(0.0, |text_page| text_page.end);
        self.outline.push((title.to_owned(), number, end - LINE * HEAD.size));
    }

    fn numbers(&mut self, page: &Page) {
        let (columns, rows) = (&page.numbers.columns, &page.numbers.rows);
        if rows.is_empty() {
            return;
        }
        self.section("All numbers", 0.0);
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
    }

    fn checks(&mut self, page: &Page) {
        if page.checks.is_empty() {
            return;
        }
        self.section("Checks", 20.0 + page.checks.first().map_or(0.0, |check| self.height_of_check(check)));
        let mut of = None;
        for check in &page.checks {
            if of != Some(&check.of) {
                self.gap(5.0);
                self.keep(20.0 + self.height_of_check(check));
                self.paragraph(&check.of, SMALL_HEAD, MARGIN);
                of = Some(&check.of);
            }
            self.check(check);
        }
    }

    fn height_of_check(&self, check: &Check) -> f32 {
        let from = MARGIN + 10.0;
        15.0 + self.height(&check.sentence, BODY, from) + self.height(&evidence(check), FINE, from)
    }

    fn check(&mut self, check: &Check) {
        self.keep(self.height_of_check(check));
        let head = Type { size: 7.5, weight: "bold", ink: ink(&check.verdict) };
        self.paragraph(&format!("{} · {}", check.check, check.verdict), head, MARGIN + 10.0);
        self.paragraph(&check.sentence, BODY, MARGIN + 10.0);
        self.paragraph(&evidence(check), FINE, MARGIN + 10.0);
        self.gap(2.0);
    }

    fn surroundings(&mut self, page: &Page) {
        if page.runs.is_empty() {
            return;
        }
        self.section("Where it was measured", page.runs.first().map_or(0.0, |run| self.height_of_run(run)));
        for run in &page.runs {
            self.gap(6.0);
            self.keep(self.height_of_run(run));
            self.paragraph(&run.source, SMALL_HEAD, MARGIN);
            for (what, which) in facts(run) {
                self.fact(what, which);
            }
        }
    }

    /// Its heading and facts, which are kept on one page.
    fn height_of_run(&self, run: &Surroundings) -> f32 {
        let all: f32 = facts(run).map(|(_, which)| self.height(which, BODY, FACTS_FROM)).sum();
        20.0 + all
    }

    /// Height of a text that is wrapped from there to the margin.
    fn height(&self, text: &str, face: Type, from: f32) -> f32 {
        self.lines(text, face, WIDTH - MARGIN - from).len() as f32 * LINE * face.size
    }

    /// Writes a name on the left and its value on the right.
    fn fact(&mut self, what: &str, which: &str) {
        let from = FACTS_FROM;
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
        for (at, row) in rows.iter().enumerate() {
            // No page has the last row alone.
            if at + 3 == rows.len() {
                self.keep(3.0 * LINE * size);
            }
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
        text_page.end += face.size * LINE;
        text_page.end - face.size * 0.4
    }

    fn gap(&mut self, points: f32) {
        if let Some(text_page) = self.text_pages.last_mut() {
            text_page.end += points;
        }
    }

    /// Starts a new page unless `points` are left on this one, so that no heading is alone at the bottom, and no line
    /// at the top. What is higher than a page goes on.
    fn keep(&mut self, points: f32) {
        let points = points.min(HEIGHT - 2.0 * MARGIN);
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

/// The facts about a run, and how to repeat it.
fn facts(run: &Surroundings) -> impl Iterator<Item = (&str, &str)> {
    let command = run.command.iter().map(|command| ("to repeat it", command.as_str()));
    run.facts.iter().map(|(what, which)| (what.as_str(), which.as_str())).chain(command)
}

fn evidence(check: &Check) -> String {
    let all: Vec<String> =
        check.evidence.iter().map(|(name, value)| format!("{name} = {}", text::number(*value))).collect();
    all.join(",  ")
}

fn ink(verdict: &str) -> &'static str {
    match class(verdict) {
        "good" => "#1d7f5a",
        "bad" => "#a31328",
        "limits" => "#96600a",
        _ => SOFT,
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
        Value::Number(number) => number.as_f64().map(text::number).unwrap_or_default(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weight of the first text of each page but the first, with this much text before the facts.
    fn first_weights(lines: usize) -> Vec<String> {
        let fact = |at: usize| (format!("fact {at}"), "its value".to_owned());
        let run = |at: usize| Surroundings {
            source: format!("run {at}"),
            facts: (0..12).map(fact).collect(),
            command: Some("plumb survey ".repeat(12)),
        };
        let page = Page { runs: (0..6).map(run).collect(), ..Page::default() };
        let mut writer = Writer::new().unwrap();
        (0..lines).for_each(|line| writer.paragraph(&format!("line {line}"), BODY, MARGIN));
        writer.surroundings(&page);
        let weight = |page: &TextPage| page.words.split("font-weight=\"").nth(1).unwrap()[..4].to_owned();
        writer.finish().0.iter().skip(1).map(weight).collect()
    }

    #[test]
    fn no_page_begins_with_the_last_lines_of_a_block() {
        for lines in 0..60 {
            let weights = first_weights(lines);
            assert!(!weights.is_empty() && weights.iter().all(|weight| weight == "bold"), "{lines}: {weights:?}");
        }
    }
}
