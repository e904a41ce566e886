//! The report page as one HTML file.

use super::{Check, Numbers, Page, Picture, Surroundings, first_screen};
use crate::chart::{CHARTS, SHARED};
use crate::draw::{ChartEngine, DrawError, DrawRequest, Look, not_written};
use crate::font::{FAMILY, FILES};
use crate::marker;
use crate::packed::{ECHARTS, Packed, packed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use measure::text;
use serde_json::Value;

const STYLE: Packed = packed!("page.css");
const SCRIPTS: [Packed; 2] = [packed!("page.js"), packed!("table.js")];
const ECHARTS_NOTICE: &str = include_str!("../../vendor/echarts-NOTICE");

/// Content security policy: nothing is fetched from the network, even if untrusted text manages to inject markup.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    font-src data:; img-src data: blob:; base-uri 'none'; form-action 'none'";

/// Most pictures as static SVG for browsers without scripts; of more there are only numbers, for the file's size.
const MOST_STATIC: usize = 40;

impl Page {
    /// Renders the whole page.
    ///
    /// # Errors
    /// A chart cannot be drawn from its data.
    pub fn html(&self, engine: &ChartEngine) -> Result<String, DrawError> {
        let mut page = String::with_capacity(3 << 20);
        self.head(&mut page);
        first_screen::write(&mut page, self);
        page.push_str("<main>\n");
        let stills: Vec<DrawRequest<'_>> = self.pictures.iter().take(MOST_STATIC).map(still).collect();
        let stills = engine.all(&stills)?;
        for (index, picture) in self.pictures.iter().enumerate() {
            section_of_picture(&mut page, index, picture, stills.get(index).map(String::as_str));
        }
        self.numbers(&mut page);
        self.checks(&mut page);
        self.surroundings(&mut page);
        first_screen::more_remarks(&mut page, self);
        page.push_str("</main>\n");
        self.foot(&mut page)?;
        Ok(page)
    }

    fn head(&self, page: &mut String) {
        page.push_str("<!doctype html>\n");
        page.push_str(&marker::comment(&self.made_by));
        page.push_str("\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        page.push_str(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n"));
        page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.push_str(&format!("<title>{}</title>\n<style>\n", escaped(&self.title)));
        for (file, weight) in FILES.iter().zip(["normal", "bold"]) {
            let font = STANDARD.encode(file);
            page.push_str(&format!(
                "@font-face {{ font-family: '{FAMILY}'; font-weight: {weight}; src: url(data:font/ttf;base64,{font}); }}\n"
            ));
        }
        page.push_str(&STYLE.text());
        page.push_str("</style>\n</head>\n<body>\n");
    }

    fn numbers(&self, page: &mut String) {
        page.push_str(
            "<section id=\"numbers\" aria-labelledby=\"numbers-title\">\n<h2 id=\"numbers-title\">All numbers</h2>\n",
        );
        page.push_str("<p class=\"downloads\" hidden></p>\n");
        numbers_table(page, &self.numbers);
        page.push_str("</section>\n");
    }

    fn checks(&self, page: &mut String) {
        if self.checks.is_empty() {
            return;
        }
        page.push_str(
            "<section id=\"checks\" aria-labelledby=\"checks-title\">\n<h2 id=\"checks-title\">Checks</h2>\n",
        );
        page.push_str("<div class=\"wide\"><table class=\"checks\"><thead><tr><th scope=\"col\">of</th><th scope=\"col\">check</th>");
        page.push_str("<th scope=\"col\">verdict</th><th scope=\"col\">why</th><th scope=\"col\">evidence</th></tr></thead>\n<tbody>\n");
        let mut anchored: Vec<&str> = Vec::new();
        for check in &self.checks {
            let is_first = is_finding(check) && !anchored.contains(&check.check.as_str());
            if is_first {
                anchored.push(&check.check);
            }
            let id = is_first.then(|| anchor(&check.check));
            row_of_check(page, check, id.as_deref());
        }
        page.push_str("</tbody></table></div>\n</section>\n");
    }

    fn surroundings(&self, page: &mut String) {
        if self.runs.is_empty() {
            return;
        }
        page.push_str(
            "<section id=\"runs\" aria-labelledby=\"runs-title\">\n<h2 id=\"runs-title\">Where it was measured</h2>\n",
        );
        self.runs.iter().for_each(|run| surroundings_of(page, run));
        page.push_str("</section>\n");
    }

    fn foot(&self, page: &mut String) -> Result<(), DrawError> {
        let notice = ECHARTS_NOTICE.lines().take(2).collect::<Vec<_>>().join(", ");
        page.push_str(&format!(
            "<footer><p>Made by {} on {}. Charts: {}, Apache License 2.0.</p></footer>\n<p id=\"said\" role=\"status\" aria-live=\"polite\"></p>\n",
            escaped(&self.made_by),
            escaped(&self.made_at),
            escaped(&notice)
        ));
        let data = serde_json::to_string(self).map_err(|error| not_written("page", &error))?;
        // `</script` ends a script element even inside a JSON string, so the JSON escapes `<`.
        page.push_str("<script type=\"application/json\" id=\"data\">");
        page.push_str(&data.replace('<', "\\u003c"));
        page.push_str("</script>\n");
        let begin = format!("globalThis.plumb = {{ charts: {{}}, family: '{FAMILY}', live: true }};");
        // Each chart has its own script element, so that its `'use strict'` and constants do not affect the others.
        let own = SHARED.iter().copied().chain(CHARTS.iter().map(|chart| chart.source)).chain(SCRIPTS);
        for script in [ECHARTS.clone(), begin].into_iter().chain(own.map(Packed::text)) {
            page.push_str("<script>");
            page.push_str(&script);
            page.push_str("</script>\n");
        }
        page.push_str("</body>\n</html>\n");
        Ok(())
    }
}

/// The static picture for browsers without scripts.
fn still(picture: &Picture) -> DrawRequest<'_> {
    let look = Look { title: Some(picture.heading.clone()), ..Look::of(picture.chart) };
    DrawRequest { chart: picture.chart, data: &picture.data, look }
}

fn section_of_picture(page: &mut String, index: usize, picture: &Picture, drawn: Option<&str>) {
    let number = index + 1;
    let title = escaped(&picture.heading);
    let mark = picture.mark.as_ref().map(first_screen::mark).unwrap_or_default();
    page.push_str(&format!(
        "<section class=\"picture{}\" id=\"picture-{number}\" aria-labelledby=\"picture-{number}-title\">\n\
         <h2 id=\"picture-{number}-title\" dir=\"auto\">{title}</h2>\n{mark}\
         <figure class=\"chart\" data-picture=\"{index}\" tabindex=\"0\" role=\"img\" aria-label=\"{title}\">\n<noscript>",
        if picture.paper.0 < 700 { " half" } else { "" }
    ));
    page.push_str(drawn.unwrap_or("<p>Beyond the first pictures, see the numbers below.</p>"));
    page.push_str("</noscript>\n</figure>\n</section>\n");
}

pub(super) fn class(verdict: &str) -> &'static str {
    match verdict {
        "TRUSTED" => "good",
        "NOT A STORAGE RESULT" => "bad",
        "VALID WITH LIMITS" => "limits",
        _ => "open",
    }
}

fn is_finding(check: &Check) -> bool {
    matches!(class(&check.verdict), "bad" | "limits")
}

/// The place of the first finding of a check on the page.
pub(super) fn anchor(check: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    format!("finding-{}", check.chars().map(letter).collect::<String>())
}

fn row_of_check(page: &mut String, check: &Check, id: Option<&str>) {
    let class = class(&check.verdict);
    let id = id.map(|id| format!(" id=\"{id}\"")).unwrap_or_default();
    let evidence = check.evidence.iter().map(|(name, value)| format!("{} = {}", escaped(name), text::number(*value)));
    page.push_str(&format!(
        "<tr class=\"{class}\"{id}><td><bdi>{}</bdi></td><td>{}</td><td><b>{}</b></td><td dir=\"auto\">{}</td><td>{}</td></tr>\n",
        escaped(&check.of),
        escaped(&check.check),
        escaped(&check.verdict),
        escaped(&check.sentence),
        evidence.collect::<Vec<_>>().join(", <br>")
    ));
}

fn surroundings_of(page: &mut String, run: &Surroundings) {
    page.push_str(&format!("<h3 dir=\"auto\">{}</h3>\n<dl>\n", escaped(&run.source)));
    for (what, which) in &run.facts {
        page.push_str(&format!("<dt>{}</dt><dd dir=\"auto\">{}</dd>\n", escaped(what), escaped(which)));
    }
    page.push_str("</dl>\n");
    if let Some(command) = &run.command {
        page.push_str(&format!("<p>To repeat it:</p>\n<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(command)));
    }
}

/// Escapes text for HTML; control characters are replaced by their visible symbols.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(letter),
            '\0'..='\u{1f}' => safe.push(char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}')),
            '\u{7f}'..='\u{9f}' => safe.push('\u{fffd}'),
            _ => safe.push(letter),
        }
    }
    safe
}

// Table of all numbers, as HTML that is readable without scripts.

/// Writes the table; the page's script adds sorting and downloads.
fn numbers_table(page: &mut String, numbers: &Numbers) {
    if numbers.rows.is_empty() {
        page.push_str("<p>There are none.</p>\n");
        return;
    }
    page.push_str("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of all numbers\"><table class=\"numbers\">\n<thead><tr>");
    for column in &numbers.columns {
        let unit = if column.unit.is_empty() { String::new() } else { format!(" <small>{}</small>", column.unit) };
        page.push_str(&format!("<th scope=\"col\" data-column=\"{}\">{}{unit}</th>", column.id, column.title));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in numbers.rows.iter().enumerate() {
        page.push_str(&format!("<tr data-row=\"{index}\">"));
        row.iter().for_each(|value| cell(page, value));
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn cell(page: &mut String, value: &Value) {
    match value {
        Value::String(text) => page.push_str(&format!("<td><bdi>{}</bdi></td>", escaped(text))),
        Value::Number(number) => {
            page.push_str(&format!("<td class=\"n\">{}</td>", text::number(number.as_f64().unwrap_or(f64::NAN))));
        }
        _ => page.push_str("<td class=\"n\">–</td>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        assert_eq!(escaped("<b a='\"'>&\u{1}\u{85}é"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;\u{2401}\u{fffd}é");
    }
}
