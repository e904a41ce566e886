//! The report page: one HTML file with charts, data and all scripts, readable without network access.
//!
//! Owns the layout of the page. Charts draw the pictures, the caller supplies the numbers. Untrusted names are always
//! text, never markup: they are escaped in HTML, JSON in the page has no `<`, and the page's script creates text nodes
//! only.

#[cfg(feature = "draw")]
mod first_screen;
#[cfg(feature = "draw")]
mod html;
#[cfg(feature = "pdf")]
mod paper;
#[cfg(feature = "draw")]
mod single_drawing;
#[cfg(feature = "pdf")]
mod text_pages;

#[cfg(feature = "pdf")]
pub use paper::pdf_of;
#[cfg(feature = "draw")]
pub use single_drawing::{DrawingStyle, sheet, sheets};

use crate::Chart;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Contents of a page. The page includes the same JSON for download.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// For example `Storage report: /data`.
    pub title: String,
    /// Program that made the page, `plumb 0.1.0`.
    pub made_by: String,
    /// Creation time, `2026-11-20 14:05:09 UTC`.
    pub made_at: String,
    /// How far the results can be relied on.
    pub verdict: Verdict,
    /// Where and when each system was measured, for the first screen.
    pub places: Vec<Place>,
    /// The answer in plain sentences.
    pub sentences: Vec<String>,
    /// Pictures in order.
    pub pictures: Vec<Picture>,
    /// All numbers.
    pub numbers: Numbers,
    /// Results of the checks.
    pub checks: Vec<Check>,
    /// Environment of each result, and the command to repeat it.
    pub runs: Vec<Surroundings>,
    /// Remarks, such as input that could not be read.
    pub remarks: Vec<String>,
}

/// A chart and its data.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// The chart.
    #[serde(serialize_with = "by_name")]
    pub chart: &'static Chart,
    /// Title, which is complete without the page.
    pub title: String,
    /// Title on the page, without the parts that all pictures of it have in common.
    pub heading: String,
    /// The findings on the results in the picture, if there are any.
    pub mark: Option<Mark>,
    /// Width and height in pixels at scale 1; a height of `None` depends on the data.
    pub size: (u32, Option<u32>),
    /// The same on a page of A4.
    pub paper: (u32, Option<u32>),
    /// The chart's data.
    pub data: Value,
}

/// How far all results of a page can be relied on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// For example `VALID WITH LIMITS: no flush (1 of 16 tests).`
    pub line: String,
    /// The findings by check, the worst first.
    pub findings: Vec<Finding>,
}

/// The findings of one check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the check.
    pub check: String,
    /// `VALID WITH LIMITS` or `NOT A STORAGE RESULT`.
    pub verdict: String,
    /// The sentence of the worst, its range, and the step that removes the cause.
    pub text: String,
}

/// The findings on the results of one picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Mark {
    /// The worst verdict.
    pub verdict: String,
    /// The verdict with the checks and their numbers of results.
    pub line: String,
    /// The checks, the worst first.
    pub checks: Vec<String>,
}

/// Where and when a system was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Place {
    /// Name of the system.
    pub system: String,
    /// Target, host, date and disk, as far as they are known: (name, value).
    pub facts: Vec<(&'static str, String)>,
}

fn by_name<S: Serializer>(chart: &&'static Chart, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(chart.name)
}

/// Table of all numbers in full precision.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Numbers {
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows: text, number, or null for an unknown value, one per column.
    pub rows: Vec<Vec<Value>>,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name in CSV, with the unit: `mean_ms`.
    pub id: &'static str,
    /// Heading, `mean`.
    pub title: &'static str,
    /// `ms`; empty for text and counts.
    pub unit: &'static str,
}

/// Result of a check, with its evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Check {
    /// The checked result: `random read, 8 users`.
    pub of: String,
    /// Name of the check.
    pub check: String,
    /// `TRUSTED`, `VALID WITH LIMITS`, `NOT A STORAGE RESULT` or `not checked`.
    pub verdict: String,
    /// Verdict in a sentence.
    pub sentence: String,
    /// Values with names that include the unit.
    pub evidence: Vec<(String, f64)>,
}

/// Origin of one result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Surroundings {
    /// The file, or the target of a survey.
    pub source: String,
    /// Kernel, CPU, device and so on: (name, value).
    pub facts: Vec<(String, String)>,
    /// The command that repeats the measurement, quoted for a shell; `None` if unknown.
    pub command: Option<String>,
}
