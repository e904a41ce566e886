//! Tests of the program that `#[test]` can name. The tables of cases are the other test of this crate: `cases`.

#![expect(clippy::unwrap_used, reason = "a test's helper fails as the test does")]

mod ask;
mod calibrate;
mod calls;
mod capacity;
mod cluster;
mod cluster_iozone;
mod cluster_repeat;
mod cluster_survey;
mod compare;
#[allow(dead_code, reason = "the other test program uses the rest")]
mod context;
mod corpus;
mod cost;
mod device_latency;
mod documents;
mod durable;
mod effects;
mod extremes;
mod few_open;
mod fio;
mod generate;
mod grade;
mod install;
mod iozone;
mod joining;
mod malformed;
mod metrics;
mod not_storage;
mod one_truth;
mod outputs;
mod parse;
mod pitfalls;
mod pods;
mod program;
mod python;
mod readers;
mod replay;
mod report;
mod rings;
mod scripts;
mod server_triggers;
mod servers;
mod sessions;
mod spread;
mod store;
mod streams;
mod survey;
mod survey_options;
mod terminal;
mod turns;
mod verify;
mod versus;
mod why;
mod workload;
