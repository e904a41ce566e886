//! Words in a drawing: where each stands, and which lie over each other or leave the picture.

use resvg::usvg::roxmltree::{Document, Node};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

const REGULAR: &[u8] = include_bytes!("../vendor/fonts/DejaVuSans.ttf");
const BOLD: &[u8] = include_bytes!("../vendor/fonts/DejaVuSans-Bold.ttf");

/// Where something stands, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

/// What a `style` or an attribute says.
pub(crate) fn said(node: &Node<'_, '_>, name: &str) -> Option<String> {
    let styled = node.attribute("style").into_iter().flat_map(|style| style.split(';')).find_map(|part| {
        let (key, value) = part.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    });
    styled.or_else(|| node.attribute(name).map(str::to_owned))
}

fn number(node: &Node<'_, '_>, name: &str) -> f64 {
    said(node, name).and_then(|text| text.trim_end_matches("px").parse().ok()).unwrap_or(0.0)
}

/// Where each word stands, as the embedded face is wide.
pub(crate) fn words(svg: &str) -> Vec<(String, Place)> {
    let faces = [REGULAR, BOLD].map(|file| FontRef::new(file).expect("a test's own data"));
    let document = Document::parse(svg).expect("a test's own data");
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts
        .map(|node| {
            let text: String =
                node.descendants().filter_map(|inner| inner.is_text().then(|| inner.text()).flatten()).collect();
            // As CSS's `font` has it: `bold 12.5px DejaVu Sans`.
            let font = said(&node, "font").unwrap_or_default();
            let size = font.split_whitespace().find_map(|word| word.strip_suffix("px")?.parse::<f64>().ok());
            let size = size.unwrap_or_else(|| number(&node, "font-size"));
            assert!(size > 5.0, "`{text}` has a size: {node:?}");
            let bold = font.starts_with("bold") || said(&node, "font-weight").is_some_and(|weight| weight == "bold");
            let face = &faces[usize::from(bold)];
            #[expect(clippy::cast_possible_truncation, reason = "a size in pixels")]
            let widths = face.glyph_metrics(Size::new(size as f32), LocationRef::default());
            let advance = |letter: char| {
                let glyph = face.charmap().map(letter).unwrap_or_else(|| panic!("the face has no {letter:?}"));
                f64::from(widths.advance_width(glyph).expect("a test's own data"))
            };
            let width = text.chars().map(advance).sum::<f64>();
            let (mut x, mut y) = (number(&node, "x"), number(&node, "y"));
            let transform = node.attribute("transform").unwrap_or("");
            let inner = |name: &str| -> Option<Vec<f64>> {
                let from = transform.split_once(name)?.1.split_once(')')?.0;
                Some(from.trim_start_matches('(').split([' ', ',']).filter_map(|part| part.parse().ok()).collect())
            };
            if let Some(by) = inner("translate") {
                x += by[0];
                y += by.get(1).unwrap_or(&0.0);
            }
            // A turned word stands in its own frame: what is below there is to the right here.
            let matrix = inner("matrix");
            let turned = matrix.as_ref().is_some_and(|matrix| matrix[0].abs() < 0.5);
            if let Some(matrix) = matrix {
                (x, y) = if turned { (matrix[4] + y, matrix[5] - x) } else { (matrix[4] + x, matrix[5] + y) };
            }
            let anchor = said(&node, "text-anchor").unwrap_or_default();
            let before = match anchor.as_str() {
                "middle" => width / 2.0,
                "end" => width,
                _ => 0.0,
            };
            // The letters themselves: digits are 0.73 em high, and stand in the middle.
            let high = 0.73 * size;
            let place = if turned {
                Place { left: x - high / 2.0, right: x + high / 2.0, top: y - width + before, bottom: y + before }
            } else {
                Place { left: x - before, right: x - before + width, top: y - high / 2.0, bottom: y + high / 2.0 }
            };
            (text, place)
        })
        .collect()
}

/// Words that lie over each other, or leave the picture.
pub(crate) fn faults(svg: &str) -> Vec<String> {
    let words = words(svg);
    let document = Document::parse(svg).expect("a test's own data");
    let (width, height) = (number(&document.root_element(), "width"), number(&document.root_element(), "height"));
    assert!(words.len() > 5, "words were found: {}", words.len());
    let mut faults = Vec::new();
    for (at, (text, place)) in words.iter().enumerate() {
        let inside = place.left >= 0.0 && place.top >= 0.0 && place.right <= width && place.bottom <= height;
        if !inside {
            faults.push(format!("`{text}` leaves the picture: {place:?}"));
        }
        for (other, there) in &words[at + 1..] {
            let deep = place.right.min(there.right) - place.left.max(there.left);
            let high = place.bottom.min(there.bottom) - place.top.max(there.top);
            if deep > 0.5 && high > 0.5 {
                faults.push(format!("`{text}` {place:?} lies over `{other}` {there:?}"));
            }
        }
    }
    faults
}
