//! The report on paper: a PDF of A4 pages, one per section, with text that can be searched and copied.

use super::leaf::{HEIGHT, Leaf, MARGIN, WIDTH, Writer};
use super::{Dress, Page, Picture, sheet};
use crate::draw::{DrawError, Easel};
use crate::raster::{RasterError, faces, tree};
use krilla::destination::XyzDestination;
use krilla::geom::{Point, Size, Transform};
use krilla::metadata::Metadata;
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::{Document, SerializeSettings};
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::usvg::fontdb::Database;
use std::sync::Arc;

/// Points of a pixel.
const POINTS: f32 = 0.75;
/// What is left free below the title for the first picture; less would make it unreadable.
const LEAST_FIRST: f32 = 430.0;

/// Why there is no PDF.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PaperError {
    /// A chart cannot be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// A drawing cannot be read back.
    #[error(transparent)]
    Drawing(#[from] RasterError),
    /// The document cannot be put together.
    #[error("the PDF cannot be written: {0}")]
    Document(String),
}

impl Page {
    /// The whole report, a section per page; a table takes as many as it needs.
    ///
    /// # Errors
    /// When a chart cannot be drawn from its data.
    pub fn pdf(&self, easel: &Easel) -> Result<Vec<u8>, PaperError> {
        let mut book = Book::new(&self.title, &self.made_by);
        let mut writer = Writer::new().ok_or_else(|| PaperError::Document("the embedded typeface".to_owned()))?;
        writer.top(self);
        let mut pictures = self.pictures.iter();
        let mut first = writer.take();
        if let Some(picture) = pictures.next() {
            let below = HEIGHT - MARGIN - first.last().map_or(MARGIN, |leaf| leaf.end);
            if below < LEAST_FIRST {
                first.push(Leaf::blank());
            }
            if let Some(leaf) = first.last_mut() {
                leaf.drawing = Some(sheet(easel, &[picture], &Dress::default())?);
            }
        }
        book.chapter(&self.title, first)?;
        for picture in pictures {
            let drawing = Some(sheet(easel, &[picture], &Dress::default())?);
            book.chapter(&picture.title, vec![Leaf { drawing, ..Leaf::blank() }])?;
        }
        for (title, write) in Writer::SECTIONS {
            if write(&mut writer, self) {
                book.chapter(title, writer.take())?;
            }
        }
        book.bound()
    }
}

/// Pictures as a PDF: a page for each, as large as the picture.
///
/// # Errors
/// When a chart cannot be drawn from its data.
pub fn pdf_of(
    easel: &Easel,
    pictures: &[&Picture],
    dress: &Dress,
    title: &str,
    made_by: &str,
) -> Result<Vec<u8>, PaperError> {
    let mut book = Book::new(title, made_by);
    for &picture in pictures {
        let dress = Dress { title: dress.title.clone().filter(|_| pictures.len() == 1), ..dress.clone() };
        book.plate(&picture.title, &sheet(easel, &[picture], &dress)?)?;
    }
    book.bound()
}

/// A drawing, the place of its corner, and its size, in points.
type Placed = (String, (f32, f32), (f32, f32));

/// A document that grows page by page.
struct Book {
    document: Document,
    outline: Outline,
    pages: usize,
    faces: Arc<Database>,
}

impl Book {
    fn new(title: &str, made_by: &str) -> Book {
        let mut document = Document::new_with(SerializeSettings::default());
        document.set_metadata(Metadata::new().title(title.to_owned()).creator(made_by.to_owned()));
        Book { document, outline: Outline::new(), pages: 0, faces: faces() }
    }

    /// A section: its leaves, and its title in the outline.
    fn chapter(&mut self, title: &str, leaves: Vec<Leaf>) -> Result<(), PaperError> {
        self.entry(title);
        for leaf in leaves {
            let mut placed = Vec::new();
            if !leaf.words.is_empty() {
                placed.push((leaf.svg(), (0.0, 0.0), (WIDTH, HEIGHT)));
            }
            if let Some(drawing) = leaf.drawing {
                let (width, height) = size(&tree(&drawing, &self.faces)?);
                let (wide, high) = (WIDTH - 2.0 * MARGIN, HEIGHT - MARGIN - leaf.end);
                let scale = (wide / width).min(high / height).min(POINTS);
                let left = (WIDTH - width * scale) / 2.0;
                placed.push((drawing, (left, leaf.end), (width * scale, height * scale)));
            }
            self.page((WIDTH, HEIGHT), &placed)?;
        }
        Ok(())
    }

    /// A picture on a page of its own size.
    fn plate(&mut self, title: &str, drawing: &str) -> Result<(), PaperError> {
        let (width, height) = size(&tree(drawing, &self.faces)?);
        let points = (width * POINTS, height * POINTS);
        self.entry(title);
        self.page(points, &[(drawing.to_owned(), (0.0, 0.0), points)])
    }

    fn entry(&mut self, title: &str) {
        let there = XyzDestination::new(self.pages, Point::from_xy(0.0, 0.0));
        self.outline.push_child(OutlineNode::new(title.to_owned(), there));
    }

    fn page(&mut self, (width, height): (f32, f32), placed: &[Placed]) -> Result<(), PaperError> {
        let told = || PaperError::Document(format!("a page of {width} × {height} points"));
        let mut page = self.document.start_page_with(PageSettings::from_wh(width, height).ok_or_else(told)?);
        let mut surface = page.surface();
        for (drawing, (left, top), (wide, high)) in placed {
            let tree = tree(drawing, &self.faces)?;
            surface.push_transform(&Transform::from_translate(*left, *top));
            let size = Size::from_wh(*wide, *high).ok_or_else(told)?;
            surface.draw_svg(&tree, size, SvgSettings::default()).ok_or_else(told)?;
            surface.pop();
        }
        surface.finish();
        page.finish();
        self.pages += 1;
        Ok(())
    }

    fn bound(mut self) -> Result<Vec<u8>, PaperError> {
        self.document.set_outline(self.outline);
        self.document.finish().map_err(|error| PaperError::Document(format!("{error:?}")))
    }
}

fn size(tree: &resvg::usvg::Tree) -> (f32, f32) {
    (tree.size().width(), tree.size().height())
}
