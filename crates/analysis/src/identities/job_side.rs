//! Identities of the jobs' numbers.

use super::{Equation, Identity, unknown};
use crate::closed_loop::Users;
use crate::run_facts::{float, is_paced, window};
use measure::Direction;
use model::{DirectionResult, JobResult, LatencyStatistics, RunResult};

const ROUNDED: (f64, &str) = (0.01, "rates and times are printed rounded, to whole bytes and milliseconds at best");
const TEXT: (f64, &str) = (0.1, "a text prints three digits, and fio up to 3.25 does not carry: 11.97 MiB is 11.0MiB");
const PRINTED: (f64, &str) = (0.05, "a report prints rates and sizes rounded, to three digits at worst");
const LITTLE: (f64, &str) = (0.15, "users start, end and pass from I/O to I/O at different times");

/// The equations of a direction.
const EQUATIONS: [&str; 3] = ["io = bw × runtime", "issued = iops × runtime", "io = iops × bs × runtime"];

/// Identities of every reported row.
pub(super) fn identities(result: &RunResult) -> Vec<Identity> {
    let mut found = Vec::new();
    for job in result.reported_kinds() {
        for direction in Direction::ALL {
            if job.directions[direction].ios > 0 || job.directions[direction].bytes > 0 {
                found.extend(of_direction(&job, direction));
            }
        }
        found.extend(little(result, &job));
    }
    found
}

/// The parts of the response time of a direction with a rate.
fn response(found: &DirectionResult) -> Option<Equation> {
    let mean_us = |latency: &Option<LatencyStatistics>| Some(latency.as_ref()?.moments.mean()? / 1000.0);
    let [response, lateness, total] = [&found.response, &found.lateness, &found.total].map(mean_us);
    let (lateness, total) = (lateness?, total?);
    Some(Equation {
        equation: "response time = lateness + latency",
        unit: "µs",
        left: response?,
        right: lateness + total,
        numbers: format!("{lateness:.3} µs + {total:.3} µs"),
        tolerance: ROUNDED,
        broken: "lateness and latency are of different I/Os",
    })
}

pub(super) fn of_direction(job: &JobResult, direction: Direction) -> Vec<Identity> {
    let word = ["read", "write", "trim"][direction as usize];
    let subject = format!("job {}, {word}", job.echo.name);
    let found = &job.directions[direction];
    let (bytes, ios, seconds) = (float(found.bytes), float(found.ios), found.runtime.as_secs_f64());
    let (Some(rate), Some(iops)) = (found.bytes_per_second(), found.iops()) else {
        return vec![unknown(&subject, "io = bw × runtime", "its runtime is not stated")];
    };
    if job.forgiven_errors > 0 && found.stated.is_some() {
        return EQUATIONS
            .map(|equation| unknown(&subject, equation, "I/Os that failed are in some of these numbers"))
            .into();
    }
    // Printed rates are compared with the counts; in plumb's own results the rates are computed from the counts.
    let stated = found.stated.unwrap_or_default();
    let (rate, iops) = (stated.bytes_per_second.unwrap_or_else(|| float(rate)), stated.iops.unwrap_or(iops));
    // Rounding of small rates and short times can exceed 5 %.
    let coarse = 1.0 / iops.max(1.0) + 1024.0 / rate.max(1024.0) + 0.001 / seconds.max(0.001);
    let rounded = match found.stated {
        Some(_) if job.workload.as_ref().is_none_or(|workload| workload.is_outline) => (TEXT.0.max(coarse), TEXT.1),
        Some(_) => (PRINTED.0.max(coarse), PRINTED.1),
        // Rates are computed with the time in whole milliseconds, as fio's are.
        None => (ROUNDED.0.max(0.001 / seconds.max(0.001)), ROUNDED.1),
    };
    let mut all = vec![
        Equation {
            equation: "io = bw × runtime",
            unit: "B",
            left: bytes,
            right: rate * seconds,
            numbers: format!("{rate:.0} B/s × {seconds:.3} s"),
            tolerance: rounded,
            broken: "bytes and bandwidth are of different spans of time",
        }
        .of(&subject),
        Equation {
            equation: "issued = iops × runtime",
            unit: "I/Os",
            left: ios,
            right: iops * seconds,
            numbers: format!("{iops:.2} /s × {seconds:.3} s"),
            tolerance: rounded,
            broken: "the I/Os counted and the rate are of different spans of time",
        }
        .of(&subject),
    ];
    all.extend(response(found).map(|equation| equation.of(&subject)));
    let (low, high) = job.echo.block_sizes[direction];
    if low == high && low > 0 {
        all.push(
            Equation {
                equation: "io = iops × bs × runtime",
                unit: "B",
                left: bytes,
                right: iops * f64::from(low) * seconds,
                numbers: format!("{iops:.2} /s × {low} B × {seconds:.3} s"),
                tolerance: rounded,
                broken: "I/Os were cut short, failed, or were not of the stated size",
            }
            .of(&subject),
        );
    } else {
        let why = if high > low { "block sizes differ from I/O to I/O" } else { "the block size is not stated" };
        all.push(unknown(&subject, "io = iops × bs × runtime", why));
    }
    all
}

/// Little's law for the users of a closed loop.
fn little(result: &RunResult, job: &JobResult) -> Option<Identity> {
    const EQUATION: &str = "users = iops × latency";
    let subject = format!("job {}", job.echo.name);
    if job.ios() == 0 {
        return None;
    }
    if is_paced(job) {
        return Some(unknown(&subject, EQUATION, "the job held itself back, so its users rested"));
    }
    let asked = Users::of(result, job);
    if asked.has_failed_ios() {
        return Some(unknown(&subject, EQUATION, "I/Os that failed are in some of these numbers"));
    }
    let seconds = window(job).as_secs_f64();
    let Some(sum) = asked.latency_sum().filter(|_| seconds > 0.0) else {
        return Some(unknown(&subject, EQUATION, "latency was not measured, or that of flushes is not stated"));
    };
    let Some(users) = asked.count() else {
        return Some(unknown(&subject, EQUATION, "the report does not state how many users there were"));
    };
    let share = sum / (seconds * 1e9 * users);
    if let Some(excuse) = asked.excuse().filter(|_| share < 1.0) {
        return Some(unknown(&subject, EQUATION, excuse));
    }
    let at_edges = users * asked.before_the_start();
    let why = if result.printed().is_some() {
        Some("its I/Os may have been in phases one after the other, or deeper than stated")
    } else {
        (at_edges > 0.0).then_some("an I/O in flight at the end of the ramp counts whole, and one took long")
    };
    if let Some(why) = why.filter(|_| share > 1.0 && sum <= asked.most_time()) {
        return Some(unknown(&subject, EQUATION, why));
    }
    let (iops, mean_ms) = (float(job.ios()) / seconds, sum / float(job.ios()) / 1e6);
    let identity = Equation {
        equation: EQUATION,
        unit: "in flight",
        left: users,
        right: iops * mean_ms / 1e3,
        numbers: format!("{iops:.2} /s × {mean_ms:.4} ms"),
        tolerance: LITTLE,
        broken: "not all users were at work all the time, or rate and latency are not of the same run",
    };
    Some(identity.of(&subject))
}
