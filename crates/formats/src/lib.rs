//! Formats of other tools and of plumb itself: one module per tool, with the writer and the reader of each format.
//!
//! Owns formatting and layout. Leaves numbers to `model`, charts to `report`, and printing to `cli`.

#![forbid(unsafe_code)]

#[cfg(feature = "parquet")]
pub mod columnar;
pub mod echoed;
mod event;
pub mod fio;
mod from_printed;
pub mod iolog;
pub mod iostat;
pub mod iozone;
pub mod local_time;
pub mod native;
pub mod ndjson;
pub mod openmetrics;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod printable;
mod read_number;
pub mod result_as_reading;
pub mod results;
pub mod stream;
pub mod sweep;
mod table;
pub mod trace;
mod tree;
mod write_number;

pub use table::{Format, FormatError, ReadFn, View, WriteFn, output_formats, sniff, write};

use ::fio::OutputFormat;
use table::has;

/// Every format that stores a whole result. `--output-format` accepts the formats with an `output`, and prints them in
/// this order; a file is in the first format whose `sniff` matches.
///
/// ```
/// let words: Vec<&str> = formats::FORMATS.iter().filter_map(|format| Some(format.output?.word)).collect();
/// assert_eq!(words, ["terse", "json", "json+", "json-full", "normal"]);
/// ```
pub const FORMATS: &[Format] = &[
    Format {
        name: "fio-terse",
        output: Some(OutputFormat { word: OutputFormat::TERSE, aliases: &["minimal", "csv"], includes: &[] }),
        write: Some(|result, view| Ok(fio::terse::write(result, view.terse_version))),
        read: None,
        sniff: fio::terse::looks_like,
    },
    Format {
        name: "native",
        output: None,
        write: Some(|result, _| native::write(result)),
        read: Some(native::read),
        sniff: |bytes| has(bytes, "\"schema\"") && has(bytes, "\"result\""),
    },
    Format {
        name: "fio-json",
        output: Some(OutputFormat { word: "json", aliases: &[], includes: &[] }),
        write: Some(|result, view| Ok(fio::json::write(result, view))),
        read: Some(fio::json::read),
        sniff: |bytes| has(bytes, "\"fio version\""),
    },
    Format {
        name: "fio-json+",
        output: Some(OutputFormat { word: "json+", aliases: &[], includes: &["json"] }),
        write: Some(|result, view| Ok(fio::json::write_with_bins(result, view))),
        read: Some(fio::json::read),
        sniff: |bytes| has(bytes, "\"fio version\"") && has(bytes, "\"bins\""),
    },
    Format {
        name: "fio-json-full",
        output: Some(OutputFormat { word: "json-full", aliases: &[], includes: &["json", "json+"] }),
        write: Some(|result, view| Ok(fio::json::write_in_full(result, view))),
        read: Some(fio::json::read),
        sniff: |bytes| has(bytes, "\"fio version\"") && has(bytes, "\"bins\""),
    },
    Format {
        name: "fio-text",
        output: Some(OutputFormat { word: OutputFormat::NORMAL, aliases: &[], includes: &[] }),
        write: Some(|result, view| Ok(fio::text::write(result, view))),
        read: None,
        sniff: |bytes| has(bytes, "Run status group") || has(bytes, ": (groupid="),
    },
];
