//! Options about rates and think time.

use super::row::{Row, Set, kind, place, put, works};
use measure::{BytesPerSecond, Nanos};
use plan::ThinkCount;
use plan::option::{Kind, TimeUnit};

const MICROSECONDS: Kind = Kind::Time(TimeUnit::Microseconds);

pub(super) const ROWS: &[Row] = &[
    works("thinktime", MICROSECONDS, put!(Time, job.pace.think), "Pause between blocks").default("0"),
    works("thinktime_spin", MICROSECONDS, put!(Time, job.pace.think_spin), "How much of the pause burns CPU")
        .default("0"),
    works("thinkcycles", kind::COUNT, put!(Count, job.pace.think_cycles), "Turns of an empty loop before each pause")
        .default("0"),
    works("thinktime_blocks", kind::COUNT, put!(Count, job.pace.think_blocks), "Blocks between pauses").default("1"),
    works(
        "thinktime_blocks_type",
        Kind::Word(&[("complete", "those that came back"), ("issue", "those that were issued")]),
        put!(Word, job.pace.think_counts, |word| match word {
            "issue" => ThinkCount::Issued,
            _ => ThinkCount::Completed,
        }),
        "Whether issued or completed blocks count",
    )
    .default("complete"),
    works(
        "thinktime_iotime",
        Kind::Time(TimeUnit::Seconds),
        put!(Time, job.pace.think_io_time),
        "Pause also after so much time of I/O",
    )
    .default("0"),
    works(
        "rate",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.job.pace.rate, values, |rate| Ok((rate > 0).then_some(BytesPerSecond(rate))))
        }),
        "Bytes per second at most, for reads, writes, trims; excludes rate_iops",
    ),
    works(
        "rate_min",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.job.pace.least_rate, values, |rate| Ok((rate > 0).then_some(BytesPerSecond(rate))))
        }),
        "Fail below so many bytes per second",
    )
    .alias(&["ratemin"]),
    works(
        "rate_iops",
        Kind::ThreeWay,
        Set::Three(|draft, values| place(&mut draft.job.pace.iops, values, |iops| Ok((iops > 0).then_some(iops)))),
        "I/Os per second at most, for reads, writes, trims; excludes rate",
    ),
    works(
        "rate_iops_min",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.job.pace.least_iops, values, |iops| Ok((iops > 0).then_some(iops)))
        }),
        "Fail below so many I/Os per second",
    ),
    works(
        "rate_process",
        Kind::Word(&[("linear", "equal gaps"), ("poisson", "exponential gaps")]),
        put!(Word, job.pace.poisson, |word| word == "poisson"),
        "How the gaps of a limited rate are spread",
    )
    .default("linear"),
    works(
        "rate_cycle",
        kind::COUNT,
        put!(Count, job.pace.rate_cycle, |ms| Nanos::from_millis(ms.into())),
        "Window over which rate_min is averaged, ms",
    )
    .default("1000")
    .alias(&["ratecycle"]),
    works("rate_ignore_thinktime", Kind::Bool, put!(Switch, job.pace.rate_ignores_think), "Do not catch up for pauses"),
    works("flow_id", kind::COUNT, put!(Count, flow.id), "Which flow the job belongs to").default("0"),
    works("flow", Kind::Integer { least: 0, most: 1000 }, put!(Count, flow.weight), "The job's weight in its flow")
        .default("0"),
    works(
        "flow_sleep",
        kind::COUNT,
        put!(Count, flow.pause, |us| Nanos::from_micros(us.into())),
        "How long a job ahead of its share sleeps, us",
    )
    .default("0"),
    works("flow_watermark", Kind::Text, Set::Withdrawn, "Withdrawn: flows have weights"),
];
