//! SVG to PNG, with the embedded font only; fonts of the machine are not used.

use crate::batch;
use crate::draw::DrawError;
use crate::font::{FAMILY, FILES};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};
use std::sync::Arc;

/// Most pixels in a picture: 64 Mi, 256 MiB of memory during rendering.
const MOST_PIXELS: u64 = 64 << 20;

/// Most rows of pixels of a page, where the pictures are too many for one image.
const MOST_ROWS: u32 = 8192;

/// Height, in a drawing's units, of the highest one of this width in one image, and of pages if it must be several.
pub fn most_high(width: u32, scale: f32) -> (u32, u32) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let most = (MOST_PIXELS as f32 / (width.max(1) as f32 * scale * scale)) as u32;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let rows = (MOST_ROWS as f32 / scale) as u32;
    (most, most.min(rows))
}

/// Font database with the embedded fonts.
pub(crate) fn faces() -> Arc<Database> {
    let mut faces = Database::new();
    FILES.iter().for_each(|file| faces.load_font_data(file.clone()));
    faces.set_sans_serif_family(FAMILY);
    Arc::new(faces)
}

/// Parses an SVG document.
///
/// # Errors
/// The document is not valid SVG.
pub(crate) fn tree(svg: &str, faces: &Arc<Database>) -> Result<Tree, DrawError> {
    let options = Options { font_family: FAMILY.to_owned(), fontdb: Arc::clone(faces), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|error| DrawError(format!("the drawing cannot be read back: {error}")))
}

/// Renders an SVG document as PNG, with `scale` pixels per SVG unit.
///
/// # Errors
/// The document is not valid SVG, or the picture is too large.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, DrawError> {
    rendered(svg, scale, &faces())
}

/// The same for several documents.
///
/// # Errors
/// As for one.
pub fn pngs(drawings: &[String], scale: f32) -> Result<Vec<Vec<u8>>, DrawError> {
    let faces = faces();
    let render = |faces: &Arc<Database>, _: usize, svg: &String| rendered(svg, scale, faces);
    // Each thread has a page of pixels and its outlines in memory, 150 MB.
    let helpers = batch::helpers(drawings.len().saturating_sub(1)).min(1);
    batch::each(drawings, helpers, &faces, || Some(Arc::clone(&faces)), render).into_iter().collect()
}

fn rendered(svg: &str, scale: f32, faces: &Arc<Database>) -> Result<Vec<u8>, DrawError> {
    let tree = tree(svg, faces)?;
    let pixels = |length: f32| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is judged below")]
        let pixels = (length * scale).ceil() as u32;
        pixels
    };
    let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let canvas = Some(()).filter(|()| u64::from(width) * u64::from(height) <= MOST_PIXELS);
    let canvas = canvas.and_then(|()| Pixmap::new(width, height));
    let mut canvas = canvas.ok_or_else(|| {
        let size = format!("{width} × {height} pixels");
        DrawError(format!("a picture of {size} is too large; use a smaller --width or --scale"))
    })?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut canvas.as_mut());
    canvas.encode_png().map_err(|error| DrawError(format!("the picture cannot be packed as PNG: {error}")))
}
