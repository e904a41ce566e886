//! Options about how fast I/Os come.

use super::row::{NOT_YET, Row, Set, kind, place, put};
use crate::option::{Kind, TimeUnit};

const GROUP: &str = "Rate and think time";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

const MICROSECONDS: Kind = Kind::Time(TimeUnit::Microseconds);

pub(super) const ROWS: &[Row] = &[
    works("thinktime", MICROSECONDS, put!(Time, pace.think), "Pause between blocks").default("0"),
    works("thinktime_spin", MICROSECONDS, put!(Time, pace.think_spin), "How much of the pause burns CPU").default("0"),
    refused("thinkcycles", kind::COUNT, NOT_YET, "Spin for so many cycles").default("0"),
    works("thinktime_blocks", kind::COUNT, put!(Count, pace.think_blocks), "Blocks between pauses").default("1"),
    refused("thinktime_blocks_type", Kind::Text, NOT_YET, "Whether issued or completed blocks count")
        .default("complete"),
    refused("thinktime_iotime", Kind::Time(TimeUnit::Seconds), NOT_YET, "I/O for so long between pauses").default("0"),
    works(
        "rate",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.pace.rate, values);
            Ok(())
        }),
        "Bytes per second at most, for reads, writes, trims; excludes rate_iops",
    ),
    refused("rate_min", Kind::ThreeWay, NOT_YET, "Fail below so many bytes per second").alias(&["ratemin"]),
    works(
        "rate_iops",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.pace.iops, values);
            Ok(())
        }),
        "I/Os per second at most, for reads, writes, trims; excludes rate",
    ),
    refused("rate_iops_min", Kind::ThreeWay, NOT_YET, "Fail below so many I/Os per second"),
    works(
        "rate_process",
        Kind::Word(&[("linear", "equal gaps"), ("poisson", "exponential gaps")]),
        Set::Word(|draft, word, _| {
            draft.pace.poisson = word == "poisson";
            Ok(())
        }),
        "How the gaps of a limited rate are spread",
    )
    .default("linear"),
    refused("rate_cycle", kind::COUNT, NOT_YET, "Window over which rate_min is averaged, ms")
        .default("1000")
        .alias(&["ratecycle"]),
    works("rate_ignore_thinktime", Kind::Bool, put!(Switch, pace.rate_ignores_think), "Do not catch up for pauses"),
    refused("flow_id", kind::COUNT, NOT_YET, "Which flow the job belongs to").default("0"),
    refused("flow", kind::COUNT, NOT_YET, "The job's weight in its flow").default("0"),
    refused("flow_sleep", kind::COUNT, NOT_YET, "How long a job ahead of its share sleeps, us").default("0"),
    works("flow_watermark", Kind::Text, Set::Withdrawn, "Withdrawn: flows have weights"),
];
