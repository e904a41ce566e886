//! The formats held against outputs of the real tools, against each other, and against damaged text.

#![expect(clippy::unwrap_used, reason = "a test's helper fails as the test does")]

mod damaged;
mod disguises;
mod field;
mod fio_output;
mod foreign;
mod found_by_fuzzing;
mod generated;
mod iolog;
mod iostat_generated;
mod iostat_text;
mod iozone_report;
mod iozone_tables;
mod many;
mod merged;
mod native;
mod priorities;
mod repeated;
mod round_trip;
mod seeds;
mod terse;
mod text_tables;
mod traces;
mod unstated;
mod walked;
