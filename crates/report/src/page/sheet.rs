//! Pictures below each other on one sheet: a report as a single drawing.

use super::Picture;
use crate::draw::{DrawError, Easel, Look, Theme};

/// Pixels between pictures.
const GAP: u32 = 24;

/// How the pictures of a sheet look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dress {
    /// Light or dark.
    pub theme: Theme,
    /// Pixels; each chart's own where none are given.
    pub width: Option<u32>,
    /// Pixels of each picture; each chart's own where none are given.
    pub height: Option<u32>,
}

/// Draws the pictures on one sheet.
///
/// # Errors
/// When a chart cannot be drawn from its data.
pub fn sheet(easel: &Easel, pictures: &[&Picture], dress: Dress) -> Result<String, DrawError> {
    let look = |picture: &Picture| Look {
        width: dress.width.unwrap_or(picture.size.0),
        height: dress.height.unwrap_or(picture.size.1),
        theme: dress.theme,
    };
    if let [one] = pictures {
        return easel.svg(one.chart, &one.data, &look(one));
    }
    let width = pictures.iter().map(|picture| look(picture).width).max().unwrap_or(1);
    let paper = if dress.theme == Theme::Dark { "#141a22" } else { "#ffffff" };
    let (mut inside, mut below) = (String::new(), 0);
    for picture in pictures {
        let look = look(picture);
        let drawn = easel.svg(picture.chart, &picture.data, &look)?;
        // A drawing inside of another is placed by `x` and `y` of its own.
        inside.push_str(&drawn.replacen("<svg ", &format!("<svg x=\"{}\" y=\"{below}\" ", (width - look.width) / 2), 1));
        inside.push('\n');
        below += look.height + GAP;
    }
    let height = below.saturating_sub(GAP).max(1);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n{inside}</svg>"
    ))
}
