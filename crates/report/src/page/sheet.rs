//! Pictures below each other on one sheet: a report as a single drawing.

use super::Picture;
use crate::draw::{DrawError, Easel, Look, Scale, Theme};

/// Pixels between pictures.
const GAP: u32 = 24;

/// How the pictures of a sheet look.
#[derive(Clone, Debug, Default)]
pub struct Dress {
    /// Light or dark.
    pub theme: Theme,
    /// How latencies are spread.
    pub scale: Scale,
    /// Pixels; each chart's own where none are given.
    pub width: Option<u32>,
    /// Pixels of each picture; each chart's own where none are given.
    pub height: Option<u32>,
    /// Instead of the picture's own, where there is only one.
    pub title: Option<String>,
}

/// Draws the pictures on one sheet.
///
/// # Errors
/// When a chart cannot be drawn from its data.
pub fn sheet(easel: &Easel, pictures: &[&Picture], dress: &Dress) -> Result<String, DrawError> {
    let look = |picture: &Picture| {
        let usual = Look::of(picture.chart);
        Look {
            width: dress.width.unwrap_or(usual.width),
            height: dress.height.unwrap_or(usual.height),
            theme: dress.theme,
            scale: dress.scale,
            title: dress.title.clone().filter(|_| pictures.len() == 1),
            ..usual
        }
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
        inside.push_str(&drawn.replacen(
            "<svg ",
            &format!("<svg x=\"{}\" y=\"{below}\" ", (width - look.width) / 2),
            1,
        ));
        inside.push('\n');
        below += height(&drawn).unwrap_or(look.height) + GAP;
    }
    let height = below.saturating_sub(GAP).max(1);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n{inside}</svg>"
    ))
}

/// The height that a drawing says it has: some follow from the data.
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
