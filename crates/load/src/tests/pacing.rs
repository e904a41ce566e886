//! The times at which I/Os are issued: rates and think time, exact in virtual time.

use super::*;

fn paced(change: impl FnOnce(&mut JobPlan)) -> JobPlan {
    let mut job = job();
    job.limits.runtime = Some(Nanos(10 * SECOND));
    change(&mut job);
    job
}

fn times(trace: &Trace) -> Vec<u64> {
    trace.requests.iter().map(|(time, _)| *time).collect()
}

fn check_even(change: impl FnOnce(&mut JobPlan), expected: impl Fn(u64) -> u64, count: usize) {
    let times = times(&trace(&paced(change), &regions(&[1 << 40])));
    assert_eq!(times.len(), count);
    for (index, time) in (0u64..).zip(times) {
        assert_eq!(time, expected(index), "I/O {index}");
    }
}

#[test]
fn a_thousand_ios_per_second_are_one_per_millisecond() {
    check_even(|job| job.pace.iops.read = Some(1000), |index| index * MS, 10_000);
}

#[test]
fn a_rate_that_divides_no_second_does_not_drift() {
    check_even(|job| job.pace.iops.read = Some(7), |index| index * SECOND / 7, 70);
    check_even(|job| job.pace.rate.read = Some(BytesPerSecond(30_000)), |index| index * 4096 * SECOND / 30_000, 74);
}

#[test]
fn a_rate_in_ios_over_a_range_of_sizes_is_bytes_of_the_smallest() {
    let job = paced(|job| {
        job.pace.iops.read = Some(1000);
        job.load.block_size = alike(BlockSize::Range(4096, 16384));
    });
    let bytes = bytes(&trace(&job, &regions(&[1 << 40])));
    assert!(bytes.abs_diff(1000 * 4096 * 10) <= 16384, "{bytes}");
}

#[test]
fn a_rate_in_ios_over_split_sizes_counts_ios() {
    check_even(
        |job| {
            job.pace.iops.read = Some(1000);
            job.load.block_size = alike(BlockSize::Split(vec![(4096, 50), (65536, 50)]));
        },
        |index| index * MS,
        10_000,
    );
}

#[test]
fn a_stall_is_caught_up() {
    let job = paced(|job| job.pace.iops.read = Some(1000));
    let mut load = load(&job, &regions(&[1 << 40]));
    assert!(matches!(load.next(Nanos(0)), Next::Issue(_)));
    assert_eq!(load.next(Nanos(0)), Next::Wait(Nanos(MS)));
    for _ in 0..10 {
        assert!(matches!(load.next(Nanos(10 * MS)), Next::Issue(_)));
    }
    assert_eq!(load.next(Nanos(10 * MS)), Next::Wait(Nanos(11 * MS)));
}

#[test]
fn no_wait_outlasts_the_runtime() {
    let job = paced(|job| job.pace.rate.read = Some(BytesPerSecond(1)));
    let trace = trace(&job, &regions(&[1 << 40]));
    assert_eq!((trace.requests.len(), trace.ended), (1, 10 * SECOND));
}

#[test]
fn each_direction_of_a_mix_keeps_its_own_rate() {
    let job = paced(|job| {
        job.load.mix = Mix::ReadWrite;
        job.load.read_percent = 70;
        job.pace.iops = PerDirection { read: Some(100), write: Some(50), trim: None };
    });
    let trace = trace(&job, &regions(&[1 << 40]));
    assert_eq!((count(&trace, Operation::Read), count(&trace, Operation::Write)), (1000, 500));
}

#[test]
fn a_direction_without_a_rate_fills_in() {
    let job = paced(|job| {
        job.load.mix = Mix::ReadWrite;
        job.pace.iops.read = Some(100);
        job.limits.runtime = Some(Nanos(SECOND / 10));
    });
    let trace = trace(&job, &regions(&[1 << 40]));
    assert_eq!(count(&trace, Operation::Read), 10);
    assert_eq!(count(&trace, Operation::Write), 99_990);
}

#[test]
fn poisson_gaps_have_the_mean_and_deviation_of_exponentials() {
    let job = paced(|job| {
        job.pace.iops.read = Some(10_000);
        job.pace.poisson = true;
    });
    let mut load = load(&job, &regions(&[1 << 40]));
    let times = times(&run(&mut load, 0, 50_000));
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let count = f64::from(u32::try_from(gaps.len()).unwrap());
    let mean = gaps.iter().sum::<f64>() / count;
    let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count).sqrt();
    assert!((mean - 1e5).abs() < 2e3 && (deviation - 1e5).abs() < 4e3, "{mean} {deviation}");
}

/// I/Os with a rate that are planned ahead, and the same that are decided one by one, with a stall in between.
fn planned_and_decided(job: &JobPlan) -> [Vec<(u64, Request)>; 2] {
    [false, true].map(|each| {
        let mut load = load(job, &regions(&[40_000 * 4 * K]));
        if each {
            load.decide_each();
        }
        let (mut now, mut requests) = (0, Vec::new());
        while requests.len() < 2200 {
            match load.next(Nanos(now)) {
                Next::Issue(request) => {
                    requests.push((now, request));
                    now += if requests.len() == 700 { SECOND } else { 0 };
                }
                Next::Wait(until) => now = until.get(),
                other => panic!("{other:?}"),
            }
        }
        requests
    })
}

#[test]
fn planned_ios_with_a_rate_are_those_decided_one_by_one() {
    let even = |job: &mut JobPlan| job.pace.iops.read = Some(777);
    let random = |job: &mut JobPlan| {
        even(job);
        job.load.random = true;
    };
    let changes: [&dyn Fn(&mut JobPlan); 8] = [
        &even,
        &random,
        &|job| {
            random(job);
            (job.load.cover_all, job.pace.poisson) = (false, true);
        },
        &|job| job.pace.rate.read = Some(BytesPerSecond(3_000_001)),
        &|job| {
            job.pace.rate.write = Some(BytesPerSecond(3_000_001));
            (job.load.mix, job.pace.poisson) = (Mix::Only(Direction::Write), true);
        },
        &|job| job.pace.iops.read = Some(u64::MAX),
        &|job| job.pace.rate.read = Some(BytesPerSecond(u64::MAX - 1)),
        &|job| job.pace.profile = profile(&[(0, 100), (1, 0), (2, 1000)]),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let [planned, decided] = planned_and_decided(&paced(change));
        assert!(planned.len() == 2200 && planned.iter().all(|(_, request)| request.due.is_some()), "load {index}");
        assert_eq!(planned, decided, "load {index}");
    }
}

#[test]
fn planned_ios_of_a_distribution_are_those_decided_one_by_one() {
    let zones = PerDirection::each(|_| vec![(30, 10), (70, 90)]);
    let distributions = [
        Distribution::Zipf(1.2, None),
        Distribution::Zipf(0.8, Some(0.5)),
        Distribution::Pareto(0.2, None),
        Distribution::Normal(10.0, None),
        Distribution::Zoned(zones),
    ];
    for distribution in distributions {
        for mix in [Mix::Only(Direction::Read), Mix::Only(Direction::Write), Mix::ReadWrite] {
            let job = paced(|job| {
                (job.load.random, job.load.cover_all, job.load.mix) = (true, false, mix);
                job.load.distribution = distribution.clone();
            });
            let [planned, decided] = planned_and_decided(&job);
            assert_eq!(planned, decided, "{distribution:?} {mix:?}");
        }
    }
}

#[test]
fn planned_ios_of_many_sizes_are_those_decided_one_by_one() {
    let sizes = [BlockSize::Range(4096, 65_536), BlockSize::Split(vec![(4096, 50), (8192, 30), (65_536, 20)])];
    let kinds = sizes.into_iter().flat_map(|size| [true, false].map(|cover_all| (size.clone(), cover_all)));
    for (size, cover_all) in kinds {
        for mix in [Mix::Only(Direction::Read), Mix::ReadWrite] {
            let job = paced(|job| {
                (job.load.random, job.load.cover_all, job.load.mix) = (true, cover_all, mix);
                job.load.block_size = PerDirection::each(|_| size.clone());
                job.files.io_size = Some(Extent::Bytes(40_000 * K));
            });
            let [planned, decided] = [false, true].map(|each| {
                let mut load = load(&job, &regions(&[4000 * 4 * K]));
                if each {
                    load.decide_each();
                }
                let mut steps = Vec::new();
                loop {
                    match load.next(Nanos(0)) {
                        Next::Stop => break steps,
                        step => steps.push(step),
                    }
                }
            });
            assert!(planned.iter().filter(|&step| *step == Next::Drain).count() >= usize::from(cover_all) * 2);
            let differs = planned.iter().zip(&decided).position(|(planned, decided)| planned != decided);
            assert_eq!((differs, planned.len()), (None, decided.len()), "{size:?} {cover_all} {mix:?}");
        }
    }
}

#[test]
fn first_ios_that_are_planned_are_those_that_are_decided() {
    let even = |job: &mut JobPlan| job.pace.iops.read = Some(777);
    let changes: [&dyn Fn(&mut JobPlan); 6] = [
        &|_| {},
        &even,
        &|job| job.load.random = true,
        &|job| (job.load.random, job.load.mix) = (true, Mix::ReadWrite),
        &|job| job.limits.ios = Some(7),
        &|job| job.load.mix = Mix::ReadWrite,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let job = paced(|job| {
            job.files.io_size = Some(Extent::Bytes(100 * 4 * K));
            change(job);
        });
        let [planned, decided] = [true, false].map(|first| {
            let mut load = load(&job, &regions(&[40 * 4 * K]));
            load.begin(Nanos(0));
            if first {
                load.plan_first();
            }
            let (mut now, mut steps) = (Nanos(0), Vec::new());
            loop {
                match load.next(now) {
                    Next::Stop => break (steps, load.passes()),
                    Next::Wait(until) => now = until,
                    step => steps.push(step),
                }
            }
        });
        assert!(planned.0.len() >= 7, "load {index}");
        assert_eq!(planned, decided, "load {index}");
    }
}

#[test]
fn rates_start_again_at_the_end_of_the_ramp() {
    let job = paced(|job| {
        job.pace.iops.read = Some(1000);
        job.limits.ramp = Nanos(SECOND);
    });
    let mut load = load(&job, &regions(&[1 << 40]));
    assert!(matches!(load.next(Nanos(0)), Next::Issue(_)));
    load.ramp_over(Nanos(SECOND));
    assert!(matches!(load.next(Nanos(SECOND)), Next::Issue(_)));
    assert_eq!(load.next(Nanos(SECOND)), Next::Wait(Nanos(SECOND + MS)), "the ramp leaves nothing to catch up");
}

#[test]
fn every_four_blocks_are_followed_by_a_pause_and_so_is_the_last() {
    let job = paced(|job| {
        job.pace.think = Nanos(10 * MS);
        job.pace.think_spin = Nanos(3 * MS);
        job.pace.think_blocks = 4;
    });
    let trace = trace(&job, &regions(&[8 * 4 * K]));
    let first = 4 * 1000;
    let second = first + 10 * MS + 4 * 1000;
    assert_eq!(trace.pauses, [(first, first + 7 * MS, first + 10 * MS), (second, second + 7 * MS, second + 10 * MS)]);
    assert_eq!((trace.drains, trace.ended), (2, second + 10 * MS));
}

#[test]
fn no_pause_outlasts_the_runtime() {
    let job = paced(|job| job.pace.think = Nanos(60 * SECOND));
    assert_eq!(trace(&job, &regions(&[1 << 40])).ended, 10 * SECOND);
}

#[test]
fn pauses_are_caught_up_unless_the_rate_ignores_them() {
    let ios = |ignore| {
        let job = paced(|job| {
            job.pace.iops.read = Some(100);
            job.pace.think = Nanos(20 * MS);
            job.pace.think_blocks = 10;
            job.pace.rate_ignores_think = ignore;
        });
        run(&mut load(&job, &regions(&[1 << 40])), 0, 100_000).requests.len()
    };
    assert_eq!(ios(false), 1000);
    // Nine gaps of 10 ms and one of 20 ms per ten I/Os.
    assert_eq!(ios(true), 910);
}

/// Steps of (seconds, I/Os per second).
fn profile(steps: &[(u64, u64)]) -> Vec<RateStep> {
    steps.iter().map(|&(from, iops)| RateStep { from: Nanos(from * SECOND), iops }).collect()
}

#[test]
fn a_profile_changes_the_rate_at_its_seconds_exactly() {
    let job = paced(|job| job.pace.profile = profile(&[(0, 0), (1, 10), (3, 1000), (4, 0), (6, 3)]));
    let times = times(&trace(&job, &regions(&[1 << 40])));
    let count = |from: u64, to: u64| times.iter().filter(|&&time| (from * SECOND..to * SECOND).contains(&time)).count();
    assert_eq!([count(0, 1), count(1, 3), count(3, 4), count(4, 6), count(6, 10)], [0, 20, 1000, 0, 12]);
    assert_eq!(times[..3], [SECOND, SECOND + SECOND / 10, SECOND + 2 * (SECOND / 10)]);
    assert!(times[20].abs_diff(3 * SECOND) <= 1, "{}", times[20]);
    // The area of the pause is 0: the I/O after it is due where the rate begins again.
    assert!(times[1020].abs_diff(6 * SECOND) <= 1 && times[1021].abs_diff(6 * SECOND + SECOND / 3) <= 1);
}

#[test]
fn a_profile_of_one_step_is_that_rate_and_arrivals_follow_it() {
    let even = paced(|job| job.pace.iops.read = Some(1000));
    let stepped = paced(|job| job.pace.profile = profile(&[(0, 1000)]));
    let [even, stepped] = [even, stepped].map(|job| times(&trace(&job, &regions(&[1 << 40]))));
    assert!(even.len() == stepped.len() && even.iter().zip(&stepped).all(|(a, b)| a.abs_diff(*b) <= 1));
    let poisson = paced(|job| {
        (job.pace.profile, job.pace.poisson) = (profile(&[(0, 1000), (5, 4000)]), true);
    });
    let times = times(&trace(&poisson, &regions(&[1 << 40])));
    let early = times.iter().filter(|&&time| time < 5 * SECOND).count();
    // Three standard deviations of counts of 5,000 and 20,000.
    assert!(early.abs_diff(5000) < 212 && (times.len() - early).abs_diff(20_000) < 425, "{early} of {}", times.len());
}

#[test]
fn a_mix_shares_its_profile_and_a_ramp_restarts_it() {
    let job = paced(|job| {
        (job.load.mix, job.load.read_percent) = (Mix::ReadWrite, 75);
        job.pace.profile = profile(&[(0, 100), (5, 300)]);
    });
    let trace = trace(&job, &regions(&[1 << 40]));
    assert_eq!((count(&trace, Operation::Read), count(&trace, Operation::Write)), (1500, 500));
    let mut load = load(&job, &regions(&[1 << 40]));
    load.ramp_over(Nanos(6 * SECOND));
    let Next::Issue(first) = load.next(Nanos(6 * SECOND)) else { panic!("one is due") };
    assert_eq!(first.due.map(crate::Due::moment), Some(Nanos(6 * SECOND)));
}
