//! Options that control or end a job by its latency.

use super::row::{Row, Set, put, works};
use crate::error::Complaint;
use crate::values::floats;
use measure::{Nanos, PerDirection};
use plan::option::{Kind, TimeUnit};

const MICROSECONDS: Kind = Kind::Time(TimeUnit::Microseconds);

pub(super) const ROWS: &[Row] = &[
    works(
        "latency_target",
        MICROSECONDS,
        put!(Time, job.latency.target, |target| (!target.is_zero()).then_some(target)),
        "Find the depth that keeps this latency",
    ),
    works("latency_window", MICROSECONDS, put!(Time, job.latency.window), "How long each step of the search lasts"),
    works(
        "latency_percentile",
        Kind::Floats { most: 1 },
        Set::Text(|draft, text, _| {
            let values = floats(text, 1)?;
            let share = values.first().copied().unwrap_or(100.0);
            if !(0.0..=100.0).contains(&share) {
                return Err(Complaint::new(format!("is a share of {share} percent"), "give 0 to 100"));
            }
            draft.job.latency.percentile = share;
            Ok(())
        }),
        "Share of I/Os that must keep the target",
    )
    .default("100"),
    works("latency_run", Kind::Bool, put!(Switch, job.latency.keep_running), "Keep adjusting until the job ends")
        .default("0"),
    works(
        "max_latency",
        Kind::Text,
        Set::Text(|draft, text, _| {
            let parts: Vec<&str> = text.split(',').collect();
            if parts.len() > 3 {
                return Err(Complaint::new("has more than three parts", "give one for reads, writes and trims each"));
            }
            let mut most = [None; 3];
            for (index, slot) in most.iter_mut().enumerate() {
                let part = parts.get(index).or(parts.last()).copied().unwrap_or_default();
                let time = crate::values::span_of_time(part, TimeUnit::Microseconds)?;
                *slot = (time > Nanos::ZERO).then_some(time);
            }
            let [read, write, trim] = most;
            draft.job.latency.most = PerDirection { read, write, trim };
            Ok(())
        }),
        "End the job at a slower I/O, us; for reads, writes, trims",
    ),
];
