//! All pictures of a report in one SVG drawing, stacked vertically.

use super::Picture;
use crate::draw::{ChartEngine, DrawError, Look, Scale, Theme};

/// Narrower pictures have their axes' names above the panels, and titles of several lines.
const LEAST_WIDE: u32 = 700;
/// Pixels between two pictures.
const GAP: u32 = 24;

/// Appearance of the pictures in the drawing.
#[derive(Clone, Debug, Default)]
pub struct DrawingStyle {
    /// Colour theme.
    pub theme: Theme,
    /// Scale of the latency axis.
    pub scale: Scale,
    /// Width in pixels; `None` for each chart's default.
    pub width: Option<u32>,
    /// Height of each picture in pixels; `None` for each chart's default.
    pub height: Option<u32>,
    /// Title that replaces the picture's own, if there is only one picture.
    pub title: Option<String>,
}

/// Draws the pictures in one SVG document.
///
/// # Errors
/// A chart cannot be drawn from its data.
pub fn sheet(engine: &ChartEngine, pictures: &[&Picture], style: &DrawingStyle) -> Result<String, DrawError> {
    let look = |picture: &Picture| {
        let usual = Look::of(picture.chart);
        let width = style.width.unwrap_or(usual.width);
        Look {
            width,
            // A narrow picture is as high as its data needs.
            height: style.height.or(usual.height.filter(|_| width >= LEAST_WIDE)),
            theme: style.theme,
            scale: style.scale,
            title: style.title.clone().filter(|_| pictures.len() == 1),
            ..usual
        }
    };
    if let [one] = pictures {
        return engine.svg(one.chart, &one.data, &look(one));
    }
    let width = pictures.iter().map(|picture| look(picture).width).max().unwrap_or(1);
    let paper = if style.theme == Theme::Dark { "#141a22" } else { "#ffffff" };
    let (mut inside, mut below) = (String::new(), 0);
    for picture in pictures {
        let look = look(picture);
        let drawn = engine.svg(picture.chart, &picture.data, &look)?;
        // A nested `svg` element is positioned by its `x` and `y` attributes.
        inside.push_str(&drawn.replacen(
            "<svg ",
            &format!("<svg x=\"{}\" y=\"{below}\" ", (width - look.width) / 2),
            1,
        ));
        inside.push('\n');
        below += height(&drawn).or(look.height).unwrap_or_default() + GAP;
    }
    let height = below.saturating_sub(GAP).max(1);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n{inside}</svg>"
    ))
}

/// The height attribute of a drawing; some heights depend on the data.
fn height(drawn: &str) -> Option<u32> {
    let head = &drawn[..drawn.find('>')?];
    head.split_once(" height=\"")?.1.split('"').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_says_how_high_it_is() {
        assert_eq!(height("<svg width=\"10\" height=\"731\" xmlns=\"x\"><rect height=\"5\"/></svg>"), Some(731));
    }
}
