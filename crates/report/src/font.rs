//! The embedded typeface of all pictures: they look the same on every machine, and text widths can be computed.

use crate::packed::{Packed, packed};
use skrifa::charmap::Charmap;
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::GlyphMetrics;
use skrifa::{FontRef, MetadataProvider};
use std::sync::LazyLock;

/// The regular and the bold font files.
pub(crate) static FILES: LazyLock<[Vec<u8>; 2]> =
    LazyLock::new(|| [packed!("DejaVuSans.ttf"), packed!("DejaVuSans-Bold.ttf")].map(Packed::bytes));

/// Font family name in SVG.
pub(crate) const FAMILY: &str = "DejaVu Sans";

pub(crate) struct Measure {
    faces: [Typeface; 2],
}

/// One font: maps characters to glyphs, with glyph widths in units of 1/`em` of the font size.
struct Typeface {
    letters: Charmap<'static>,
    widths: GlyphMetrics<'static>,
    em: f64,
}

impl Typeface {
    fn read(file: &'static [u8]) -> Option<Self> {
        let font = FontRef::new(file).ok()?;
        let (size, location) = (Size::unscaled(), LocationRef::default());
        let em = f64::from(font.metrics(size, location).units_per_em);
        Some(Typeface { letters: font.charmap(), widths: font.glyph_metrics(size, location), em })
    }

    /// Width of a character. One that the font lacks is drawn by the viewer's, mostly as wide as it is high.
    fn width(&self, letter: char) -> f64 {
        let own = self.letters.map(letter).and_then(|glyph| self.widths.advance_width(glyph));
        own.map_or(self.em, f64::from)
    }
}

impl Measure {
    /// Loads the embedded fonts; `None` if they cannot be parsed, which means that the build is broken.
    pub(crate) fn new() -> Option<Self> {
        let [regular, bold] = LazyLock::force(&FILES).each_ref().map(|file| Typeface::read(file));
        Some(Measure { faces: [regular?, bold?] })
    }

    /// Width of `text` in pixels for a CSS `font` value such as `bold 12px DejaVu Sans`.
    pub(crate) fn width(&self, text: &str, font: &str) -> f64 {
        let size = font.split_whitespace().find_map(|word| word.strip_suffix("px")?.parse().ok()).unwrap_or(12.0);
        let heavy = font.split_whitespace().any(|word| word == "bold" || word.parse::<u32>().is_ok_and(|at| at >= 600));
        let face = &self.faces[usize::from(heavy)];
        text.chars().map(|letter| face.width(letter)).sum::<f64>() * size / face.em
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bold_is_wider_and_size_scales() {
        let measure = Measure::new().unwrap();
        let width = |font| measure.width("Latency 250 µs", font);
        assert!(width("bold 12px DejaVu Sans") > width("12px DejaVu Sans"));
        assert!((width("24px x") - 2.0 * width("12px x")).abs() < 1e-9);
        assert_eq!(measure.width("\u{1F600}", "10px x"), 10.0);
        // In DejaVu Sans, digits are 1303 units wide at 2048 units per em.
        assert_eq!(measure.width("0", "2048px x"), 1303.0);
    }
}
