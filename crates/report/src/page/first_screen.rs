//! The first screen of the page: verdict, where and when, the answer, contents.

use super::html::{anchor, class, escaped};
use super::{Finding, Mark, Page, Place};

/// Most remarks on the input on the first screen; all are at the end of the page.
const MOST_REMARKS: usize = 2;

/// Writes title, verdict, places, sentences, contents and switches.
pub(super) fn write(page: &mut String, of: &Page) {
    page.push_str("<a class=\"skip\" href=\"#numbers\">Skip to the numbers</a>\n<header>\n");
    page.push_str(&format!("<h1 dir=\"auto\">{}</h1>\n", escaped(&of.title)));
    band(page, of);
    places(page, &of.places);
    for sentence in &of.sentences {
        page.push_str(&format!("<p class=\"answer\" dir=\"auto\">{}</p>\n", escaped(sentence)));
    }
    for remark in of.remarks.iter().take(MOST_REMARKS) {
        page.push_str(&format!("<p class=\"remark\" dir=\"auto\">{}</p>\n", escaped(remark)));
    }
    if let Some(more) = of.remarks.len().checked_sub(MOST_REMARKS).filter(|&more| more > 0) {
        page.push_str(&format!("<p class=\"remark\"><a href=\"#remarks\">{more} more remarks on the input</a></p>\n"));
    }
    contents(page, of);
    page.push_str("<details id=\"switches\" open hidden><summary>Switches</summary>\n");
    page.push_str("<div id=\"controls\" role=\"toolbar\" aria-label=\"Switches\"></div></details>\n");
    page.push_str("<noscript><p class=\"remark\">Scripts are off: the pictures are still, all numbers are below.</p></noscript>\n");
    page.push_str("</header>\n");
}

/// The remarks that the first screen has no room for.
pub(super) fn more_remarks(page: &mut String, of: &Page) {
    if of.remarks.len() <= MOST_REMARKS {
        return;
    }
    page.push_str("<section id=\"remarks\" aria-labelledby=\"remarks-title\">\n<h2 id=\"remarks-title\">Remarks on the input</h2>\n");
    for remark in &of.remarks {
        page.push_str(&format!("<p dir=\"auto\">{}</p>\n", escaped(remark)));
    }
    page.push_str("</section>\n");
}

/// The mark at a picture: the findings on its results.
pub(super) fn mark(mark: &Mark) -> String {
    let checks: Vec<&str> = mark.checks.iter().map(String::as_str).collect();
    format!(
        "<p class=\"mark {}\"><span aria-hidden=\"true\">⚠</span> {}</p>\n",
        class(&mark.verdict),
        line(&mark.line, &checks)
    )
}

fn band(page: &mut String, of: &Page) {
    let (verdict, _) = of.verdict.line.split_once(": ").unwrap_or((&of.verdict.line, ""));
    let checks: Vec<&str> = of.verdict.findings.iter().map(|finding| finding.check.as_str()).collect();
    page.push_str(&format!(
        "<div class=\"band {}\">\n<p dir=\"auto\">{}</p>\n",
        class(verdict),
        line(&of.verdict.line, &checks)
    ));
    if let Some(Finding { check, text, .. }) = of.verdict.findings.first() {
        page.push_str(&format!("<p class=\"why\" dir=\"auto\">{}: {}</p>\n", escaped(check), escaped(text)));
    }
    page.push_str("</div>\n");
}

/// A verdict with its title in bold and each check a link to its finding.
fn line(line: &str, checks: &[&str]) -> String {
    let (title, mut rest) = line.split_once(": ").unwrap_or((line, ""));
    let mut text = format!("<b>{}</b>", escaped(title));
    if !rest.is_empty() {
        text.push_str(": ");
    }
    for check in checks {
        let Some((before, after)) = rest.split_once(check) else { continue };
        text.push_str(&format!("{}<a href=\"#{}\">{}</a>", escaped(before), anchor(check), escaped(check)));
        rest = after;
    }
    text.push_str(&escaped(rest));
    text
}

fn places(page: &mut String, places: &[Place]) {
    if places.is_empty() {
        return;
    }
    page.push_str("<div class=\"places\">\n");
    for place in places {
        page.push_str("<dl>");
        if places.len() > 1 {
            page.push_str(&format!(
                "<div><dt>system</dt><dd dir=\"auto\"><b>{}</b></dd></div>",
                escaped(&place.system)
            ));
        }
        for (what, which) in &place.facts {
            page.push_str(&format!("<div><dt>{what}</dt><dd dir=\"auto\">{}</dd></div>", escaped(which)));
        }
        page.push_str("</dl>\n");
    }
    page.push_str("</div>\n");
}

fn contents(page: &mut String, of: &Page) {
    let pictures = match of.pictures.len() {
        0 => String::new(),
        1 => ": 1 picture".to_owned(),
        count => format!(": {count} pictures"),
    };
    page.push_str(&format!("<nav aria-label=\"Contents\"><details><summary>Contents{pictures}"));
    let mut sections = vec![("numbers", "All numbers")];
    if !of.checks.is_empty() {
        sections.push(("checks", "Checks"));
    }
    if !of.runs.is_empty() {
        sections.push(("runs", "Where it was measured"));
    }
    for (anchor, title) in &sections {
        page.push_str(&format!(" · <a href=\"#{anchor}\">{title}</a>"));
    }
    page.push_str("</summary>\n<ol>\n");
    for (index, picture) in of.pictures.iter().enumerate() {
        let sign = if picture.mark.is_some() { " ⚠" } else { "" };
        page.push_str(&format!(
            "<li><a href=\"#picture-{}\" dir=\"auto\">{}</a>{sign}</li>\n",
            index + 1,
            escaped(&picture.heading)
        ));
    }
    page.push_str("</ol></details></nav>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_check_of_a_verdict_is_a_link_to_its_finding() {
        assert_eq!(
            line("VALID WITH LIMITS: no flush (1 of 9 tests), <x> (2).", &["no flush", "<x>"]),
            "<b>VALID WITH LIMITS</b>: <a href=\"#finding-no-flush\">no flush</a> (1 of 9 tests), \
             <a href=\"#finding--x-\">&lt;x&gt;</a> (2)."
        );
        assert_eq!(line("TRUSTED: no errors.", &[]), "<b>TRUSTED</b>: no errors.");
    }
}
