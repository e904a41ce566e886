//! Results → pictures: chart definitions in JavaScript, drawn as SVG and PNG here and interactively in a browser.
//!
//! Owns the charts (`charts/`), their data as documented JSON ([`data`]), and the pages.
//! Leaves computation of numbers to other crates: a chart draws its data and computes only geometry.
//!
//! Without the feature `draw`, only chart data, page contents and text charts are built; `pdf` adds PDF.

#![forbid(unsafe_code)]

#[cfg(feature = "draw")]
mod batch;
mod chart;
pub mod data;
#[cfg(feature = "draw")]
mod draw;
#[cfg(feature = "draw")]
mod font;
mod marker;
mod packed;
pub mod page;
#[cfg(feature = "draw")]
mod raster;
pub mod sources;
mod terminal;

#[cfg(feature = "draw")]
pub use batch::on_all_processors;
pub use chart::{CHARTS, Chart};
#[cfg(feature = "draw")]
pub use draw::{ChartEngine, DrawError, DrawRequest, LatencySeries, Look, Medium, Scale, Theme};
pub use marker::{LOOKED_AT, is_ours, mark_pdf, mark_png, mark_svg, page_of_png};
#[cfg(feature = "draw")]
pub use raster::{most_high, png, pngs};
