//! Two summary sentences for a load sweep: its peak, and the cost of more users.

use crate::percentile_as_fact;
use measure::{Direction, Nanos};
use model::{Grade, Note, RunResult};

/// A rate of this fraction of the peak counts as having reached it.
const NEAR_PEAK: f64 = 0.9;

/// One load level of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Requested users, or the queue depth if that is the varied load.
    pub users: u32,
    /// Total I/Os per second of all users.
    pub iops: f64,
    /// Total bytes per second of all users.
    pub bytes_per_second: f64,
    /// Mean latency in nanoseconds.
    pub mean_ns: f64,
    /// 99th percentile, if there are enough samples.
    pub p99: Option<Nanos>,
    /// True if all users were busy.
    pub all_busy: bool,
    /// True if the data came from memory instead of the device.
    pub from_memory: bool,
}

impl Point {
    /// Builds the level from a run; `None` if the direction has no I/O.
    pub fn of(users: u32, result: &RunResult, direction: Direction, notes: &[Note]) -> Option<Self> {
        let mut rows = result.jobs.iter();
        let mut all = rows.next()?.clone();
        rows.for_each(|job| all.merge(job));
        let moved = &all.directions[direction];
        let latency = moved.latency()?;
        let grade_of = |check: &str| notes.iter().filter(|note| note.check == check).map(|note| note.grade).max();
        Some(Point {
            users,
            iops: moved.iops()?,
            bytes_per_second: moved.bytes as f64 / moved.runtime.as_secs_f64(),
            mean_ns: latency.moments.mean()?,
            p99: moved.latency_distribution().and_then(|latency| percentile_as_fact(latency, 99.0)),
            all_busy: grade_of("busy users").is_none_or(|grade| grade <= Grade::Trusted),
            from_memory: crate::checks::is_of_memory(notes),
        })
    }
}

/// Quantity that is varied over a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Processes with one I/O in flight each.
    #[default]
    Users,
    /// I/Os in flight, the depth of a queue.
    InFlight,
}

impl Load {
    /// For example `1 user`, `8 I/Os in flight`.
    pub fn counted(self, count: u32) -> String {
        match (self, count) {
            (Load::Users, 1) => "1 user".to_owned(),
            (Load::Users, _) => format!("{count} users"),
            (Load::InFlight, 1) => "1 I/O in flight".to_owned(),
            (Load::InFlight, _) => format!("{count} I/Os in flight"),
        }
    }

    /// Plural name: `users`.
    pub fn plural(self) -> &'static str {
        match self {
            Load::Users => "users",
            Load::InFlight => "I/Os in flight",
        }
    }

    fn reach(self, count: u32) -> String {
        format!("{} {}", self.counted(count), if count == 1 { "reaches" } else { "reach" })
    }
}

/// Two sentences about a sweep of `what` (`8k random reads`) over users; empty if nothing was measured.
pub fn sentences(what: &str, points: &[Point]) -> Vec<String> {
    sentences_over(Load::Users, what, points)
}

/// Two sentences about a sweep of `what` over any kind of load; empty if nothing was measured.
pub fn sentences_over(load: Load, what: &str, points: &[Point]) -> Vec<String> {
    let Some(peak) = points.iter().rev().max_by(|a, b| a.iops.total_cmp(&b.iops)) else {
        return Vec::new();
    };
    let near = points.iter().find(|point| point.iops >= NEAR_PEAK * peak.iops).unwrap_or(peak);
    let idle: Vec<u32> = points.iter().filter(|point| !point.all_busy).map(|point| point.users).collect();
    let of_memory = if points.iter().any(|point| point.from_memory) { " These are numbers of memory." } else { "" };
    if !idle.is_empty() {
        return vec![
            format!("The highest rate seen for {what} is {}.{of_memory}", rate(load, peak)),
            format!("No scaling verdict: with {} not all {} were busy.", list(load, &idle), load.plural()),
        ];
    }
    vec![format!("{}{of_memory}", peak_sentence(load, what, points, [peak, near])), cost_sentence(load, points, near)]
}

fn peak_sentence(load: Load, what: &str, points: &[Point], [peak, near]: [&Point; 2]) -> String {
    let what = capitalised(what);
    if points.len() == 1 {
        return format!("{what} reach {}; no other load was measured.", rate(load, peak));
    }
    if near.users == peak.users {
        let lesser = points.iter().filter(|point| point.users < peak.users).max_by(|a, b| a.iops.total_cmp(&b.iops));
        return match lesser {
            Some(lesser) => format!(
                "{what} peak at {}; fewer stay more than 10 % below ({} {} % of it).",
                rate(load, peak),
                load.reach(lesser.users),
                percent(lesser.iops / peak.iops)
            ),
            None => format!("{what} peak at {} already; more {} bring nothing.", rate(load, peak), load.plural()),
        };
    }
    format!(
        "{what} peak at {}; already {} {} % of that.",
        rate(load, peak),
        load.reach(near.users),
        percent(near.iops / peak.iops)
    )
}

fn cost_sentence(load: Load, points: &[Point], near: &Point) -> String {
    let (Some(least), Some(most)) =
        (points.iter().min_by_key(|point| point.users), points.iter().max_by_key(|point| point.users))
    else {
        return String::new();
    };
    if least.users == most.users {
        return format!("One request takes {} on average.", milliseconds(least.mean_ns));
    }
    // Beyond the knee more users only queue; if the knee is the last point, the whole range is described.
    let from = if near.users < most.users { near } else { least };
    let gain = most.iops / from.iops;
    // A gain of half a percent would print as 0 %, so it is described as no gain.
    let gain = if gain >= 2.0 {
        format!("{gain:.1} times the IOPS")
    } else if (gain - 1.0).abs() < 0.005 {
        "no more IOPS".to_owned()
    } else if gain >= 1.0 {
        format!("{:.0} % more IOPS", 100.0 * (gain - 1.0))
    } else {
        format!("{:.0} % fewer IOPS", 100.0 * (1.0 - gain))
    };
    let tail = match (from.p99, most.p99) {
        (Some(a), Some(b)) => format!(", p99 from {} to {}", milliseconds(a.as_f64()), milliseconds(b.as_f64())),
        _ => ", p99 unknown for lack of samples".to_owned(),
    };
    format!(
        "Going from {} to {} brings {gain} and moves the average latency from {} to {}{tail}.",
        load.counted(from.users),
        most.users,
        milliseconds(from.mean_ns),
        milliseconds(most.mean_ns)
    )
}

fn rate(load: Load, point: &Point) -> String {
    format!(
        "{} IOPS ({} MiB/s) with {}",
        thousands(point.iops),
        thousands(point.bytes_per_second / f64::from(1 << 20)),
        load.counted(point.users)
    )
}

fn percent(ratio: f64) -> String {
    format!("{:.0}", 100.0 * ratio)
}

fn milliseconds(ns: f64) -> String {
    if ns < 1e6 {
        format!("{:.0} µs", ns / 1e3)
    } else if ns < 1e7 {
        format!("{:.2} ms", ns / 1e6)
    } else {
        format!("{:.1} ms", ns / 1e6)
    }
}

fn list(load: Load, counts: &[u32]) -> String {
    match counts {
        [] => String::new(),
        [one] => load.counted(*one),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(u32::to_string).collect();
            format!("{} and {}", first.join(", "), load.counted(*last))
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Formats a number rounded to an integer with thousands separators, `73,634`; below ten with one decimal.
pub fn thousands(number: f64) -> String {
    if number < 9.95 {
        return format!("{number:.1}");
    }
    measure::text::grouped(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixtures::closed_loop, judge};

    fn point(users: u32, iops: u64, latency_us: u64) -> Point {
        let result = closed_loop(users, iops * 4, Nanos::from_micros(latency_us), Nanos::from_secs(4));
        Point::of(users, &result, Direction::Read, &judge(&result)).unwrap()
    }

    #[test]
    fn the_peak_and_the_knee_and_the_price_of_more_users_are_told() {
        let points = [point(1, 18_883, 50), point(8, 67_558, 115), point(16, 65_711, 239), point(64, 73_634, 850)];
        assert_eq!(
            sentences("8k random reads", &points),
            [
                "8k random reads peak at 73,634 IOPS (575 MiB/s) with 64 users; already 8 users reach 92 % of that.",
                "Going from 8 users to 64 brings 9 % more IOPS and moves the average latency from 115 µs to 850 µs, \
                 p99 from 115 µs to 848 µs."
            ]
        );
    }

    #[test]
    fn a_gain_that_rounds_to_nothing_is_called_nothing() {
        let points = [point(1, 18_000, 50), point(32, 88_529, 361), point(64, 88_616, 722)];
        let second = &sentences("8k random reads", &points)[1];
        assert!(second.starts_with("Going from 32 users to 64 brings no more IOPS and moves"), "{second}");
    }

    #[test]
    fn perfect_scaling_is_told_over_the_whole_way() {
        let points = [point(1, 1_000, 1_000), point(8, 8_000, 1_000)];
        assert_eq!(
            sentences("reads", &points),
            [
                "Reads peak at 8,000 IOPS (62 MiB/s) with 8 users; fewer stay more than 10 % below (1 user reaches 12 % of it).",
                "Going from 1 user to 8 brings 8.0 times the IOPS and moves the average latency from 1.00 ms to 1.00 ms, \
                 p99 unknown for lack of samples."
            ]
        );
    }

    #[test]
    fn idle_users_forbid_a_scaling_verdict() {
        let points = [point(1, 1_000, 1_000), point(8, 4_000, 1_000), point(16, 4_000, 1_000)];
        let found = sentences("reads", &points);
        assert_eq!(found[0], "The highest rate seen for reads is 4,000 IOPS (31 MiB/s) with 8 users.");
        assert_eq!(found[1], "No scaling verdict: with 8 and 16 users not all users were busy.");
    }

    #[test]
    fn memory_numbers_are_called_so() {
        let mut points = [point(1, 1_000, 1_000), point(8, 8_000, 1_000)];
        points[1].from_memory = true;
        assert!(sentences("reads", &points)[0].ends_with("These are numbers of memory."));
    }

    #[test]
    fn nothing_measured_says_nothing_and_one_point_says_so() {
        assert_eq!(sentences("reads", &[]), Vec::<String>::new());
        assert!(sentences("reads", &[point(8, 8_000, 1_000)])[0].ends_with("no other load was measured."));
    }

    #[test]
    fn digits_come_in_threes() {
        for (number, text) in
            [(0.0, "0.0"), (3.16, "3.2"), (9.96, "10"), (999.0, "999"), (1_000.0, "1,000"), (1_234_567.0, "1,234,567")]
        {
            assert_eq!(thousands(number), text);
        }
    }
}
