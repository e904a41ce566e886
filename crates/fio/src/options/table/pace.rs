//! Options about rates and think time.

use super::row::{Row, Set, kind, place, put, words, works};
use crate::options::values::rate_profile;
use measure::{BytesPerSecond, Nanos};
use plan::ThinkCount;
use plan::option::{Kind, TimeUnit};

const MICROSECONDS: Kind = Kind::Time(TimeUnit::Microseconds);

words!(COUNTED, counted -> ThinkCount {
    "complete" => ThinkCount::Completed, "completed blocks";
    "issue" => ThinkCount::Issued, "issued blocks";
});

pub(super) const ROWS: &[Row] = &[
    works("thinktime", MICROSECONDS, put!(Time, job.pace.think), "Pause between I/Os").default("0"),
    works(
        "thinktime_spin",
        MICROSECONDS,
        put!(Time, job.pace.think_spin),
        "Part of thinktime that is spent burning CPU",
    )
    .default("0"),
    works(
        "thinkcycles",
        kind::COUNT,
        put!(Count, job.pace.think_cycles),
        "Iterations of an empty loop before each pause",
    )
    .default("0"),
    works("thinktime_blocks", kind::COUNT, put!(Count, job.pace.think_blocks), "Number of blocks between pauses")
        .default("1"),
    works(
        "thinktime_blocks_type",
        COUNTED,
        put!(Word, job.pace.think_counts, |word| counted(word)?),
        "Blocks that count towards thinktime_blocks",
    )
    .default("complete"),
    works(
        "thinktime_iotime",
        Kind::Time(TimeUnit::Seconds),
        put!(Time, job.pace.think_io_time),
        "Pause also after this time of I/O",
    )
    .default("0"),
    works(
        "rate",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.job.pace.rate, values, |rate| Ok((rate > 0).then_some(BytesPerSecond(rate))))
        }),
        "Limit of bandwidth in bytes per second, for reads, writes, trims; excludes rate_iops",
    ),
    works(
        "rate_min",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.job.pace.least_rate, values, |rate| Ok((rate > 0).then_some(BytesPerSecond(rate))))
        }),
        "Minimum bandwidth in bytes per second, below which the job fails",
    )
    .alias(&["ratemin"]),
    works(
        "rate_iops",
        Kind::ThreeWay,
        Set::Three(|draft, values| place(&mut draft.job.pace.iops, values, |iops| Ok((iops > 0).then_some(iops)))),
        "Limit of IOPS, for reads, writes, trims; excludes rate",
    ),
    works(
        "rate_iops_min",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.job.pace.least_iops, values, |iops| Ok((iops > 0).then_some(iops)))
        }),
        "Minimum IOPS, below which the job fails",
    ),
    works(
        "rate_process",
        Kind::Word(&[("linear", "equal intervals"), ("poisson", "exponentially distributed intervals")]),
        put!(Word, job.pace.poisson, |word| word == "poisson"),
        "Distribution of the intervals between I/Os of a limited rate",
    )
    .default("linear"),
    works(
        "rate_profile",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.job.pace.profile = rate_profile::steps(text, context.read)?;
            Ok(())
        }),
        "File with the rate over time: lines of seconds since the start and I/Os per second; excludes rate and rate_iops",
    ),
    works(
        "rate_cycle",
        kind::COUNT,
        put!(Count, job.pace.rate_cycle, |ms| Nanos::from_millis(ms.into())),
        "Interval over which rate_min and rate_iops_min are averaged, ms",
    )
    .default("1000")
    .alias(&["ratecycle"]),
    works(
        "rate_ignore_thinktime",
        Kind::Bool,
        put!(Switch, job.pace.rate_ignores_think),
        "Do not catch up on the rate after a thinktime pause",
    ),
    works("flow_id", kind::COUNT, put!(Count, flow.id), "ID of the flow that the job belongs to").default("0"),
    works(
        "flow",
        Kind::Integer { least: 0, most: 1000 },
        put!(Count, flow.weight),
        "Weight of the job in its flow; 0 for no flow",
    )
    .default("0"),
    works(
        "flow_sleep",
        kind::COUNT,
        put!(Count, flow.pause, |us| Nanos::from_micros(us.into())),
        "Time to sleep for a job that is ahead of its share of the flow, us",
    )
    .default("0"),
    works("flow_watermark", Kind::Text, Set::NoEffect, "Withdrawn: flows have weights"),
];
