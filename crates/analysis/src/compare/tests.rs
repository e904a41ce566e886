//! Tests of a comparison on results with known properties.

use super::*;
use crate::fixtures::{closed_loop, printed, watched_random_read, workload};
use crate::statistics::ALPHA;
use measure::{Nanos, SplitMix};
use model::{Grade, JobError, LatencyStatistics, Note, RunResult};

/// A result of 8 users with this many reads in a second, that ended at this second.
fn result(ios: u64, ended_s: u64) -> RunResult {
    let mut result = closed_loop(8, ios, Nanos(8_000_000_000 / ios), Nanos::SECOND);
    result.ended_unix_ms = ended_s * 1000;
    result
}

/// Observations of these results, a file each.
fn observed(results: &[RunResult]) -> Vec<Observation> {
    (0..).zip(results).flat_map(|(file, result)| observe(result, None, file)).collect()
}

fn compared(old: &[RunResult], new: &[RunResult]) -> Vec<ComparedTest> {
    compare(&pair(observed(old), observed(new)).both, &Metric::USUAL, 0.05, Design::AsMade)
}

/// Results with these rates, at these seconds.
fn runs(rates: &[u64], times: impl Iterator<Item = u64>) -> Vec<RunResult> {
    rates.iter().zip(times).map(|(rate, time)| result(*rate, time)).collect()
}

const OLD: [u64; 5] = [80_000, 81_000, 79_500, 80_500, 80_200];
const NEW: [u64; 5] = [71_000, 72_000, 70_500, 71_500, 71_200];

#[test]
fn a_loss_of_a_tenth_is_worse_in_rate_and_latency() {
    let tests = compared(&runs(&OLD, (1..).step_by(2)), &runs(&NEW, (2..).step_by(2)));
    let [test] = tests.as_slice() else { panic!("{tests:?}") };
    assert_eq!((test.label.as_str(), test.runs, test.order), ("sequential reads ×8", [5, 5], RunOrder::Turns));
    let verdicts: Vec<_> = test.rows.iter().map(|row| (row.metric.word(), row.verdict, row.is_sure)).collect();
    let worse = |word: &str| (word.to_owned(), Verdict::Worse, true);
    assert_eq!(verdicts[..4], [worse("iops"), worse("mean"), worse("p50"), worse("p99")]);
    assert_eq!(verdicts[4], ("p99.9".to_owned(), Verdict::CannotTell, false), "{:?}", test.rows[4]);
    assert_eq!(test.rows[4].reason.as_deref(), Some("p99.9 is not known: fewer than 100 I/Os were slower"));
    let found = summary(&tests, 0.05);
    assert!(found.sentences[0].starts_with("Worse: sequential reads ×8 (IOPS −11.2 %, mean +12.6 %"), "{found:?}");
    assert!(found.sentences[1].starts_with("A change of ") && found.remarks.is_empty(), "{found:?}");
}

/// Results of a job with a rate: response times of 1 to 2 ms, times this factor, one factor a run.
fn paced(factors: &[f64], times: impl Iterator<Item = u64>) -> Vec<RunResult> {
    let run = |(factor, time): (&f64, u64)| {
        let mut run = result(80_000, time);
        let mut response = LatencyStatistics { histogram: Some(Box::default()), ..LatencyStatistics::default() };
        for io in 0..80_000_u32 {
            let time = Nanos::from_secs_f64(factor * (1e-3 + f64::from(io) * 1e-3 / 80_000.0));
            response.moments.record(time);
            response.histogram.as_mut().unwrap().record(time);
        }
        run.jobs[0].directions.read.response = Some(response);
        run
    };
    factors.iter().zip(times).map(run).collect()
}

#[test]
fn response_times_are_compared_where_jobs_have_a_rate() {
    let (old, new) = ([1.0, 1.01, 0.99, 1.02, 0.98], [1.2, 1.21, 1.19, 1.22, 1.18]);
    let both = pair(observed(&paced(&old, (1..).step_by(2))), observed(&paced(&new, (2..).step_by(2)))).both;
    let [test] = &compare_usual(&both, &[], 0.05, Design::AsMade)[..] else { panic!("one test") };
    let words: Vec<String> = test.rows.iter().map(|row| row.metric.word()).collect();
    assert_eq!(words, ["iops", "mean", "p50", "p99", "p99.9", "response-p50", "response-p99", "response-p99.9"]);
    // The rate and the latencies are those that the I/Os had once they were sent: they did not change.
    assert!(test.rows[..4].iter().all(|row| row.verdict != Verdict::Worse), "{:?}", test.rows);
    let row = &test.rows[6];
    assert!((row.old.unwrap() / 1.99e6 - 1.0).abs() < 0.02 && row.verdict == Verdict::Worse, "{row:?}");
    assert!((percent_of(row.change.unwrap().estimate) - 20.0).abs() < 1.0, "{row:?}");
    assert_eq!((test.rows[7].old, test.rows[7].verdict), (None, Verdict::CannotTell), "80 I/Os beyond p99.9");
    // Without a rate there is no line of it, unless it was asked for.
    let plain = pair(observed(&runs(&OLD, 1..)), observed(&runs(&NEW, 10..))).both;
    let wanted = [Metric::Response(99.0)];
    assert_eq!(compare_usual(&plain, &[], 0.05, Design::AsMade)[0].rows.len(), Metric::USUAL.len());
    let rows = &compare_usual(&plain, &wanted, 0.05, Design::AsMade)[0].rows;
    assert_eq!(rows.last().unwrap().reason.as_deref(), Some("response-p99 is not stated"));
    assert!(Metric::asked_for().any(|metric| metric.word() == "response-p99.9"));
}

#[test]
fn one_run_a_side_decides_nothing_and_has_its_own_interval() {
    let mut watched = watched_random_read();
    let monitored = watched.monitored.as_mut().unwrap();
    let first = monitored.intervals.clone();
    let length = first.last().unwrap().until;
    for (number, interval) in (1..).zip(first.iter().cycle().take(30)) {
        let until = Nanos(length.get() + number * Nanos::SECOND.get());
        monitored.intervals.push(model::Interval { until, ..interval.clone() });
    }
    let tests = compared(&[watched.clone()], &[watched.clone()]);
    let row = &tests[0].rows[0];
    assert_eq!((row.verdict, row.change, row.at_least()), (Verdict::CannotTell, None, None));
    assert!(row.reason.as_ref().unwrap().starts_with("one run each"), "{row:?}");
    let within = row.within[0].unwrap();
    assert!(within.low > 1900.0 && within.high.unwrap() < 2100.0 && within.low < within.high.unwrap(), "{within:?}");
    let [first, second] = summary(&tests, 0.05).sentences;
    assert_eq!(first, "In one run each: sequential reads ×8 IOPS 0.0 %.");
    assert!(second.contains("from run to run is not known") && second.contains("five runs a side"), "{second}");
    // Twenty times the rate is more than the noise within both runs, whatever the machine does between them.
    let mut faster = watched.clone();
    for interval in &mut faster.monitored.as_mut().unwrap().intervals {
        interval.ios[0] *= 20;
    }
    faster.jobs[0].directions.read.ios *= 20;
    let tests = compared(&[watched], &[faster]);
    let row = &tests[0].rows[0];
    let least = row.at_least().unwrap().exp();
    assert!(row.verdict == Verdict::CannotTell && least > 18.0 && least < 20.0, "{least}");
    let [first, _] = summary(&tests, 0.05).sentences;
    assert!(first.starts_with("In one run each: sequential reads ×8 IOPS at least 1"), "{first}");
    assert!(first.ends_with(" times more."), "{first}");
}

#[test]
fn tests_of_other_users_or_directions_are_not_paired() {
    let mut sixteen = result(80_000, 9);
    sixteen.jobs[0].workers = 16;
    let found = pair(observed(&[result(80_000, 1)]), observed(&[sixteen]));
    assert!(found.both.is_empty());
    assert_eq!(found.only_old, ["sequential reads ×8: users 8 in the old results, 16 in the new ones"]);
    assert_eq!(found.only_new, ["sequential reads ×16"]);
    let mut writes = result(80_000, 9);
    let job = &mut writes.jobs[0];
    job.directions.write = std::mem::take(&mut job.directions.read);
    workload(&mut writes).mix = plan::Mix::Only(measure::Direction::Write);
    let found = pair(observed(&[result(80_000, 1)]), observed(&[writes]));
    assert_eq!(found.only_old, ["sequential reads ×8: direction reads in the old results, writes in the new ones"]);
}

#[test]
fn tests_of_other_sizes_or_flushes_are_refused() {
    let sized = |bytes: u64| {
        let mut found = result(80_000, 1);
        found.jobs[0].echo.region_bytes = bytes;
        found
    };
    let found = pair(observed(&[sized(1 << 30)]), observed(&[sized(2 << 30)]));
    assert!(found.both.is_empty() && found.refused[0].contains("its I/Os go to 1 GiB and 2 GiB"), "{found:?}");
    let mut flushed = sized(1 << 30);
    workload(&mut flushed).flushes.by_each_write = true;
    let found = pair(observed(&[sized(1 << 30)]), observed(&[flushed]));
    assert!(found.refused[0].contains("durable in different ways"), "{found:?}");
    let mut outline = sized(0);
    workload(&mut outline).is_outline = true;
    let found = pair(observed(&[sized(1 << 30)]), observed(&[outline]));
    assert_eq!(found.both.len(), 1);
    assert!(found.not_stated[0].contains("the new side does not state the size of the data, flushes"), "{found:?}");
}

#[test]
fn a_new_name_is_a_new_test_only_where_a_file_has_two() {
    let named = |names: &[&str]| {
        let mut found = result(80_000, 1);
        let job = found.jobs[0].clone();
        found.jobs = names
            .iter()
            .map(|name| {
                let mut job = job.clone();
                job.echo.name = (*name).to_owned();
                job
            })
            .collect();
        found
    };
    let renamed = pair(observed(&[named(&["a"])]), observed(&[named(&["b"])]));
    assert_eq!((renamed.both.len(), renamed.only_old.len()), (1, 0));
    let two = pair(observed(&[named(&["a", "b"])]), observed(&[named(&["b", "a"])]));
    let labels: Vec<String> = two.both.iter().map(|test| test.old.label()).collect();
    assert_eq!(labels, ["a: sequential reads ×8", "b: sequential reads ×8"]);
    let clones = observed(&[named(&["a", "a"])]);
    assert_eq!((clones.len(), clones[0].asked.users), (1, 16), "clones of a job are its users");
}

#[test]
fn a_result_given_twice_counts_once() {
    let found = pair(observed(&[result(80_000, 1), result(80_000, 1)]), observed(&[result(80_000, 2)]));
    assert_eq!((found.both[0].old.runs.len(), found.repeated), (1, 1));
}

#[test]
fn a_changed_scheduler_is_the_only_difference_that_is_shown() {
    let facts = |scheduler: &str, kernel: &str| {
        let mut found = watched_random_read();
        found.environment.kernel = kernel.to_owned();
        found.monitored.as_mut().unwrap().devices[0].scheduler = Some(scheduler.to_owned());
        let mut facts = FactSet::default();
        facts.add(&found);
        facts
    };
    let found = facts("none", "").differences(&facts("mq-deadline", ""));
    let expected = Difference { fact: "scheduler".to_owned(), old: "none".to_owned(), new: "mq-deadline".to_owned() };
    assert_eq!(found, [expected]);
    assert_eq!(facts("none", "6.1").differences(&facts("none", "")), []);
    assert_eq!(facts("none", "6.1").not_known(&facts("none", "")), ["kernel"]);
}

#[test]
fn the_engine_of_a_job_left_out_is_not_a_difference() {
    let mut two = result(80_000, 1);
    let mut other = two.jobs[0].clone();
    other.echo.engine = "libaio".into();
    other.echo.iodepth = 8;
    two.jobs.push(other);
    let found = pair(observed(&[result(80_000, 1)]), observed(&[two.clone()]));
    assert_eq!((found.both.len(), found.differences()), (1, vec![]));
    two.jobs[0].echo.engine = "mmap".into();
    let found = pair(observed(&[result(80_000, 1)]), observed(&[two])).differences();
    assert_eq!((found[0].fact.as_str(), found[0].new.as_str()), ("engine", "mmap"));
}

#[test]
fn percentiles_of_a_report_are_those_that_it_prints() {
    let foreign = printed(result(80_000, 1), Some(8.0), Some(1.0));
    let found = &observe(&foreign, None, 0)[0];
    assert_eq!(found.number(Metric::Percentile(50.0)), Err(Missing::NotStated));
    assert!(found.number(Metric::Iops).is_ok() && found.number(Metric::Mean).is_ok());
}

#[test]
fn errors_and_memory_are_seen() {
    let mut failed = result(80_000, 1);
    failed.jobs[0].error =
        Some(JobError { errno: 5, operation: "read".into(), message: "a: error 5".into(), signal: None });
    let note = Note { check: "cache".into(), grade: Grade::NotAStorageResult, sentence: "x".into(), evidence: vec![] };
    let failed_alone = failed.clone();
    failed.notes.push(note);
    let found = &observe(&failed, None, 0)[0];
    let why = found.not_storage.as_ref().map(ToString::to_string);
    assert_eq!((found.failed.as_deref(), why.as_deref()), (Some("a: error 5"), Some("cache: x")));
    let tests = compared(&[result(80_000, 2)], &[failed]);
    let no_answer =
        "New errors in sequential reads ×8. No answer: of the new side 1 of 1 runs, cache: x [NOT A STORAGE RESULT].";
    assert_eq!(summary(&tests, 0.05).sentences[0], no_answer);
    let tests = compared(&[result(80_000, 2)], &[failed_alone]);
    assert!(summary(&tests, 0.05).sentences[0].starts_with("New errors in sequential reads ×8"));
}

#[test]
fn a_test_that_is_not_of_the_storage_has_no_verdict() {
    let mut new = runs(&NEW, 2..);
    let note = Note { check: "cache".into(), grade: Grade::NotAStorageResult, sentence: "x".into(), evidence: vec![] };
    new[2].notes.push(note);
    let [test] = &compared(&runs(&OLD, 1..), &new)[..] else { panic!("one test") };
    assert!(test.rows.iter().all(|row| row.verdict == Verdict::CannotTell && !row.is_sure), "{:?}", test.rows);
    assert_eq!(test.rows[0].reason, test.refusal());
    let other = compared(&runs(&OLD, 1..), &runs(&NEW, 2..)).remove(0);
    let mut test = test.clone();
    test.label = "random reads 4K".to_owned();
    let [first, _] = summary(&[test, other], 0.05).sentences;
    let begins = "No answer for random reads 4K: of the new side 1 of 5 runs, cache: x [NOT A STORAGE RESULT]. Of the \
                  others: Worse: sequential reads";
    assert!(first.starts_with(begins), "{first}");
}

#[test]
fn other_programs_disturb_a_run_a_computing_worker_does_not() {
    let noted = |check: &str, grade: Grade, evidence: &[(&str, f64)]| {
        let mut found = result(80_000, 1);
        let evidence = evidence.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        found.notes.push(Note { check: check.into(), grade, sentence: "x".into(), evidence });
        let found = observe(&found, None, 0).remove(0);
        (found.not_storage.is_some(), found.disturbed.is_some())
    };
    let bad = Grade::NotAStorageResult;
    assert_eq!(noted("neighbour", Grade::ValidWithLimits, &[]), (false, true));
    assert_eq!(noted("client CPU", bad, &[("run_delay_percent", 38.0)]), (true, true), "another program computed");
    assert_eq!(noted("client CPU", bad, &[("run_delay_percent", 1.0)]), (true, false), "the worker itself computed");
    assert_eq!(noted("client CPU", Grade::ValidWithLimits, &[("steal_percent", 30.0)]), (false, true));
    assert_eq!(noted("client CPU", Grade::ValidWithLimits, &[("run_delay_percent", 45.0)]), (false, false));
    assert_eq!(noted("cache", bad, &[]), (true, false));
    let mut disturbed = [result(80_000, 2), result(80_500, 3)];
    let note =
        Note { check: "neighbour".into(), grade: Grade::ValidWithLimits, sentence: "x".into(), evidence: vec![] };
    disturbed[1].notes.push(note);
    let tests = compared(&[result(80_000, 1)], &disturbed);
    assert_eq!(tests[0].disturbed, [None, Some("1 of 2 runs, neighbour: x".to_owned())]);
}

/// A generator of rates: 80,000 with 3 % of noise.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of some 80,000")]
fn rate(noise: &mut SplitMix, drift: f64) -> u64 {
    let normal = (0..12).map(|_| noise.fraction()).sum::<f64>() - 6.0;
    (80_000.0 * (0.03 * normal + drift).exp()) as u64
}

#[test]
fn equal_results_differ_in_5_percent_of_300_comparisons_at_most() {
    let mut named = 0;
    for seed in 0..300 {
        let mut noise = SplitMix::new(seed);
        let mut side = || runs(&std::array::from_fn::<u64, 5, _>(|_| rate(&mut noise, 0.0)), 1..);
        let tests = compared(&side(), &side());
        named += u32::from(tests[0].rows.iter().any(|row| row.is_sure));
    }
    // 5 % and three deviations of the count.
    assert!(named <= 26, "{named} of 300");
}

#[test]
fn a_drift_that_looks_like_a_change_carries_the_remark() {
    let mut called = 0;
    for seed in 0..100 {
        let mut noise = SplitMix::new(seed);
        let all: Vec<RunResult> =
            (0..10_u32).map(|at| result(rate(&mut noise, 0.01 * f64::from(at)), 100 + u64::from(at))).collect();
        let blocks = compared(&all[..5], &all[5..]);
        let remarks = summary(&blocks, 0.05).remarks;
        assert!(remarks.len() == 1 && remarks[0].starts_with("All old runs were made before all new ones"));
        let differs = |tests: &[ComparedTest]| tests[0].rows[0].change.unwrap().probability() < ALPHA;
        called += u32::from(differs(&blocks));
        let every = |first: usize| -> Vec<RunResult> { all.iter().skip(first).step_by(2).cloned().collect() };
        let turns = compared(&every(0), &every(1));
        assert_eq!((turns[0].order, summary(&turns, 0.05).remarks.len()), (RunOrder::Turns, 0));
    }
    assert!(called > 50, "only {called} of 100: there is no drift to be warned of");
}

/// Ten results of one machine that was not changed: with a drift of three deviations, or with slow noise.
fn unchanged(seed: u64, correlation: Option<f64>) -> Vec<RunResult> {
    let mut noise = SplitMix::new(seed);
    let mut normal = || (0..12).map(|_| noise.fraction()).sum::<f64>() - 6.0;
    let mut slow = normal();
    let mut level = |at: u32| match correlation {
        None => normal() + 3.0 * f64::from(at) / 9.0,
        Some(correlation) => {
            slow = correlation * slow + (1.0 - correlation * correlation).sqrt() * normal();
            slow
        }
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of some 80,000")]
    let rate = |level: f64| (80_000.0 * (0.03 * level).exp()) as u64;
    (0..10).map(|at| result(rate(level(at)), 100 + u64::from(at))).collect()
}

/// `PLUMB_SEEDS` cases of each machine (200). Of 1,000 with a drift 522 look changed, of those with slow noise 378, and
/// all carry the remark.
#[test]
fn sets_in_two_blocks_look_changed_and_all_carry_the_remark() {
    let seeds = std::env::var("PLUMB_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(200_u64);
    for (what, correlation, share) in [("a drift of three deviations", None, 0.4), ("AR(1) 0.9", Some(0.9), 0.25)] {
        let (mut called, mut remarked) = (0_u64, 0_u64);
        for seed in 0..seeds {
            let all = unchanged(seed, correlation);
            let (first, second) = all.split_at(5);
            let (old, new, starts) = match seed % 2 {
                0 => (first, second, "All old runs were made before all new ones"),
                _ => (second, first, "All new runs were made before all old ones"),
            };
            let tests = compared(old, new);
            let remarks = summary(&tests, 0.05).remarks;
            remarked += u64::from(remarks.iter().filter(|remark| remark.starts_with(starts)).count() == 1);
            called += u64::from(tests[0].rows[0].change.unwrap().probability() < ALPHA);
        }
        println!("{what}: {called} of {seeds} unchanged machines look changed, {remarked} carry the remark");
        assert_eq!(remarked, seeds, "{what}");
        let least = share * measure::float(seeds);
        assert!(measure::float(called) > least, "{what}: {called} look changed: nothing to be warned of");
    }
}
