//! Options that steer or end a job by its latency.

use super::row::{NOT_YET, Row};
use crate::option::{Kind, TimeUnit};

const GROUP: &str = "Latency targets";

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

const MICROSECONDS: Kind = Kind::Time(TimeUnit::Microseconds);

pub(super) const ROWS: &[Row] = &[
    refused("latency_target", MICROSECONDS, NOT_YET, "Find the depth that keeps this latency"),
    refused("latency_window", MICROSECONDS, NOT_YET, "How long each step of the search lasts"),
    refused("latency_percentile", Kind::Floats { most: 1 }, NOT_YET, "Share of I/Os that must keep the target")
        .default("100"),
    refused("latency_run", Kind::Bool, NOT_YET, "Keep adjusting until the job ends").default("0"),
    refused("max_latency", Kind::ThreeWay, NOT_YET, "End the job at a slower I/O, us"),
];
