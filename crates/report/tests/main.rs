//! Pictures and pages: their geometry, their words, and their data.

mod contrast;
mod draw;
mod geometry;
mod kinds;
mod of_results;
mod old_data;
mod overlaps;
mod sentences;
mod sheets;
mod words;
