//! Results to pictures: one chart definition in JavaScript, drawn as SVG and PNG here and live in a reader's browser.
//!
//! Owns the charts (`charts/`), their data as documented plain JSON ([`data`]), and the pages.
//! Leaves every number to others: a chart draws what its data says and computes nothing but geometry.

#![forbid(unsafe_code)]

mod chart;
pub mod data;
mod draw;
mod font;
mod marker;
pub mod page;
mod raster;
pub mod sources;
mod terminal;

pub use chart::{CHARTS, Chart};
pub use draw::{DrawError, Easel, Look, Scale, Shown, Theme};
pub use marker::{LOOKED_AT, is_ours, mark_pdf, mark_png, mark_svg};
pub use raster::{RasterError, png};
