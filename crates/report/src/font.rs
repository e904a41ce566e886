//! The one typeface of all pictures, embedded, so that a picture looks the same everywhere and text has known widths.

use ttf_parser::Face;

/// The regular and the bold cut.
pub(crate) const FILES: [&[u8]; 2] =
    [include_bytes!("../vendor/fonts/DejaVuSans.ttf"), include_bytes!("../vendor/fonts/DejaVuSans-Bold.ttf")];

/// Its name in SVG.
pub(crate) const FAMILY: &str = "DejaVu Sans";

/// Measures text.
pub(crate) struct Measure {
    faces: [Face<'static>; 2],
}

impl Measure {
    /// The embedded faces, or nothing when they cannot be read (they are ours: a broken build).
    pub(crate) fn new() -> Option<Self> {
        let [regular, bold] = FILES.map(|file| Face::parse(file, 0).ok());
        Some(Measure { faces: [regular?, bold?] })
    }

    /// The width of `text` in pixels when set as CSS's `font` says, `bold 12px DejaVu Sans` say.
    pub(crate) fn width(&self, text: &str, font: &str) -> f64 {
        let size = font.split_whitespace().find_map(|word| word.strip_suffix("px")?.parse().ok()).unwrap_or(12.0);
        let heavy = font.split_whitespace().any(|word| word == "bold" || word.parse::<u32>().is_ok_and(|at| at >= 600));
        let face = &self.faces[usize::from(heavy)];
        let em = f64::from(face.units_per_em());
        // A sign that the face lacks is drawn by a face of the reader's, most often as wide as it is high.
        let width =
            |letter| face.glyph_index(letter).and_then(|glyph| face.glyph_hor_advance(glyph)).map_or(em, f64::from);
        text.chars().map(width).sum::<f64>() * size / em
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
    }
}
