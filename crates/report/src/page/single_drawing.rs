//! All pictures of a report in one SVG drawing, stacked vertically; or in several, where one would be too high.

use super::Picture;
use crate::draw::{ChartEngine, DrawError, DrawRequest, Look, Scale, Theme};

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
    let drawn = drawn(engine, pictures, style)?;
    Ok(stacked(&drawn, style))
}

/// Draws the pictures in as few SVG documents as a limit of their heights allows: `limits` has for a width the height
/// up to which all are in one, and that of several. A picture that is higher is a document.
///
/// # Errors
/// A chart cannot be drawn from its data.
pub fn sheets(
    engine: &ChartEngine,
    pictures: &[&Picture],
    style: &DrawingStyle,
    limits: impl Fn(u32) -> (u32, u32),
) -> Result<Vec<String>, DrawError> {
    let drawn = drawn(engine, pictures, style)?;
    let width = drawn.iter().map(|one| one.width).max().unwrap_or(1);
    let (of_one, of_several) = limits(width);
    if high(&drawn) <= of_one {
        return Ok(vec![stacked(&drawn, style)]);
    }
    let mut sheets = Vec::new();
    let mut rest = &drawn[..];
    while !rest.is_empty() {
        let fitting = (2..=rest.len()).take_while(|&count| high(&rest[..count]) <= of_several).last().unwrap_or(1);
        let (one, left) = rest.split_at(fitting);
        sheets.push(stacked(one, style));
        rest = left;
    }
    Ok(sheets)
}

pub(super) struct SheetDrawing {
    pub(super) svg: String,
    width: u32,
    height: u32,
}

/// Draws each of the pictures.
pub(super) fn drawn(
    engine: &ChartEngine,
    pictures: &[&Picture],
    style: &DrawingStyle,
) -> Result<Vec<SheetDrawing>, DrawError> {
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
    let orders =
        pictures.iter().map(|&picture| DrawRequest { chart: picture.chart, data: &picture.data, look: look(picture) });
    let orders: Vec<DrawRequest<'_>> = orders.collect();
    let drawings = engine.all(&orders)?.into_iter().zip(orders);
    let sized = drawings.map(|(svg, DrawRequest { look, .. })| {
        let (width, height) = (look.width, pixels(&svg).map(|(_, height)| height).or(look.height).unwrap_or_default());
        SheetDrawing { svg, width, height }
    });
    Ok(sized.collect())
}

/// Height of these below each other.
fn high(drawn: &[SheetDrawing]) -> u32 {
    drawn.iter().fold(0_u32, |sum, one| sum.saturating_add(one.height).saturating_add(GAP)).saturating_sub(GAP).max(1)
}

fn stacked(drawn: &[SheetDrawing], style: &DrawingStyle) -> String {
    if let [one] = drawn {
        return one.svg.clone();
    }
    let width = drawn.iter().map(|one| one.width).max().unwrap_or(1);
    let paper = if style.theme == Theme::Dark { "#141a22" } else { "#ffffff" };
    let (mut inside, mut below) = (String::new(), 0_u32);
    for one in drawn {
        // A nested `svg` element is positioned by its `x` and `y` attributes.
        let place = format!("<svg x=\"{}\" y=\"{below}\" ", (width - one.width) / 2);
        inside.push_str(&one.svg.replacen("<svg ", &place, 1));
        inside.push('\n');
        below = below.saturating_add(one.height).saturating_add(GAP);
    }
    let height = high(drawn);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n{inside}</svg>"
    )
}

/// The width and the height of a drawing, by its attributes; some heights depend on the data.
pub(super) fn pixels(drawn: &str) -> Option<(u32, u32)> {
    let head = &drawn[..drawn.find('>')?];
    let attribute = |name: &str| head.split_once(name)?.1.split('"').next()?.parse().ok();
    Some((attribute(" width=\"")?, attribute(" height=\"")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_says_how_large_it_is() {
        let svg = "<svg width=\"10\" height=\"731\" xmlns=\"x\"><rect height=\"5\"/></svg>";
        assert_eq!(pixels(svg), Some((10, 731)));
    }
}
