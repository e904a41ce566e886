//! The report as PDF: A4 pages, one section per page, with text that can be searched and copied.

use super::text_pages::{HEIGHT, MARGIN, TextPage, WIDTH, Writer};
use super::{DrawingStyle, Page, Picture, sheet};
use crate::draw::{ChartEngine, DrawError};
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

/// Points per pixel.
const POINTS: f32 = 0.75;
/// Minimum space for the first picture below the title, in points; with less it would be unreadable.
const LEAST_FIRST: f32 = 430.0;

/// Errors of writing a PDF.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PaperError {
    /// A chart cannot be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// A drawing cannot be parsed.
    #[error(transparent)]
    Drawing(#[from] RasterError),
    /// The PDF document cannot be created.
    #[error("the PDF cannot be written: {0}")]
    Document(String),
}

impl Page {
    /// Renders the whole report, one section per page; a table takes as many pages as it needs.
    ///
    /// # Errors
    /// A chart cannot be drawn from its data.
    pub fn pdf(&self, engine: &ChartEngine) -> Result<Vec<u8>, PaperError> {
        let mut book = Book::new(&self.title, &self.made_by);
        let mut writer = Writer::new().ok_or_else(|| PaperError::Document("the embedded typeface".to_owned()))?;
        writer.top(self);
        let mut pictures = self.pictures.iter();
        let mut first = writer.take();
        if let Some(picture) = pictures.next() {
            let below = HEIGHT - MARGIN - first.last().map_or(MARGIN, |text_page| text_page.end);
            if below < LEAST_FIRST {
                first.push(TextPage::blank());
            }
            if let Some(text_page) = first.last_mut() {
                text_page.drawing = Some(sheet(engine, &[picture], &DrawingStyle::default())?);
            }
        }
        book.chapter(&self.title, first)?;
        for picture in pictures {
            let drawing = Some(sheet(engine, &[picture], &DrawingStyle::default())?);
            book.chapter(&picture.title, vec![TextPage { drawing, ..TextPage::blank() }])?;
        }
        for (title, write) in Writer::SECTIONS {
            if write(&mut writer, self) {
                book.chapter(title, writer.take())?;
            }
        }
        book.bound()
    }
}

/// Renders pictures as a PDF, each on a page of its size.
///
/// # Errors
/// A chart cannot be drawn from its data.
pub fn pdf_of(
    engine: &ChartEngine,
    pictures: &[&Picture],
    style: &DrawingStyle,
    title: &str,
    made_by: &str,
) -> Result<Vec<u8>, PaperError> {
    let mut book = Book::new(title, made_by);
    for &picture in pictures {
        let style = DrawingStyle { title: style.title.clone().filter(|_| pictures.len() == 1), ..style.clone() };
        book.plate(&picture.title, &sheet(engine, &[picture], &style)?)?;
    }
    book.bound()
}

/// A drawing, the position of its corner, and its size, in points.
type Placed = (String, (f32, f32), (f32, f32));

/// A document to which pages are added.
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

    /// Adds the pages of a section, and its title to the outline.
    fn chapter(&mut self, title: &str, text_pages: Vec<TextPage>) -> Result<(), PaperError> {
        self.entry(title);
        for text_page in text_pages {
            let mut placed = Vec::new();
            if !text_page.words.is_empty() {
                placed.push((text_page.svg(), (0.0, 0.0), (WIDTH, HEIGHT)));
            }
            if let Some(drawing) = text_page.drawing {
                let (width, height) = size(&tree(&drawing, &self.faces)?);
                let (wide, high) = (WIDTH - 2.0 * MARGIN, HEIGHT - MARGIN - text_page.end);
                let scale = (wide / width).min(high / height).min(POINTS);
                let left = (WIDTH - width * scale) / 2.0;
                placed.push((drawing, (left, text_page.end), (width * scale, height * scale)));
            }
            self.page((WIDTH, HEIGHT), &placed)?;
        }
        Ok(())
    }

    /// Adds a picture on a page of its size.
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
        let failed = || PaperError::Document(format!("a page of {width} × {height} points"));
        let mut page = self.document.start_page_with(PageSettings::from_wh(width, height).ok_or_else(failed)?);
        let mut surface = page.surface();
        for (drawing, (left, top), (wide, high)) in placed {
            let tree = tree(drawing, &self.faces)?;
            surface.push_transform(&Transform::from_translate(*left, *top));
            let size = Size::from_wh(*wide, *high).ok_or_else(failed)?;
            surface.draw_svg(&tree, size, SvgSettings::default()).ok_or_else(failed)?;
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
