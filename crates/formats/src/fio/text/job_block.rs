//! The report block of one job, or of a group with group_reporting.

use super::latency;
use super::start::{errno_text, error_origin};
use crate::fio::group::{Divisor, Group, RowPart, percent_of_group, shown};
use crate::fio::{CLIENTS_SUM, percent_rows};
use crate::write_number::{Step, rate, scaled};
use crate::{local_time, printable};
use jiff::tz::TimeZone;
use measure::{Nanos, PerDirection, SampleStatistics};
use model::{
    BlockLives, DirectionResult, JobResult, LatencyStatistics, PriorityLatency, ReportStyle, SteadyResult, Unified,
};
use std::fmt::Write;

/// Time in the first line of the block.
pub(super) struct When<'view> {
    /// Milliseconds since 1970 UTC.
    pub(super) unix_ms: u64,
    /// Time zone in which the time is printed.
    pub(super) zone: &'view TimeZone,
}

/// Appends the block; nothing for a job that issued no I/O.
pub(super) fn write(text: &mut String, job: &JobResult, groups: &[Group], when: &When<'_>) {
    if job.ios() == 0 && job.directions.iter().all(|(_, direction)| direction.bytes == 0) {
        return;
    }
    write_head(text, job, when);
    for (kind, found) in shown(job) {
        let share = percent_of_group(job, kind, &found, groups, Divisor::Exact);
        write_direction(text, kind, &found, &job.style, share);
    }
    write_latency_bins(text, job);
    write_syncs(text, job);
    write_tail(text, job);
}

fn write_head(text: &mut String, job: &JobResult, when: &When<'_>) {
    let errno = job.errno();
    let why = match &job.error {
        Some(error) => format!(" ({})", error_origin(errno, &error.operation)),
        // The first of the tolerated errors; only its errno is stored.
        None if errno != 0 => format!(" ({})", error_origin(errno, "io")),
        None => String::new(),
    };
    let _ = writeln!(
        text,
        "{}: (groupid={}, jobs={}): err={errno:2}{why}: pid={}: {}",
        printable::line(&job.echo.name),
        job.echo.group,
        job.workers,
        job.pid,
        local_time::spelled(when.unix_ms, when.zone)
    );
    if let Some(description) = &job.echo.description {
        let _ = writeln!(text, "  Description  : [{}]", printable::line(description));
    }
}

fn write_direction(
    text: &mut String,
    kind: RowPart,
    found: &DirectionResult,
    style: &ReportStyle,
    percent_of_group: f64,
) {
    // Without a time there is no rate: writes that were walked through (`verify_only`).
    if found.bytes == 0 || found.runtime.is_zero() {
        return;
    }
    text.push_str(&rate_line(found, kind, style));
    let kinds = [
        ("slat", &found.submission, style.submission_percentiles),
        ("clat", &found.completion, style.completion_percentiles),
        (" lat", &found.total, style.total_percentiles),
    ];
    for (name, statistics, _) in &kinds {
        if let Some(statistics) = statistics {
            latency::write_line(text, name, &statistics.moments);
        }
    }
    let name = if style.total_percentiles { "lat" } else { "clat" };
    let by_priority = || found.priorities.iter().filter(|_| found.priorities.len() > 1);
    for of in by_priority() {
        latency::write_line(text, &priority_name(name, of), &of.latency.moments);
    }
    for (name, statistics, wanted) in &kinds {
        if let (true, Some(LatencyStatistics { histogram: Some(histogram), .. })) = (wanted, statistics) {
            latency::write_percentiles(text, name.trim_start(), histogram, style);
        }
    }
    for of in by_priority() {
        if let Some(histogram) = &of.latency.histogram {
            let share = share_of_ios(of, found);
            latency::write_percentiles(
                text,
                &format!("{} ({share:.2}% of IOs)", priority_name(name, of)),
                histogram,
                style,
            );
        }
    }
    write_samples(text, found, style, percent_of_group);
}

/// `clat prio 1/0`: class and level, and the hint if there is one.
fn priority_name(latency: &str, of: &PriorityLatency) -> String {
    let hint = if of.hint > 0 { format!("/{}", of.hint) } else { String::new() };
    format!("{latency} prio {}/{}{hint}", of.class, of.level)
}

fn share_of_ios(of: &PriorityLatency, found: &DirectionResult) -> f64 {
    100.0 * of.latency.moments.count() as f64 / found.ios.max(1) as f64
}

fn rate_line(found: &DirectionResult, kind: RowPart, style: &ReportStyle) -> String {
    let (step, figures) = (Step::of_base(style.unit_base), style.significant_figures);
    let milliseconds = found.runtime.as_millis_ceil();
    let iops = (u128::from(found.ios) * 1000).checked_div(u128::from(milliseconds)).unwrap_or(0);
    let bandwidth = found.bytes_per_second().unwrap_or(0);
    let resets = match (kind, found.zone_resets) {
        (RowPart::One(_), Some(resets)) => format!("; {resets} zone resets"),
        _ => String::new(),
    };
    format!(
        "  {}: IOPS={}, BW={} ({})({}/{milliseconds}msec){resets}\n",
        kind.word(),
        scaled(u64::try_from(iops).unwrap_or(u64::MAX), figures, Step::Decimal, ""),
        rate(bandwidth, style, step),
        rate(bandwidth, style, step.other()),
        scaled(found.bytes, figures, step, "B"),
    )
}

/// Unit of bandwidth samples: divisor and name.
struct BandwidthUnit {
    divisor: f64,
    name: &'static str,
}

impl BandwidthUnit {
    /// Samples are in KiB/s; means above 2^20 KiB/s (10^6 kB/s) are printed in the next larger unit.
    fn of(mean_kib: f64, style: &ReportStyle) -> BandwidthUnit {
        let (kilo, names) = match Step::of_base(style.unit_base) {
            Step::Binary => (1024.0, ["KiB", "MiB"]),
            Step::Decimal => (1000.0, ["kB", "MB"]),
        };
        // Converts KiB to the job's kilobyte: 1 for KiB, 1000/1024 for kB.
        let divisor = kilo / 1024.0;
        if mean_kib / divisor > kilo * kilo {
            BandwidthUnit { divisor: divisor * kilo, name: names[1] }
        } else {
            BandwidthUnit { divisor, name: names[0] }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounds are cut to whole units, as fio does it"
)]
fn write_samples(text: &mut String, found: &DirectionResult, style: &ReportStyle, percent_of_group: f64) {
    let samples: &SampleStatistics = &found.bandwidth_samples;
    if samples.count > 0 {
        let unit = BandwidthUnit::of(samples.mean, style);
        let whole = |value: u64| (value as f64 / unit.divisor) as u64;
        let _ = writeln!(
            text,
            "   bw ({:>5}/s): min={:5}, max={:5}, per={percent_of_group:.2}%, avg={:5.2}, stdev={:5.2}, samples={}",
            unit.name,
            whole(samples.minimum),
            whole(samples.maximum),
            samples.mean / unit.divisor,
            samples.deviation() / unit.divisor,
            samples.count
        );
    }
    let samples = &found.iops_samples;
    if samples.count > 0 {
        let _ = writeln!(
            text,
            "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
            samples.minimum,
            samples.maximum,
            samples.mean,
            samples.deviation(),
            samples.count
        );
    }
}

const BINS_PER_LINE: usize = 5;

fn write_latency_bins(text: &mut String, job: &JobResult) {
    let (ns, us, ms) = percent_rows::latency(job);
    for (unit, bins) in [("nsec", &ns[..]), ("usec", &us[..]), ("msec", &ms[..])] {
        let filled: Vec<String> = bins
            .iter()
            .zip(percent_rows::LATENCY_NAMES)
            .filter(|&(&share, _)| share > 0.0)
            .map(|(share, name)| format!("{name}={share:.2}%"))
            .collect();
        for line in filled.chunks(BINS_PER_LINE) {
            let _ = writeln!(text, "  lat ({unit})   : {}", line.join(", "));
        }
    }
}

fn write_syncs(text: &mut String, job: &JobResult) {
    if job.sync.latency.moments.count() == 0 {
        return;
    }
    text.push_str("  fsync/fdatasync/sync_file_range/syncfs:\n");
    latency::write_line(text, "sync", &job.sync.latency.moments);
    if let Some(histogram) = &job.sync.latency.histogram {
        latency::write_percentiles(text, "sync", histogram, &job.style);
    }
}

pub(crate) fn cpu_percent(job: &JobResult) -> (f64, f64) {
    let runtime = job.runtime.get() as f64;
    let percent = |time: Nanos| if runtime > 0.0 { 100.0 * time.as_f64() / runtime } else { 0.0 };
    (percent(job.cpu.user), percent(job.cpu.system))
}

fn write_tail(text: &mut String, job: &JobResult) {
    let (user, system) = cpu_percent(job);
    let cpu = &job.cpu;
    let _ = writeln!(
        text,
        "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={}, majf={}, minf={}",
        cpu.switches, cpu.major_faults, cpu.minor_faults
    );
    let row = |names: [&str; 7], values: [f64; 7]| {
        names.iter().zip(values).map(|(name, share)| format!("{name}={share:.1}%")).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(text, "  IO depths    : {}", row(percent_rows::LEVEL_NAMES, percent_rows::level(job)));
    let _ = writeln!(text, "     submit    : {}", row(percent_rows::BATCH_NAMES, percent_rows::submit(&job.depth)));
    let _ = writeln!(text, "     complete  : {}", row(percent_rows::BATCH_NAMES, percent_rows::complete(&job.depth)));
    let counts = |get: fn(&DirectionResult) -> u64, syncs: u64| {
        let mut directions = job.directions.clone();
        if job.style.unified == Unified::Mixed {
            // The sum is stored in the place of reads.
            directions = PerDirection { read: job.mixed(), ..PerDirection::default() };
        }
        format!("{},{},{},{syncs}", get(&directions.read), get(&directions.write), get(&directions.trim))
    };
    let _ = writeln!(
        text,
        "     issued rwts: total={} short={} dropped={}",
        counts(|direction| direction.ios, job.sync.count),
        counts(|direction| direction.short_ios, 0),
        counts(|direction| direction.dropped_ios, 0)
    );
    if job.style.shows_errors {
        let (total, first) = (job.forgiven_errors, job.first_forgiven_errno);
        let _ = writeln!(text, "     errors    : total={total}, first_error={first}/<{}>", errno_text(first));
    }
    // The sum of servers has no depth, as it has no target.
    if job.walked.is_none() && job.echo.name != CLIENTS_SUM {
        write_goal(text, job);
    }
    if let Some(found) = &job.blocks {
        write_blocks(text, job, found);
    }
    if let Some(found) = &job.steady {
        write_steady(text, job, found);
    }
}

/// Writes the latency target; fio omits it for a job that only verified (`verify_only`).
fn write_goal(text: &mut String, job: &JobResult) {
    let goal = &job.latency_goal;
    let window = goal.target.map_or(Nanos::ZERO, |_| goal.window);
    let (target, window) = (in_unit(goal.target.unwrap_or_default()), in_unit(window));
    let (share, depth) = (goal.percentile.unwrap_or(100.0), goal.depth.unwrap_or(job.echo.iodepth));
    let _ = writeln!(text, "     latency   : target={target}, window={window}, percentile={share:.2}%, depth={depth}");
}

/// A time in the largest unit in which it is 2 or more, up to seconds.
fn in_unit(time: Nanos) -> String {
    let (mut value, mut unit) = (time.as_f64(), "ns");
    for larger in ["us", "ms", "s"] {
        if value < 2000.0 {
            break;
        }
        (value, unit) = (value / 1000.0, larger);
    }
    format!("{value:.2}{unit}")
}

/// Writes the percentiles of trims before failure and the states of all tracked blocks.
fn write_blocks(text: &mut String, job: &JobResult, found: &BlockLives) {
    let _ = writeln!(text, "  block lifetime percentiles :");
    let values = found.percentiles(&job.style.percentiles).unwrap_or_default();
    for (percent, trims) in job.style.percentiles.iter().zip(values) {
        let _ = writeln!(text, "   | {percent:>6.digits$}th=[{trims:>5}]", digits = job.style.percentile_digits);
    }
    let states: Vec<String> = found.states().iter().map(|(state, count)| format!("{state}={count}")).collect();
    let _ = writeln!(text, "   |        states               : {}", states.join(", "));
}

fn write_steady(text: &mut String, job: &JobResult, found: &SteadyResult) {
    let found = found.in_fios_terms();
    let attained = if found.attained { "yes" } else { "no" };
    let (bandwidth, iops) = (SteadyResult::mean(&found.bandwidth), SteadyResult::mean(&found.iops));
    let latency = match found.latency_ns.as_slice() {
        [] => String::new(),
        samples => format!(", lat={}us", SteadyResult::mean(samples) / 1000),
    };
    let measure = found.name.trim_end_matches("_slope");
    let what = if found.judges_slope() { "slope" } else { "mean dev" };
    let percent = if found.relative { "%" } else { "" };
    let _ = writeln!(
        text,
        "  steadystate  : attained={attained}, bw={} ({}), iops={iops}{latency}, {measure} {what}={:.3}{percent}",
        rate(bandwidth, &job.style, Step::of_base(job.style.unit_base)),
        rate(bandwidth, &job.style, Step::of_base(job.style.unit_base).other()),
        found.criterion
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_divided_from_2000_up_and_at_most_to_seconds() {
        for (ns, expected) in [
            (0, "0.00ns"),
            (1_999, "1999.00ns"),
            (999_000, "999.00us"),
            (1_500_000, "1500.00us"),
            (5_000_000, "5.00ms"),
            (1_999_000_000, "1999.00ms"),
            (2_000_000_000, "2.00s"),
            (120_000_000_000, "120.00s"),
            (5_000_000_000_000, "5000.00s"),
        ] {
            assert_eq!(in_unit(Nanos(ns)), expected);
        }
    }
}
