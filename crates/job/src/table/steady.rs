//! Options that end a job when its numbers have settled.

use super::row::{NOT_YET, Row};
use crate::option::{Kind, TimeUnit};

const GROUP: &str = "Steady state";

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

const SECONDS: Kind = Kind::Time(TimeUnit::Seconds);

pub(super) const ROWS: &[Row] = &[
    refused("steadystate", Kind::Text, NOT_YET, "What must settle within which limit")
        .default("iops_slope:0.01%")
        .alias(&["ss"]),
    refused("steadystate_duration", SECONDS, NOT_YET, "For how long it must have settled")
        .default("0")
        .alias(&["ss_dur"]),
    refused("steadystate_ramp_time", SECONDS, NOT_YET, "How long to wait before looking")
        .default("0")
        .alias(&["ss_ramp"]),
    refused("steadystate_check_interval", SECONDS, NOT_YET, "How often to look").default("1").alias(&["ss_interval"]),
];
