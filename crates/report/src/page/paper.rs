//! The report as PDF: A4 pages, filled one after the other, with text that can be searched and copied.

use super::single_drawing::{drawn, pixels};
use super::text_pages::{Drawing, HEIGHT, PageDrawing, TextPage, WIDTH, Writer};
use super::{DrawingStyle, Page, Picture};
use crate::batch;
use crate::draw::{ChartEngine, DrawError, DrawRequest, Look, Medium};
use crate::raster::{faces, tree};
use krilla::destination::XyzDestination;
use krilla::geom::{Point, Size, Transform};
use krilla::metadata::Metadata;
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::{Document, SerializeSettings};
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::usvg::Tree;
use resvg::usvg::fontdb::Database;
use std::fmt::Display;
use std::sync::Arc;

const POINTS: f32 = 0.75;
/// Pages whose drawings are parsed at a time, on all processors; parsed, they take more memory.
const PAGES_AT_A_TIME: usize = 8;
/// A picture that is narrower takes half of the width of a page, in pixels.
const MOST_HALF: u32 = 700;

fn not_bound(what: impl Display) -> DrawError {
    DrawError(format!("the PDF cannot be written: {what}"))
}

impl Page {
    /// Renders the whole report: small pictures next to each other, then the numbers, the checks and the environment.
    ///
    /// # Errors
    /// A chart cannot be drawn from its data.
    pub fn pdf(&self, engine: &ChartEngine) -> Result<Vec<u8>, DrawError> {
        let mut book = Book::new(&self.title, &self.made_by);
        let mut writer = Writer::new().ok_or_else(|| not_bound("the embedded typeface"))?;
        writer.top(self);
        let orders: Vec<DrawRequest<'_>> = self.pictures.iter().map(on_paper).collect();
        let mut drawn = engine.all(&orders)?.into_iter();
        for row in rows(&self.pictures) {
            let columns = if is_half(&row[0]) { 2 } else { 1 };
            let drawings = row.iter().zip(drawn.by_ref()).map(|(picture, svg)| drawing(picture, svg));
            writer.drawings(drawings.collect(), columns);
        }
        Writer::SECTIONS.iter().for_each(|write| write(&mut writer, self));
        let (text_pages, outline) = writer.finish();
        let mut text_pages = text_pages.into_iter();
        loop {
            let some: Vec<TextPage> = text_pages.by_ref().take(PAGES_AT_A_TIME).collect();
            if some.is_empty() {
                break;
            }
            book.text_pages(some)?;
        }
        for (title, number, y) in outline {
            book.outline.push_child(OutlineNode::new(title, XyzDestination::new(number, Point::from_xy(0.0, y))));
        }
        book.bound()
    }
}

/// True if a picture takes half of the width of a page.
fn is_half(picture: &Picture) -> bool {
    picture.paper.0 < MOST_HALF
}

/// The pictures in rows: two that are next to each other and take half of the width, otherwise one.
fn rows(pictures: &[Picture]) -> impl Iterator<Item = &[Picture]> {
    let mut rest = pictures;
    std::iter::from_fn(move || {
        let both = rest.len() > 1 && is_half(&rest[0]) && is_half(&rest[1]);
        let (row, left) = rest.split_at_checked(if both { 2 } else { 1 })?;
        rest = left;
        Some(row)
    })
}

fn on_paper(picture: &Picture) -> DrawRequest<'_> {
    let (width, height) = picture.paper;
    let title = Some(picture.heading.clone());
    let look = Look { width, height, medium: Medium::Paper, title, ..Look::of(picture.chart) };
    DrawRequest { chart: picture.chart, data: &picture.data, look }
}

fn drawing(picture: &Picture, svg: String) -> Drawing<'_> {
    let (width, height) = pixels(&svg).unwrap_or((picture.paper.0, picture.paper.1.unwrap_or_default()));
    let pixels = [width, height].map(|pixels| pixels as f32);
    Drawing { svg, pixels: (pixels[0], pixels[1]), heading: &picture.heading, mark: picture.mark.as_ref() }
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
) -> Result<Vec<u8>, DrawError> {
    let mut book = Book::new(title, made_by);
    for (picture, one) in pictures.iter().zip(drawn(engine, pictures, style)?) {
        book.plate(&picture.title, &one.svg)?;
    }
    book.bound()
}

/// A drawing on a page, ready to be drawn.
struct Parsed {
    tree: Tree,
    corner: (f32, f32),
    size: (f32, f32),
}

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

    /// Adds pages of A4.
    fn text_pages(&mut self, text_pages: Vec<TextPage>) -> Result<(), DrawError> {
        let placed = |text_page: TextPage| {
            let words = PageDrawing { svg: text_page.svg(), corner: (0.0, 0.0), size: (WIDTH, HEIGHT) };
            let has_words = !text_page.words.is_empty();
            has_words.then_some(words).into_iter().chain(text_page.drawings).collect()
        };
        let all: Vec<Vec<PageDrawing>> = text_pages.into_iter().map(placed).collect();
        let drawings: Vec<&PageDrawing> = all.iter().flatten().collect();
        let faces = Arc::clone(&self.faces);
        let mut trees = batch::on_all_processors(&drawings, |one| tree(&one.svg, &faces)).into_iter();
        for placed in &all {
            let parsed = placed.iter().zip(trees.by_ref());
            let parsed = parsed.map(|(one, tree)| Ok(Parsed { tree: tree?, corner: one.corner, size: one.size }));
            self.page(WIDTH, HEIGHT, &parsed.collect::<Result<Vec<_>, DrawError>>()?)?;
        }
        Ok(())
    }

    /// Adds a picture on a page of its size.
    fn plate(&mut self, title: &str, drawing: &str) -> Result<(), DrawError> {
        let tree = tree(drawing, &self.faces)?;
        let (width, height) = size(&tree);
        let points = (width * POINTS, height * POINTS);
        self.entry(title);
        self.page(points.0, points.1, &[Parsed { tree, corner: (0.0, 0.0), size: points }])
    }

    fn entry(&mut self, title: &str) {
        let there = XyzDestination::new(self.pages, Point::from_xy(0.0, 0.0));
        self.outline.push_child(OutlineNode::new(title.to_owned(), there));
    }

    fn page(&mut self, width: f32, height: f32, parsed: &[Parsed]) -> Result<(), DrawError> {
        let failed = || not_bound(format!("a page of {width} × {height} points"));
        let mut page = self.document.start_page_with(PageSettings::from_wh(width, height).ok_or_else(failed)?);
        let mut surface = page.surface();
        for Parsed { tree, corner, size } in parsed {
            surface.push_transform(&Transform::from_translate(corner.0, corner.1));
            let size = Size::from_wh(size.0, size.1).ok_or_else(failed)?;
            surface.draw_svg(tree, size, SvgSettings::default()).ok_or_else(failed)?;
            surface.pop();
        }
        surface.finish();
        page.finish();
        self.pages += 1;
        Ok(())
    }

    fn bound(mut self) -> Result<Vec<u8>, DrawError> {
        self.document.set_outline(self.outline);
        self.document.finish().map_err(|error| not_bound(format!("{error:?}")))
    }
}

fn size(tree: &Tree) -> (f32, f32) {
    (tree.size().width(), tree.size().height())
}
