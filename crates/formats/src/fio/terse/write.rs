//! RunResult → terse lines.

use super::{PERCENTILE_PLACES, UNUSED_PLACE};
use crate::fio::group::{Divisor, Group, RowPart, each_once, percent_of_group, shown};
use crate::fio::text::{cpu_percent, version_line};
use crate::fio::{group, percent_rows};
use crate::printable;
use fio::TerseVersion;
use measure::{Direction, Nanos};
use model::{DeviceUsage, DirectionResult, JobResult, LatencyStatistics, ReportStyle, RunResult};
use std::fmt::Display;

/// The lines of `--output-format=terse`: one per job, or per group with group_reporting.
pub fn write(result: &RunResult, version: TerseVersion) -> String {
    let rows = group::printed_rows(result);
    let groups = group::of_rows(&rows);
    let program = version_line(&result.environment.program);
    let mut text = String::new();
    for row in &rows {
        let mut line = Line(version.word().to_owned());
        if version > TerseVersion::V2 {
            line.push(&program);
        }
        write_row(&mut line, row, &groups, version);
        if version > TerseVersion::V2 {
            each_once(&result.devices).into_iter().for_each(|device| write_disk(&mut line, device));
        }
        if row.style.shows_errors {
            line.push(row.forgiven_errors);
            line.push(row.first_forgiven_errno);
        }
        if let Some(description) = &row.echo.description {
            if version == TerseVersion::V2 {
                // Version 2 of fio's terse output has the description on a separate line.
                line.0.push('\n');
            }
            line.push(printable::line(description));
        }
        text.push_str(&line.0);
        text.push('\n');
    }
    text
}

/// Fields, each preceded by its separator.
struct Line(String);

impl Line {
    fn push(&mut self, field: impl Display) {
        self.0.push(';');
        self.0.push_str(&field.to_string());
    }

    fn push_float(&mut self, value: f64) {
        self.push(format_args!("{value:.6}"));
    }
}

fn write_row(line: &mut Line, row: &JobResult, groups: &[Group], version: TerseVersion) {
    line.push(printable::line(&row.echo.name));
    line.push(row.echo.group);
    line.push(row.errno());
    for (kind, found) in shown(row) {
        if kind == RowPart::One(Direction::Trim) && version == TerseVersion::V3 {
            continue;
        }
        let share = percent_of_group(row, kind, &found, groups, Divisor::WholeKib);
        write_direction(line, &found, &row.style, share, version);
    }
    let (user, system) = cpu_percent(row);
    line.push(format_args!("{user:.6}%"));
    line.push(format_args!("{system:.6}%"));
    line.push(row.cpu.switches);
    line.push(row.cpu.major_faults);
    line.push(row.cpu.minor_faults);
    for share in percent_rows::level(row) {
        line.push(format_args!("{share:.1}%"));
    }
    let (_, mut us, ms) = percent_rows::latency(row);
    // The line has no fields for latencies below a microsecond. Shares read from JSON may add up to more than 100 %.
    us[0] = (us[0] + percent_rows::below_a_microsecond(row)).min(100.0);
    for share in us.into_iter().chain(ms) {
        line.push(format_args!("{share:.2}%"));
    }
}

fn write_direction(
    line: &mut Line,
    found: &DirectionResult,
    style: &ReportStyle,
    percent_of_group: f64,
    version: TerseVersion,
) {
    let milliseconds = found.runtime.as_millis_ceil();
    let iops = (u128::from(found.ios) * 1000).checked_div(u128::from(milliseconds)).unwrap_or(0);
    line.push(found.bytes >> 10);
    line.push(found.bytes_per_second().unwrap_or(0) >> 10);
    line.push(iops);
    line.push(milliseconds);
    write_latency(line, found.submission.as_ref());
    write_latency(line, found.completion.as_ref());
    write_percentiles(line, found, style);
    write_latency(line, found.total.as_ref());
    let (bandwidth, iops) = (&found.bandwidth_samples, &found.iops_samples);
    line.push(bandwidth.minimum);
    line.push(bandwidth.maximum);
    line.push(format_args!("{percent_of_group:.6}%"));
    line.push_float(bandwidth.mean);
    line.push_float(bandwidth.deviation());
    if version == TerseVersion::V5 {
        line.push(bandwidth.count);
        line.push(iops.minimum);
        line.push(iops.maximum);
        line.push_float(iops.mean);
        line.push_float(iops.deviation());
        line.push(iops.count);
    }
}

/// Writes minimum, maximum, mean and deviation in µs; zeros if nothing was measured.
fn write_latency(line: &mut Line, statistics: Option<&LatencyStatistics>) {
    let moments = statistics.map(|statistics| statistics.moments).unwrap_or_default();
    line.push(whole_micros(moments.minimum()));
    line.push(whole_micros(moments.maximum()));
    line.push_float(moments.mean().unwrap_or(0.0) / 1000.0);
    line.push_float(moments.deviation().unwrap_or(0.0) / 1000.0);
}

fn whole_micros(latency: Option<Nanos>) -> u64 {
    latency.map_or(0, Nanos::get) / 1000
}

/// Writes the percentiles of total latency if selected (`lat_percentiles`), otherwise of completion latency.
fn write_percentiles(line: &mut Line, found: &DirectionResult, style: &ReportStyle) {
    let (statistics, wanted) = match style.total_percentiles {
        true => (&found.total, true),
        false => (&found.completion, style.completion_percentiles),
    };
    let histogram = statistics.as_ref().and_then(|statistics| statistics.histogram.as_ref());
    let values = histogram.and_then(|histogram| histogram.percentiles(&style.percentiles)).unwrap_or_default();
    let named = if wanted { style.percentiles.as_slice() } else { &[] };
    for place in 0..PERCENTILE_PLACES {
        match named.get(place) {
            Some(percent) => line.push(format_args!("{percent:.6}%={}", whole_micros(values.get(place).copied()))),
            None => line.push(UNUSED_PLACE),
        }
    }
}

fn write_disk(line: &mut Line, device: &DeviceUsage) {
    line.push(&device.name);
    for [read, write] in [device.ios, device.merges, device.ticks_ms] {
        line.push(read);
        line.push(write);
    }
    line.push(device.in_queue_ms);
    line.push(format_args!("{:.2}%", device.utilisation_percent().unwrap_or(0.0)));
}
