//! What two readings are compared by: names, processes, times and sums.

use model::reading::{Content, ReadDirection, ReadJob, ReadKind, Reading};

/// Formats by how much they state, least first. What another tool printed has no rank.
const FORMATS: [&str; 4] = ["fio-terse", "fio-text", "fio-json", "native"];
const TERSE: u8 = 0;
const TEXT: u8 = 1;
const NATIVE: u8 = 3;
/// Texts print three digits.
const ROUNDED: f64 = 0.01;
/// Difference in milliseconds between the runtimes that two formats state.
const RUNTIME_MS: f64 = 2.0;
/// Milliseconds by which an interim report can be late.
const LATE_MS: f64 = 250.0;
/// Most by which a run can be faster than on average, and the milliseconds of I/O that can come on top.
const BURST: f64 = 4.0;
const BURST_MS: f64 = 50.0;

/// The place of a report in the reports of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// No interim report was found before it.
    Begins,
    /// It follows an interim report.
    Continued,
}

/// The comparable part of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signature {
    rank: u8,
    /// True with the bins of json+.
    bins: bool,
    ended_s: Option<f64>,
    /// The program and its version, if they are stated: runs of two versions are two runs.
    version: Option<String>,
    /// True for a run that failed without any I/O: a second one is another run.
    failed: bool,
    jobs: Vec<Job>,
}

#[derive(Clone, Debug, PartialEq)]
struct Job {
    name: Option<String>,
    /// 0 without an error.
    errno: f64,
    pid: Option<f64>,
    directions: Vec<Direction>,
}

#[derive(Clone, Debug, PartialEq)]
struct Direction {
    kind: ReadKind,
    bytes: f64,
    runtime_ms: f64,
    ios: Option<f64>,
    min_ns: Option<f64>,
    max_ns: Option<f64>,
    mean_ns: Option<f64>,
}

impl Signature {
    /// The signature of a run of fio; `None` for other readings, and if there is nothing to compare. A run without any
    /// I/O is compared, too: the first of its interim reports can be printed before its first I/O has ended.
    pub(super) fn of(reading: &Reading) -> Option<Signature> {
        let Content::Run(run) = &reading.found else { return None };
        let rank = FORMATS.iter().position(|format| *format == reading.format)?;
        let jobs: Vec<Job> = run.jobs.iter().map(job).collect();
        let moved = jobs.iter().any(|job| !job.directions.is_empty());
        let failed = run.jobs.iter().any(|job| job.errno.is_some_and(|errno| errno != 0.0));
        let latencies =
            run.jobs.iter().flat_map(|job| &job.directions).flat_map(|read| [&read.completion, &read.total]);
        let bins = latencies.flatten().any(|latency| !latency.bins.is_empty());
        (!jobs.is_empty()).then(|| Signature {
            rank: u8::try_from(rank).unwrap_or(0),
            bins,
            ended_s: run.ended_unix_s,
            // A result of plumb names its program in more words.
            version: run.version.clone().filter(|_| rank < usize::from(NATIVE)),
            failed: failed && !moved,
            jobs,
        })
    }

    pub(super) fn states_less_than(&self, other: &Signature) -> bool {
        (self.rank, self.bins) < (other.rank, other.bins)
    }

    /// True for the same report in the same format: terse lines do not say enough for this.
    pub(super) fn is_again(&self, other: &Signature) -> bool {
        let has_process = |job: &Job| job.pid.is_some() || job.directions.is_empty();
        let named = self.jobs.iter().any(|job| job.pid.is_some()) && self.jobs.iter().all(has_process);
        let named = named || self.ended_s.is_some();
        self == other && self.rank > TERSE && named
    }

    /// True if both have the same jobs with the same numbers, as far as stated. A terse line has one job of a run.
    pub(super) fn is_same(&self, other: &Signature) -> bool {
        let (few, many) = if self.states_less_than(other) { (self, other) } else { (other, self) };
        // A terse line has one job of a run, and a text that was cut has some of them.
        let is_cut = few.rank == TEXT && !few.has_no_ios() && few.jobs.len() < many.jobs.len();
        let is_part = few.jobs.len() == many.jobs.len() || few.rank == TERSE || is_cut;
        let has = |job: &Job| many.jobs.iter().any(|one| job.name == one.name && same_numbers(job, one));
        few.states_less_than(many) && is_part && self.may_be_of_version(other) && few.jobs.iter().all(has)
    }

    /// A text whose start is missing states no version.
    fn may_be_of_version(&self, other: &Signature) -> bool {
        self.version
            .as_ref()
            .zip(other.version.as_ref())
            .is_none_or(|(one, other)| one.trim_start_matches("fio-") == other.trim_start_matches("fio-"))
    }

    /// True if the sums of `later` contain those of this report, and both were printed by one run.
    pub(super) fn is_interim_of(&self, later: &Signature, chain: Chain) -> bool {
        let same_jobs = !self.failed
            && self.rank == later.rank
            && self.may_be_of_version(later)
            && self.jobs.len() == later.jobs.len()
            && self.jobs.iter().zip(&later.jobs).all(|(old, new)| old.name == new.name && new.contains(old));
        same_jobs
            && match self.rank {
                TERSE if self.has_no_ios() => !later.has_no_ios(),
                TERSE => self.is_an_interval_before(later, chain),
                // A result of plumb takes the place of those that it had so far.
                NATIVE => false,
                // A job whose files could not be laid out has no process.
                TEXT => self
                    .jobs
                    .iter()
                    .zip(&later.jobs)
                    .all(|(old, new)| old.pid == new.pid && (old.pid.is_some() || old.directions.is_empty())),
                _ => self.was_printed_during(later),
            }
    }

    /// A run that began after the other report was printed has no time for its own runtime.
    fn was_printed_during(&self, later: &Signature) -> bool {
        let Some((old, new)) = self.ended_s.zip(later.ended_s) else { return false };
        let apart_ms = (new - old) * 1000.0;
        let (before, after) = (self.runtime_ms(), later.runtime_ms());
        if self.has_no_ios() {
            // Its first I/O came later; what began long after is another run.
            return !later.has_no_ios() && apart_ms >= 0.0 && (apart_ms - after).abs() <= LATE_MS;
        }
        // What two runs at the same time did differs by more than one run does in the time between its reports.
        let possible = |ios: f64| ios * (BURST * apart_ms + BURST_MS) / after.max(1.0);
        let grown = later.ios() - self.ios();
        apart_ms >= 0.0 && after > apart_ms && after - before <= apart_ms + LATE_MS && grown <= possible(later.ios())
    }

    /// Interim reports are an interval apart, but not from the start of the run: workers start after fio. The first of
    /// an interval below a second comes about that interval after the start.
    fn is_an_interval_before(&self, later: &Signature, chain: Chain) -> bool {
        const NEAR_MS: f64 = 20.0;
        const SECOND_MS: f64 = 1000.0;
        let from_second = |time: f64| (time % SECOND_MS).min(SECOND_MS - time % SECOND_MS);
        let (before, grown) = (self.runtime_ms(), later.runtime_ms() - self.runtime_ms());
        if chain == Chain::Continued && grown <= SECOND_MS + NEAR_MS {
            return true;
        }
        let is_seconds = grown > SECOND_MS / 2.0 && from_second(grown) <= NEAR_MS && from_second(before) > 5.0;
        is_seconds || self.is_short_interval_before(later)
    }

    /// fio's first report comes up to 0.3 s before its interval is over (job threads start meanwhile), the next one an
    /// interval later. Runs of a part of a second, one longer than the other, have runtimes as they were asked for, and
    /// a few milliseconds more; and other runs have their own rate.
    ///
    /// Measured with fio 3.33: 80 runs with reports every 200 to 700 ms are one run each by this rule. Of 80 files with
    /// two or three runs of 100 to 900 ms each, made on a loaded machine, 8 lose one: writes that took longer than
    /// asked.
    fn is_short_interval_before(&self, later: &Signature) -> bool {
        const SHORTEST_MS: f64 = 80.0;
        const LONGEST_MS: f64 = 980.0;
        /// Milliseconds by which the first report comes early; one more for its runtime, which is rounded.
        const EARLY_MS: std::ops::RangeInclusive<f64> = -1.0..=300.0;
        const STEP_MS: f64 = 50.0;
        /// Most milliseconds that a run lasts longer than was asked for.
        const LONGER_MS: f64 = 4.0;
        let (before, after) = (self.runtime_ms(), later.runtime_ms());
        let grown = after - before;
        let is_round = |time: f64| time % STEP_MS <= LONGER_MS;
        let steady = self.directions().zip(later.directions()).all(|(old, new)| {
            let (first, then) = (old.bytes / before.max(1.0), (new.bytes - old.bytes) / grown.max(1.0));
            then > first / BURST && then < first * BURST
        });
        (SHORTEST_MS..LONGEST_MS).contains(&grown)
            && EARLY_MS.contains(&(grown - before))
            && !(is_round(before) && is_round(after))
            && steady
    }

    fn has_no_ios(&self) -> bool {
        self.directions().next().is_none()
    }

    fn runtime_ms(&self) -> f64 {
        self.directions().map(|direction| direction.runtime_ms).fold(0.0, f64::max)
    }

    fn ios(&self) -> f64 {
        self.directions().filter_map(|direction| direction.ios).sum()
    }

    fn directions(&self) -> impl Iterator<Item = &Direction> {
        self.jobs.iter().flat_map(|job| &job.directions)
    }
}

impl Job {
    /// True if no sum of the other report is beyond those of this one.
    fn contains(&self, old: &Job) -> bool {
        let kinds = |job: &Job| job.directions.iter().map(|direction| direction.kind).collect::<Vec<_>>();
        old.directions.iter().all(|before| {
            let after = self.directions.iter().find(|after| after.kind == before.kind);
            after.is_some_and(|after| {
                let grown = |old: Option<f64>, new: Option<f64>| old.zip(new).is_none_or(|(old, new)| old <= new);
                after.bytes >= before.bytes
                    && after.runtime_ms >= before.runtime_ms
                    && grown(before.ios, after.ios)
                    && grown(before.max_ns, after.max_ns.map(|max| max * (1.0 + ROUNDED)))
                    && grown(after.min_ns, before.min_ns.map(|min| min * (1.0 + ROUNDED)))
            })
        }) && kinds(self).len() >= kinds(old).len()
    }
}

fn job(job: &ReadJob) -> Job {
    let number = |kind: ReadKind| match kind {
        ReadKind::Read | ReadKind::Mixed => 0,
        ReadKind::Write => 1,
        ReadKind::Trim => 2,
    };
    // With unified_rw_reporting=both, the sum follows the directions; a text has it without its numbers.
    let is_sum = |read: &&ReadDirection| read.kind == ReadKind::Mixed && job.directions.len() > 1;
    let direction = |read: &ReadDirection| {
        let latency = read.total.as_ref().or(read.completion.as_ref());
        Some(Direction {
            kind: read.kind,
            bytes: read.bytes.filter(|&bytes| bytes > 0.0)?,
            runtime_ms: read.runtime_ms?,
            ios: read.ios.or(job.issued.get(number(read.kind)).copied()),
            min_ns: latency.and_then(|latency| latency.min_ns),
            max_ns: latency.and_then(|latency| latency.max_ns),
            mean_ns: latency.and_then(|latency| latency.mean_ns),
        })
    };
    let directions = job.directions.iter().filter(|read| !is_sum(read)).filter_map(direction).collect();
    let (pid, errno) = (job.pid.filter(|&pid| pid > 0.0), job.errno.unwrap_or(0.0));
    Job { name: job.name.clone(), errno, pid, directions }
}

fn same_numbers(few: &Job, many: &Job) -> bool {
    few.directions.len() == many.directions.len()
        && (!few.directions.is_empty() || few.errno == many.errno)
        && few.directions.iter().all(|one| many.directions.iter().any(|other| same_direction(one, other)))
}

fn same_direction(one: &Direction, other: &Direction) -> bool {
    // Terse lines cut microseconds off, and bytes to KiB.
    let near = |one: Option<f64>, other: Option<f64>, room: f64| {
        one.zip(other).is_none_or(|(one, other)| (one - other).abs() <= room + ROUNDED * one.max(other))
    };
    one.kind == other.kind
        && near(Some(one.bytes), Some(other.bytes), 1024.0)
        && near(one.min_ns, other.min_ns, 1000.0)
        && near(one.max_ns, other.max_ns, 1000.0)
        && near(one.mean_ns, other.mean_ns, 100.0)
        && (one.runtime_ms - other.runtime_ms).abs() <= RUNTIME_MS
        && one.ios.zip(other.ios).is_none_or(|(one, other)| (one - other).abs() < 0.5)
}
