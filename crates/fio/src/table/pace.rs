//! Options about rates and think time.

use super::row::{Row, Set, kind, place, put};
use plan::ThinkCount;
use plan::option::{Kind, TimeUnit};

const GROUP: &str = "Rate and think time";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

const MICROSECONDS: Kind = Kind::Time(TimeUnit::Microseconds);

pub(super) const ROWS: &[Row] = &[
    works("thinktime", MICROSECONDS, put!(Time, pace.think), "Pause between blocks").default("0"),
    works("thinktime_spin", MICROSECONDS, put!(Time, pace.think_spin), "How much of the pause burns CPU").default("0"),
    works("thinkcycles", kind::COUNT, put!(Count, pace.think_cycles), "Turns of an empty loop before each pause")
        .default("0"),
    works("thinktime_blocks", kind::COUNT, put!(Count, pace.think_blocks), "Blocks between pauses").default("1"),
    works(
        "thinktime_blocks_type",
        Kind::Word(&[("complete", "those that came back"), ("issue", "those that were issued")]),
        Set::Word(|draft, word, _| {
            draft.pace.think_counts = if word == "issue" { ThinkCount::Issued } else { ThinkCount::Completed };
            Ok(())
        }),
        "Whether issued or completed blocks count",
    )
    .default("complete"),
    works(
        "thinktime_iotime",
        Kind::Time(TimeUnit::Seconds),
        put!(Time, pace.think_io_time),
        "Pause also after so much time of I/O",
    )
    .default("0"),
    works(
        "rate",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.pace.rate, values);
            Ok(())
        }),
        "Bytes per second at most, for reads, writes, trims; excludes rate_iops",
    ),
    works(
        "rate_min",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.pace.least_rate, values);
            Ok(())
        }),
        "Fail below so many bytes per second",
    )
    .alias(&["ratemin"]),
    works(
        "rate_iops",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.pace.iops, values);
            Ok(())
        }),
        "I/Os per second at most, for reads, writes, trims; excludes rate",
    ),
    works(
        "rate_iops_min",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.pace.least_iops, values);
            Ok(())
        }),
        "Fail below so many I/Os per second",
    ),
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
    works("rate_cycle", kind::COUNT, put!(Count, pace.rate_cycle_ms), "Window over which rate_min is averaged, ms")
        .default("1000")
        .alias(&["ratecycle"]),
    works("rate_ignore_thinktime", Kind::Bool, put!(Switch, pace.rate_ignores_think), "Do not catch up for pauses"),
    works("flow_id", kind::COUNT, put!(Count, pace.flow_id), "Which flow the job belongs to").default("0"),
    works("flow", Kind::Integer { least: 0, most: 1000 }, put!(Count, pace.flow), "The job's weight in its flow")
        .default("0"),
    works("flow_sleep", kind::COUNT, put!(Count, pace.flow_sleep_us), "How long a job ahead of its share sleeps, us")
        .default("0"),
    works("flow_watermark", Kind::Text, Set::Withdrawn, "Withdrawn: flows have weights"),
];
