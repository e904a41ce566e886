//! Table of all numbers, as HTML that is readable without scripts.

use super::Numbers;
use super::html::escaped;
use measure::text;
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
            page.push_str(&format!("<td class=\"n\">{}</td>", text::number(number.as_f64().unwrap_or(f64::NAN))));
        }
        _ => page.push_str("<td class=\"n\">–</td>"),
    }
}
