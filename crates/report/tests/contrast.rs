//! Each mark is seen on its paper: a contrast of 3:1 at least, as WCAG 2 asks of graphical objects.

use super::words::said;
use report::Theme;
use resvg::usvg::roxmltree::Document;

/// Colours that carry nothing: grid, axes, the paper, the veil below a label, the area between two lines, the box of a
/// legend, which is not drawn.
const DECORATION: [&str; 14] = [
    "none",
    "#b7b9be",
    "#ffffff",
    "#141a22",
    "#e3e7ec",
    "#2a333f",
    "#a9b4c2",
    "#55606e",
    "transparent",
    "rgb(0,0,0)",
    "#1b232d",
    "rgb(91,103,118)",
    "rgb(169,180,194)",
    "#000",
];

/// Luminance of a colour like `#0072b2`.
fn luminance(colour: &str) -> Option<f64> {
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(colour.get(at..at + 2)?, 16).ok()?) / 255.0;
        Some(if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) })
    };
    (colour.len() == 7).then_some(())?;
    Some(0.2126 * part(1)? + 0.7152 * part(3)? + 0.0722 * part(5)?)
}

/// Ratio of the luminances of two colours, 1 to 21.
pub(crate) fn contrast(one: &str, other: &str) -> Option<f64> {
    let (one, other) = (luminance(one)?, luminance(other)?);
    Some((one.max(other) + 0.05) / (one.min(other) + 0.05))
}

/// Marks of a drawing that can hardly be seen on its paper.
pub(crate) fn faint(svg: &str, theme: Theme) -> Vec<String> {
    let paper = if theme == Theme::Dark { "#141a22" } else { "#ffffff" };
    let document = Document::parse(svg).expect("a test's own data");
    let shapes = ["path", "rect", "polyline", "polygon", "circle", "line"];
    let marks = document.descendants().filter(|node| shapes.iter().any(|shape| node.has_tag_name(*shape)));
    let mut found: Vec<String> = Vec::new();
    for node in marks {
        let colours: Vec<String> = ["fill", "stroke"].iter().filter_map(|of| said(&node, of)).collect();
        let drawn: Vec<&String> = colours.iter().filter(|colour| !DECORATION.contains(&colour.as_str())).collect();
        let is_seen = |colour: &&&String| contrast(colour, paper).is_none_or(|contrast| contrast >= 3.0);
        let fault = format!("{colours:?}");
        if !drawn.is_empty() && !drawn.iter().any(|colour| is_seen(&colour)) && !found.contains(&fault) {
            found.push(fault);
        }
    }
    found
}

#[test]
fn faint_marks_are_noticed() {
    assert!((contrast("#000000", "#ffffff").unwrap() - 21.0).abs() < 1e-9);
    assert!((contrast("#777777", "#ffffff").unwrap() - 4.478).abs() < 0.001);
    let svg = r##"<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9" fill="#ffe08a"/><path d="M0 0h9" fill="#ffe08a" stroke="#6f7a8a"/><path d="M0 0h9" stroke="#0072b2" fill="none"/></svg>"##;
    assert_eq!(faint(svg, Theme::Light).len(), 1);
    assert_eq!(faint(svg, Theme::Dark).len(), 0);
}
