//! Table of all numbers, as HTML that is readable without scripts.

use super::Numbers;
use super::html::escaped;
use serde_json::Value;

/// Writes the table; the page's script adds sorting and downloads.
pub(super) fn write(page: &mut String, numbers: &Numbers) {
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
            page.push_str(&format!("<td class=\"n\">{}</td>", shown(number.as_f64().unwrap_or(f64::NAN))));
        }
        _ => page.push_str("<td class=\"n\">–</td>"),
    }
}

/// Formats a number with four significant digits and thousands separators: `73,634`, `0.0841`, `12.5`.
pub(super) fn shown(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size >= 1000.0 {
        return measure::text::thousands(value);
    }
    if size.fract() == 0.0 {
        return format!("{value:.0}");
    }
    let before = if size >= 1.0 { size.log10().floor() } else { (size.log10().floor()).max(-6.0) };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 9")]
    let digits = (3.0 - before).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_the_figures_that_count() {
        let cases: [(f64, &str); 7] = [
            (73634.2, "73,634"),
            (0.084123, "0.08412"),
            (12.5, "12.5"),
            (64.0, "64"),
            (0.0, "0"),
            (123.456, "123.5"),
            (f64::NAN, "–"),
        ];
        for (value, expected) in cases {
            assert_eq!(shown(value), expected);
        }
    }
}
