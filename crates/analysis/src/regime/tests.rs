//! The rules on generated series whose truth is known: 100 seeds of each kind, and series without a change. `cargo test
//! -p analysis regime -- --nocapture` prints the measured errors.

use super::*;
use crate::statistics::simulated::{Noise, at_most, count};
use measure::Nanos;
use model::{IoCap, LatencyCounts, Until, UntilRegime};

/// Seconds of an interval.
const PACE: f64 = 0.5;
const BLOCK: u64 = 8192;

/// A course of these I/Os per second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of a test")]
fn course(rates: &[f64]) -> Course {
    let step = |(at, rate): (u64, &f64)| {
        let ios = (rate * PACE).round().max(0.0) as u64;
        Step {
            until: Nanos::from_millis(500 * at),
            length: Nanos::from_millis(500),
            ios,
            bytes: ios * BLOCK,
            ..Step::default()
        }
    };
    Course { steps: (1..).zip(rates).map(step).collect(), ..Course::default() }
}

/// A rate in each interval, of which `at` is the mean at a moment in seconds, with noise of this deviation.
fn series(noise: &mut Noise, count: usize, deviation: f64, at: impl Fn(f64) -> f64) -> Vec<f64> {
    const PARTS: u32 = 20;
    let whole = |from: f64| {
        let parts = (0..PARTS).map(|part| at(from + PACE * (f64::from(part) + 0.5) / f64::from(PARTS)));
        parts.sum::<f64>() / f64::from(PARTS)
    };
    let noise = noise.slow(count, 0.3);
    noise.iter().enumerate().map(|(index, noise)| whole(PACE * index as f64) * (1.0 + deviation * noise)).collect()
}

/// A limit of a control group on a device, without its rates.
fn cap_of(device: &str) -> IoCap {
    IoCap { group: Some("/bench".into()), device: device.into(), ..IoCap::default() }
}

fn value(phase: &Phase, name: &str) -> f64 {
    let found = phase.evidence.iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("{name}: {phase:?}")).1
}

fn kinds(phases: &[Phase]) -> Vec<PhaseKind> {
    phases.iter().map(|phase| phase.kind).collect()
}

/// Largest errors over the seeds, as shares or intervals.
#[derive(Debug, Default)]
struct Errors {
    moment: f64,
    base: f64,
    size: f64,
}

impl Errors {
    fn add(&mut self, moment: f64, base: f64, size: f64) {
        self.moment = self.moment.max((moment / PACE).abs());
        self.base = self.base.max(base.abs());
        self.size = self.size.max(size.abs());
    }

    fn check(&self, what: &str) {
        println!("{what}: {self:?}");
        assert!(self.moment <= 1.0 && self.base <= 0.01 && self.size <= 0.06, "{what}: {self:?}");
    }
}

const BUCKETS: [(f64, f64, f64, usize); 4] = [
    (3_000.0, 300.0, 54_000.0, 120),
    (3_000.0, 1_500.0, 45_000.0, 160),
    (3_000.0, 2_400.0, 15_000.0, 160),
    (16_000.0, 12_000.0, 200_000.0, 240),
];

#[test]
fn credits_are_named_with_moment_size_and_the_rate_after() {
    for (plateau, base, size, intervals) in BUCKETS {
        let mut errors = Errors::default();
        let spent = size / (plateau - base);
        for seed in 1..=100 {
            let rates = series(&mut Noise::new(seed), intervals, 0.015, |at| if at < spent { plateau } else { base });
            let phases = of_course(&course(&rates));
            assert_eq!(kinds(&phases), [PhaseKind::Burst, PhaseKind::Settled], "{plateau} {base} {seed}: {phases:#?}");
            let moment = value(&phases[0], "spent_after_s") - spent;
            errors.add(
                moment,
                value(&phases[0], "base_iops") / base - 1.0,
                value(&phases[0], "credits_ios") / size - 1.0,
            );
            assert!((phases[0].until.as_secs_f64() - spent).abs() <= PACE, "{seed}: {phases:?}");
        }
        errors.check(&format!("credits of {size} I/Os, {plateau} to {base}"));
    }
}

#[test]
fn a_write_cache_is_named_with_its_moment_and_its_size() {
    for (factor, noise) in [(4.0, 0.02), (1.6, 0.015), (4.0, 0.0)] {
        let mut errors = Errors::default();
        let (fast, full) = (9_650.0, 31.3);
        for seed in 1..=100 {
            let rate = |at: f64| if at < full { fast } else { fast / factor };
            let mut course = course(&series(&mut Noise::new(seed), 200, noise, rate));
            (course.writes, course.device_bytes) = (true, Some(1 << 40));
            let phases = of_course(&course);
            assert_eq!(phases[0].kind, PhaseKind::WriteCache, "{factor} {seed}: {phases:#?}");
            // With this noise, 68 intervals do not always show that the rate is settled.
            assert!(phases.len() == 2 && phases[1].kind != PhaseKind::Drifting, "{factor} {seed}: {phases:#?}");
            let cache = fast * full * BLOCK as f64;
            let base = value(&phases[0], "base_bytes_per_second") / (fast / factor * BLOCK as f64) - 1.0;
            errors.add(value(&phases[0], "full_after_s") - full, base, value(&phases[0], "cache_bytes") / cache - 1.0);
        }
        errors.check(&format!("write cache, factor {factor}, noise {noise}"));
    }
}

#[test]
fn a_stall_that_recurs_is_named_with_its_period() {
    for (every, length) in [(10.0, 2.0), (5.0, 1.0), (7.3, 1.1), (20.0, 5.0)] {
        let mut worst = 0.0_f64;
        for seed in 1..=100 {
            let rate = |at: f64| if at % every > every - length { 0.0 } else { 1_000.0 };
            let phases = of_course(&course(&series(&mut Noise::new(seed), 240, 0.02, rate)));
            assert_eq!(kinds(&phases), [PhaseKind::Dips], "{every} {seed}: {phases:#?}");
            worst = worst.max((value(&phases[0], "period_s") - every).abs());
            assert!((value(&phases[0], "lost_percent") / 100.0 - length / every).abs() < 0.05, "{phases:?}");
        }
        println!("stall every {every} s: period within {worst:.2} s");
        assert!(worst <= PACE, "{every}: {worst}");
    }
}

#[test]
fn a_rate_that_approaches_its_end_is_settling() {
    for (start, decay, intervals) in [(4.0, 20.0, 120), (2.0, 15.0, 120), (0.4, 20.0, 160)] {
        for seed in 1..=100 {
            let rate = |at: f64| 61_000.0 * (1.0 + (start - 1.0) * (-at / decay).exp());
            let phases = of_course(&course(&series(&mut Noise::new(seed), intervals, 0.01, rate)));
            assert_eq!(phases[0].kind, PhaseKind::Settling, "{start} {decay} {seed}: {phases:#?}");
            let known = [PhaseKind::Settling, PhaseKind::Settled, PhaseKind::CannotTell];
            assert!(phases.iter().all(|phase| known.contains(&phase.kind)), "{start} {decay} {seed}: {phases:#?}");
        }
    }
}

#[test]
fn the_end_of_a_curve_is_forecast() {
    let mut worst = 0.0_f64;
    for seed in 1..=100 {
        let rate = |at: f64| 61_000.0 * (1.0 + 0.6 * (-at / 40.0).exp());
        let phases = of_course(&course(&series(&mut Noise::new(seed), 180, 0.005, rate)));
        let Some(last) = phases.last().filter(|phase| phase.kind == PhaseKind::Settling) else {
            panic!("{seed}: {phases:#?}")
        };
        worst = worst.max((value(last, "end_iops") / 61_000.0 - 1.0).abs());
    }
    println!("forecast of the end: within {:.1} %", 100.0 * worst);
    assert!(worst < 0.1, "{worst}");
}

#[test]
fn a_slow_approach_seen_for_a_fifth_of_it_is_never_settled() {
    for (noise, intervals) in [(0.0, 240), (0.01, 240), (0.03, 240), (0.01, 400)] {
        for seed in 1..=100 {
            // The service time falls from twice its value over ten minutes.
            let rate = |at: f64| 1_000.0 / (2.0 - at / 600.0);
            let phases = of_course(&course(&series(&mut Noise::new(seed), intervals, noise, rate)));
            assert!(
                !phases.is_empty() && phases.iter().all(|phase| phase.kind != PhaseKind::Settled),
                "{seed}: {phases:#?}"
            );
        }
    }
}

#[test]
fn a_run_without_a_change_has_neither_a_change_nor_a_kind() {
    for (length, deviation) in [(120, 0.08), (120, 0.03), (240, 0.15)] {
        for correlation in [0.0, 0.5, 0.8] {
            let found = count(|noise| {
                let rates: Vec<f64> =
                    noise.slow(length, correlation).iter().map(|level| 10_000.0 * (1.0 + deviation * level)).collect();
                let phases = of_course(&course(&rates));
                let none = [PhaseKind::Settled, PhaseKind::CannotTell];
                phases.len() != 1 || !none.contains(&phases[0].kind)
            });
            println!("{length} intervals, {deviation}, correlation {correlation}: {found}");
            at_most(0.05, found, &format!("{length} intervals, correlation {correlation}"));
        }
    }
}

#[test]
fn a_limit_that_a_counter_shows_is_not_a_burst() {
    let rates = series(&mut Noise::new(1), 120, 0.01, |at| if at < 20.0 { 3_000.0 } else { 300.0 });
    let named = |change: &dyn Fn(&mut Course)| {
        let mut changed = course(&rates);
        change(&mut changed);
        let phases = of_course(&changed);
        assert_eq!(phases[1].kind, PhaseKind::Throttled, "{phases:#?}");
        phases[1].sentence.split_once(": ").unwrap().1.to_owned()
    };
    let since = |course: &mut Course, from: usize, of: &dyn Fn(&mut Step)| {
        course.steps.iter_mut().skip(from).for_each(of);
    };
    let quota = |step: &mut Step| step.throttled = Some((Nanos::from_millis(400), 4));
    let found = named(&|course| since(course, 40, &quota));
    assert_eq!(found, "cpu.max held the workers back 80 % of the time (nr_throttled + 320)");
    let cap = |limit| vec![IoCap { read_iops: Some(limit), ..cap_of("sda") }];
    let found = named(&|course| course.caps = vec![(Nanos::ZERO, cap(300))]);
    assert_eq!(found, "the limit of control group /bench, 300 I/Os/s on sda");
    let found = named(&|course| course.caps = vec![(Nanos::ZERO, cap(50_000)), (Nanos::from_millis(20_600), cap(300))]);
    assert_eq!(found, "the limit of control group /bench, 300 I/Os/s on sda, which was set at 21 s");
    // The device is hot when it slows down, and cools down then.
    let warm = |millidegrees| Some(Warmth { device: "nvme0n1".into(), millidegrees, warning_millidegrees: 83_850 });
    let found = named(&|course| {
        since(course, 0, &|step| step.warmest = warm(60_000));
        since(course, 38, &|step| step.warmest = warm(84_850));
        since(course, 44, &|step| step.warmest = warm(79_850));
    });
    assert_eq!(found, "nvme0n1 was at 85 °C, and warns from 84 °C on (hwmon temp1_max)");
    let found = named(&|course| since(course, 40, &|step| step.processor_throttles = 3));
    assert_eq!(found, "processors were slowed because of heat 240 times (package_throttle_count, core_throttle_count)");
    // What was there before the change does not explain it.
    for from_the_begin in
        [&|step: &mut Step| step.warmest = warm(90_000), &|step: &mut Step| step.processor_throttles = 3]
            as [&dyn Fn(&mut Step); 2]
    {
        let mut same = course(&rates);
        since(&mut same, 0, from_the_begin);
        assert_eq!(of_course(&same)[0].kind, PhaseKind::Burst);
    }
    let mut neighbour = course(&rates);
    neighbour.steps.iter_mut().skip(40).for_each(|step| step.others = 10 * step.bytes);
    assert_ne!(of_course(&neighbour)[0].kind, PhaseKind::Burst, "others took the disk");
}

#[test]
fn a_level_without_a_cause_is_unnamed_and_the_last_one_lasts() {
    let rates = series(&mut Noise::new(3), 240, 0.02, |at| if at < 40.0 { 3_000.0 } else { 4_000.0 });
    let phases = of_course(&course(&rates));
    assert_eq!(kinds(&phases), [PhaseKind::Settled, PhaseKind::Settled], "{phases:#?}");
    assert_eq!(lasting_phase(&phases), phases.last());
    assert_eq!(lasting(&phases[..1]), None);
    let lasting = lasting(&phases).unwrap();
    assert_eq!((lasting.iops, lasting.until), (phases[1].iops, phases[1].until));
    assert!((lasting.average_iops / (4_000.0 - 1_000.0 / 3.0) - 1.0).abs() < 0.01, "{lasting:?}");
    let sentence = lasting.sentence;
    let part = "in the last settled phase (40–120 s); the average of 3,6";
    assert!(sentence.contains(" IOPS (31.") && sentence.contains(part), "{sentence}");
    assert_eq!(of_course(&course(&[100.0; 14])), []);
    assert_eq!(kinds(&of_course(&course(&[100.0; 40]))), [PhaseKind::CannotTell]);
}

#[test]
fn io_that_a_limiter_holds_is_a_second_kind() {
    let histogram = |held: u64| {
        let mut all = measure::Histogram::new();
        all.record_many(Nanos::from_micros(90), 1_000 - held);
        all.record_many(Nanos::from_micros(3_100), held);
        LatencyCounts::gained(&all, &measure::Histogram::new())
    };
    let with = |held: u64, intervals: usize| {
        let mut course = course(&vec![2_000.0; intervals]);
        course.steps.iter_mut().for_each(|step| step.latencies = histogram(held));
        of_course(&course)
    };
    let phases = with(60, 130);
    assert_eq!(kinds(&phases), [PhaseKind::Settled]);
    assert!((value(&phases[0], "held_percent") - 6.0).abs() < 0.01, "{phases:#?}");
    assert!((value(&phases[0], "held_us") / 3_100.0 - 1.0).abs() < 0.04, "{phases:#?}");
    let short = with(60, 40);
    assert_eq!(kinds(&short), [PhaseKind::CannotTell]);
    assert!(short[0].sentence.contains("; a limiter holds 6 % of the I/Os"), "{short:#?}");
    assert_eq!(with(4, 130)[0].evidence, [], "less than half a percent");
}

/// Samples of a run at these rates, with an interval before and one after the steady part.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of a test")]
fn samples(rates: &[f64]) -> Monitored {
    let interval = |(at, rate): (u64, &f64)| {
        let ios = (rate * PACE).round().max(0.0) as u64;
        model::Interval {
            until: Nanos::from_millis(500 * at),
            measuring: 1,
            ios: [ios, 0, 0],
            bytes: [ios * BLOCK, 0, 0],
            ..model::Interval::default()
        }
    };
    Monitored { intervals: (1..).zip(rates).map(interval).collect(), ..Monitored::default() }
}

/// The interval at which a run at these rates ends, and how.
fn ended(until: Until, rates: &[f64]) -> (usize, UntilRegime) {
    let mut watch = RegimeWatch::new(until);
    let all = samples(rates);
    let part = |count: usize| Monitored { intervals: all.intervals[..count].to_vec(), ..Monitored::default() };
    let end =
        (1..=rates.len() / 5).map(|count| 5 * count).find(|&count| watch.look(&part(count))).unwrap_or(rates.len());
    (end, watch.end(Some(&part(end))))
}

#[test]
fn a_run_ends_soon_after_its_rate_changes_and_not_before() {
    for (before, after) in [(3_000.0, 300.0), (3_000.0, 2_400.0), (1_000.0, 1_500.0)] {
        for seed in 1..=100 {
            let rates = series(&mut Noise::new(seed), 400, 0.02, |at| if at < 62.3 { before } else { after });
            let (end, found) = ended(Until::Change, &rates);
            assert!(found.reached && (145..=180).contains(&end), "{before} {after} {seed}: {end} {found:?}");
            assert!(found.sentence.starts_with("it ended because its rate had changed at 6"), "{found:?}");
        }
    }
    // An approach at the begin is not a change of a steady rate.
    let approach = series(&mut Noise::new(1), 400, 0.01, |at| 1_000.0 * (1.0 + 2.0 * (-at / 8.0).exp()));
    let (end, found) = ended(Until::Change, &approach);
    assert!(end == 400 && !found.reached && found.sentence.contains("no change"), "{end} {found:?}");
}

#[test]
fn a_run_without_a_change_is_not_ended() {
    const RUNS: u64 = 100;
    for correlation in [0.5, 0.8] {
        let ends = |seed: &u64| {
            let noise = Noise::new(*seed).slow(300, correlation);
            let rates: Vec<f64> = noise.iter().map(|level| 10_000.0 * (1.0 + 0.08 * level)).collect();
            ended(Until::Change, &rates).1.reached
        };
        let found = (1..=RUNS).filter(ends).count();
        println!("ended without a change, correlation {correlation}: {found} of {RUNS}");
        assert!(found as f64 <= 0.05 * RUNS as f64, "correlation {correlation}: {found} of {RUNS}");
    }
}

#[test]
fn a_run_ends_once_it_is_settled_and_a_slow_approach_does_not() {
    for seed in 1..=20 {
        let rates = series(&mut Noise::new(seed), 600, 0.01, |at| 1_000.0 * (1.0 + 2.0 * (-at / 8.0).exp()));
        let (end, found) = ended(Until::Settled, &rates);
        assert!(found.reached && (240..=330).contains(&end), "{seed}: {end} {found:?}");
        assert!(found.sentence.contains("IOPS in its last"), "{found:?}");
        let slow = series(&mut Noise::new(seed), 400, 0.01, |at| 1_000.0 / (2.0 - at / 600.0));
        let (_, found) = ended(Until::Settled, &slow);
        assert!(!found.reached && found.sentence.contains("had not settled"), "{seed}: {found:?}");
    }
}

#[test]
fn a_settled_rate_that_a_provider_publishes_is_like_its_volume() {
    let disk = |gib: u64| model::DeviceFacts {
        name: "nvme1n1".into(),
        leaf: true,
        model: Some("Amazon Elastic Block Store".into()),
        size_bytes: Some(gib << 30),
        ..model::DeviceFacts::default()
    };
    let of = |rates: &[f64], gib| {
        let monitored = Monitored { devices: vec![disk(gib)], ..samples(rates) };
        phases_so_far(&monitored)
    };
    let held = series(&mut Noise::new(1), 162, 0.002, |_| 3_000.0);
    let phases = of(&held, 200);
    assert!(phases[0].sentence.ends_with("; like EBS gp3 as sold without more (3,000 IOPS)"), "{phases:#?}");
    assert_eq!(phases[0].like[0].read, "2026-11");
    let spent = series(&mut Noise::new(1), 162, 0.005, |at| if at < 20.0 { 3_000.0 } else { 300.0 });
    let phases = of(&spent, 100);
    assert!(
        phases[0].kind == PhaseKind::Burst && phases[0].sentence.ends_with("; like EBS gp2 of 100 GiB"),
        "{phases:#?}"
    );
    // A rate with the noise of a disk is not one that is set.
    let noisy = series(&mut Noise::new(1), 162, 0.03, |_| 3_000.0);
    assert!(of(&noisy, 200).iter().all(|phase| phase.like.is_empty()));
    assert!(of_course(&course(&held)).iter().all(|phase| phase.like.is_empty()), "no disk is known");
}
