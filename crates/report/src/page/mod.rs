//! The report: one HTML file with its charts, its data and everything that draws them, for reading without a network.
//!
//! Owns what stands where on the page. The pictures are drawn by the charts, the numbers come from whoever fills the
//! page. Names out of other people's files are text here, never markup: they are escaped on the way into HTML, JSON
//! in the page has no `<`, and the page's own script writes text nodes only.

mod html;
mod leaf;
mod paper;
mod sheet;
mod table;

pub use paper::{PaperError, pdf_of};
pub use sheet::{Dress, sheet};

use crate::Chart;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Everything on a page. The same JSON lies in it for its reader to download.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// `Storage report: /data`.
    pub title: String,
    /// Who made it, `plumb 0.1.0`.
    pub made_by: String,
    /// When, `2026-11-20 14:05:09 UTC`.
    pub made_at: String,
    /// What was found, in plain sentences.
    pub sentences: Vec<String>,
    /// The pictures, in order.
    pub pictures: Vec<Picture>,
    /// All numbers.
    pub numbers: Numbers,
    /// What the checks say.
    pub checks: Vec<Check>,
    /// Where it was measured, and how to do it again.
    pub runs: Vec<Surroundings>,
    /// What could not be read, and other things that a reader should know.
    pub remarks: Vec<String>,
}

/// A chart with what it draws.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// Which chart.
    #[serde(serialize_with = "by_name")]
    pub chart: &'static Chart,
    /// What it shows, for lists and for those who hear the page.
    pub title: String,
    /// Pixels at scale 1; a height of 0 follows from the data.
    pub size: (u32, u32),
    /// The chart's data.
    pub data: Value,
}

fn by_name<S: Serializer>(chart: &&'static Chart, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(chart.name)
}

/// A table of all numbers, full precision.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Numbers {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows: text, number or null for what is not known, one per column.
    pub rows: Vec<Vec<Value>>,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name in CSV, unit included: `mean_ms`.
    pub id: &'static str,
    /// Its heading, `mean`.
    pub title: &'static str,
    /// `ms`; empty for text and counts.
    pub unit: &'static str,
}

/// A judgement and what it rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Check {
    /// What was judged: `random read, 8 users`.
    pub of: String,
    /// Which check.
    pub check: String,
    /// `TRUSTED`, `VALID WITH LIMITS`, `NOT A STORAGE RESULT` or `not checked`.
    pub verdict: String,
    /// In a sentence.
    pub sentence: String,
    /// Its numbers, units in their names.
    pub evidence: Vec<(String, f64)>,
}

/// Where one result comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Surroundings {
    /// The file, or what was surveyed.
    pub source: String,
    /// Kernel, processor, device and so on: (what, which).
    pub facts: Vec<(String, String)>,
    /// The command that repeats it, ready for a shell; none where nobody knows.
    pub command: Option<String>,
}
