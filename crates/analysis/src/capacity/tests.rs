//! How a search ends, on targets whose shares are formulas.

use super::*;
use model::LatencyStatistics;

/// Share of I/Os beyond each limit at a rate, and of those that were sent late.
type Target = fn(f64, usize) -> (Vec<f64>, f64);

fn goal() -> Goal {
    Goal {
        limits: vec![Limit { beyond: 0.01, part: 1.0 }],
        precision: 0.03,
        from: Some(1000.0),
        to: None,
        confirm: 60.0,
        time: 3600.0,
        patience: Patience::Usual,
        seed: 1,
    }
}

/// A target of which 1 % of the I/Os are beyond the limit at 30,000 per second.
fn usual(rate: f64) -> f64 {
    let logit = (0.01_f64 / 0.99).ln() + 20.0 * (rate / 30_000.0).ln();
    1.0 / (1.0 + (-logit).exp())
}

fn observed(target: Target, rate: f64, seconds: f64, number: usize) -> Trial {
    let (shares, late) = target(rate, number);
    let ios = (rate * seconds * (1.0 - WARM_UP)).round();
    let counts = shares.iter().map(|share| Counts { ios, over: (ios * share).round() }).collect();
    Trial { offered: rate, done: rate, seconds, counts, late, regime: Regime::One }
}

/// Searches to the end; also returns the stages.
fn searched(goal: Goal, target: Target) -> (Conclusion, Vec<(Stage, f64)>) {
    searched_with(goal, |rate, seconds, number| observed(target, rate, seconds, number))
}

/// The same with trials that are observed by a function of rate, seconds and number.
fn searched_with(goal: Goal, trial: impl Fn(f64, f64, usize) -> Trial) -> (Conclusion, Vec<(Stage, f64)>) {
    let mut search = Search::new(goal);
    let mut stages = Vec::new();
    for number in 0..200 {
        match search.next_step() {
            Step::Alone(seconds) => {
                let found = trial(2000.0, seconds, number);
                search.observe_alone(found.done, &found.counts);
            }
            Step::Trial { rate, seconds, stage } => {
                stages.push((stage, rate));
                search.observe(&trial(rate, seconds, number));
            }
            // Of the tester by itself, as of a target, with the number 1000.
            Step::Sender { rate, seconds } => search.observe_sender(&trial(rate, seconds, 1000)),
            Step::Ended(conclusion) => return (conclusion, stages),
        }
    }
    panic!("the search does not end: {search:?}");
}

#[test]
fn a_search_ramps_brackets_makes_rounds_and_confirms() {
    let (found, stages) = searched(goal(), |rate, _| (vec![usual(rate)], 0.0));
    let crossing = found.crossing.unwrap();
    assert_eq!((found.answer, found.limit), (Answer::Holds, Some(0)));
    assert!((crossing.rate / 30_000.0 - 1.0).abs() < 0.001 && (crossing.slope - 20.0).abs() < 0.1, "{crossing:?}");
    let confirmed = found.confirmed.unwrap();
    assert!(confirmed.seconds >= 60.0 && confirmed.rate <= 30_000.0 && confirmed.shares[0] <= 0.01);
    let rates = |wanted: Stage| -> Vec<f64> {
        stages.iter().filter(|(stage, _)| *stage == wanted).map(|(_, rate)| *rate).collect()
    };
    assert_eq!(rates(Stage::Ramp), [1000.0, 2000.0, 4000.0, 8000.0, 16_000.0, 32_000.0]);
    assert_eq!((rates(Stage::Bracket).len(), rates(Stage::Round(0)).len(), rates(Stage::Round(1)).len()), (3, 6, 6));
    assert!(!rates(Stage::Round(0)).is_sorted(), "the order within a round is random");
    // The outer trials of the first round are not near, so 12 trials need two more rounds.
    assert_eq!([2, 3].map(|number| rates(Stage::Round(number)).len()), [6, 0]);
    assert_eq!(rates(Stage::Confirm).len(), 1);
}

#[test]
fn the_rates_begin_with_half_of_what_one_user_does() {
    let (found, stages) = searched(Goal { from: None, ..goal() }, |rate, _| (vec![usual(rate)], 0.0));
    assert_eq!((found.answer, stages[0]), (Answer::Holds, (Stage::Ramp, 1000.0)));
    // Half of what one user does is too much already: the ramp goes down.
    let slow: Target = |rate, _| (vec![if rate > 1500.0 { 0.0 } else { usual(rate * 100.0) }], 0.0);
    let (found, stages) = searched(Goal { from: None, ..goal() }, slow);
    assert_eq!(stages[..3].iter().map(|(_, rate)| *rate).collect::<Vec<_>>(), [1000.0, 500.0, 250.0]);
    assert!((found.crossing.unwrap().rate / 300.0 - 1.0).abs() < 0.03, "{found:?}");
}

#[test]
fn of_several_limits_the_one_that_is_reached_first_counts() {
    let limits = vec![Limit { beyond: 0.01, part: 0.7 }, Limit { beyond: 0.001, part: 0.3 }];
    let both: Target = |rate, _| (vec![usual(rate), usual(rate * 1.25)], 0.0);
    let (found, _) = searched(Goal { limits, ..goal() }, both);
    // 0.1 % is 0.0901 of the odds of 1 %: 1.25 times and the twentieth root of it lower.
    let expected = 30_000.0 / 1.25 * (0.001_f64 / 0.999 * 99.0).powf(1.0 / 20.0);
    assert_eq!((found.answer, found.limit), (Answer::Holds, Some(1)));
    assert!((found.crossing.unwrap().rate / expected - 1.0).abs() < 0.002, "{found:?} {expected}");
}

#[test]
fn a_limit_that_is_never_reached_gives_a_least_rate() {
    let kept: Target = |_, _| (vec![0.0], 0.0);
    let (found, stages) = searched(Goal { to: Some(5000.0), ..goal() }, kept);
    assert_eq!(found.answer, Answer::AtLeast(5000.0, Ceiling::Largest));
    assert_eq!(stages.last(), Some(&(Stage::Ramp, 5000.0)));
    // The tester is late from 20,000 on, where responses become slow by that.
    let tester: Target = |rate, _| if rate > 20_000.0 { (vec![0.5], 0.3) } else { (vec![0.0], 0.0) };
    assert_eq!(searched(goal(), tester).0.answer, Answer::AtLeast(16_000.0, Ceiling::Tester));
    // Without the target it is in time, or does not keep up with the rate.
    let submission: Target =
        |rate, number| if rate > 20_000.0 && number < 1000 { (vec![0.5], 0.3) } else { (vec![0.0], 0.0) };
    assert_eq!(searched(goal(), submission).0.answer, Answer::AtLeast(16_000.0, Ceiling::Submission));
    let slow = searched_with(goal(), |rate, seconds, number| {
        let trial = observed(submission, rate, seconds, number);
        Trial { done: if number == 1000 { 0.9 * rate } else { rate }, ..trial }
    });
    assert_eq!(slow.0.answer, Answer::AtLeast(16_000.0, Ceiling::Tester));
    // A moment in which the tester was late is measured again.
    let moment: Target = |rate, number| if number == 4 { (vec![0.5], 0.3) } else { (vec![usual(rate)], 0.0) };
    let (found, stages) = searched(goal(), moment);
    assert_eq!((found.answer, stages[4]), (Answer::Holds, stages[5]));
    // Two moments of two trials each are not four in a row.
    let moments: Target = |rate, number| {
        if [4, 5, 8, 9].contains(&number) { (vec![0.5], 0.3) } else { (vec![usual(rate)], 0.0) }
    };
    assert_eq!(searched(goal(), moments).0.answer, Answer::Holds);
    // In the confirmation, once is enough.
    let longer = |rate, seconds, number| {
        let late: Target = |rate, _| (vec![1.5 * usual(rate)], 0.3);
        let usually: Target = |rate, _| (vec![usual(rate)], 0.0);
        observed(if seconds >= 60.0 { late } else { usually }, rate, seconds, number)
    };
    assert_eq!(searched_with(goal(), longer).0.answer, Answer::CannotTell(Reason::Late(0.3)));
    let always: Target = |_, _| (vec![0.5], 0.3);
    assert_eq!(searched(goal(), always).0.answer, Answer::CannotTell(Reason::Late(0.3)));
    // More slow I/Os than the late ones can explain: the target missed the limit.
    let some: Target = |rate, _| if rate > 20_000.0 { (vec![0.5], 0.02) } else { (vec![0.0], 0.0) };
    assert_eq!(searched(goal(), some).0.answer, Answer::Holds);
    // Late, but no limit is missed.
    let harmless: Target = |rate, _| (vec![usual(rate)], if rate < 20_000.0 { 0.3 } else { 0.0 });
    assert_eq!(searched(goal(), harmless).0.answer, Answer::Holds);
}

#[test]
fn a_limit_that_is_always_missed_gives_no_rate() {
    let missed: Target = |_, _| (vec![0.2], 0.0);
    let (found, _) = searched(goal(), missed);
    assert_eq!((found.answer, found.limit), (Answer::Never(Some(1000.0)), Some(0)));
    let (found, stages) = searched(Goal { from: None, ..goal() }, missed);
    assert_eq!((found.answer, stages.len()), (Answer::Never(None), 0));
}

#[test]
fn an_arrival_that_is_not_kept_up_with_ends_the_ramp() {
    let trial = |done| Trial {
        offered: 30_000.0,
        done,
        seconds: 3.0,
        counts: vec![Counts { ios: 72_000.0, over: 0.0 }],
        late: 0.0,
        regime: Regime::One,
    };
    let limits = [Limit { beyond: 0.01, part: 1.0 }];
    assert!(trial(29_300.0).keeps(&limits) && !trial(28_900.0).keeps(&limits));
    assert!(trial(28_900.0).keeps_limits(&limits));
    // With 24 arrivals expected, 15 are chance.
    let few = |done| Trial { offered: 10.0, done, ..trial(0.0) };
    assert!(!few(6.25).falls_behind() && few(3.0).falls_behind());
    assert_eq!(Counts::default().share(), 1.0, "nothing was answered");
}

#[test]
fn what_cannot_be_said_names_its_reason() {
    let answer = |goal: Goal, target: Target| searched(goal, target).0.answer;
    // Slow I/Os come and go, whatever the rate; the ramp ends by chance.
    let chance: Target = |_, number| (vec![if number % 2 == 0 { 0.0 } else { 0.02 }], 0.0);
    assert!(
        matches!(answer(goal(), chance), Answer::CannotTell(Reason::NoSlope | Reason::Wide(_))),
        "{:?}",
        answer(goal(), chance)
    );
    // 300 I/Os per second: p99.9 needs 100 ÷ 0.001 ÷ 300 ÷ 0.8 = 417 s a trial.
    let rare = Goal { limits: vec![Limit { beyond: 0.001, part: 1.0 }], from: Some(100.0), ..goal() };
    let slow: Target = |rate, _| (vec![usual(rate * 100.0)], 0.0);
    match answer(rare.clone(), slow) {
        Answer::CannotTell(Reason::LongTrials { seconds, rate }) => {
            assert!((seconds * rate - 125_000.0).abs() < 1.0 && seconds > 400.0);
        }
        other => panic!("{other:?}"),
    }
    let patient = Goal { patience: Patience::UntilTime, time: 1e6, ..rare.clone() };
    assert_eq!(answer(patient, slow), Answer::Holds);
    assert_eq!(
        answer(Goal { time: 40.0, ..goal() }, |rate, _| (vec![usual(rate)], 0.0)),
        Answer::CannotTell(Reason::Time)
    );
    // In the confirmation, three slower runs included, ten times as many are slow as in the 27 trials.
    let other: Target = |rate, number| (vec![usual(rate) * if number >= 27 { 10.0 } else { 1.0 }], 0.0);
    assert!(matches!(answer(goal(), other), Answer::CannotTell(Reason::NotStationary(_))));
    let late: Target = |rate, number| (vec![usual(rate)], if number >= 9 { 0.02 } else { 0.0 });
    // Late in the rounds: by itself, or with the target alone.
    assert!(matches!(answer(goal(), late), Answer::AtLeast(_, Ceiling::Tester)), "{:?}", answer(goal(), late));
    let late: Target = |rate, number| (vec![usual(rate)], if (9..1000).contains(&number) { 0.02 } else { 0.0 });
    assert!(matches!(answer(goal(), late), Answer::CannotTell(Reason::Late(share)) if (share - 0.02).abs() < 1e-9));
}

#[test]
fn the_time_left_falls_and_a_step_stays_until_it_is_observed() {
    let mut search = Search::new(goal());
    assert_eq!((search.seconds_left(), search.width(), search.spent()), (None, None, 0.0));
    assert_eq!(search.next_step(), search.next_step());
    let mut left = Vec::new();
    while let Step::Trial { rate, seconds, .. } = search.next_step() {
        search.observe(&observed(|rate, _| (vec![usual(rate)], 0.0), rate, seconds, 0));
        left.extend(search.seconds_left());
    }
    assert!(left.is_sorted_by(|one, other| one >= other) && left.last() == Some(&0.0), "{left:?}");
    assert!(search.width().is_some_and(|width| width < 0.03) && search.spent() > 60.0);
    // An observation after the end changes nothing.
    let end = search.next_step();
    search.observe_alone(1.0, &[]);
    search.observe(&observed(|_, _| (vec![1.0], 0.0), 1.0, 3.0, 0));
    assert_eq!(search.next_step(), end);
}

#[test]
fn without_a_confirmation_the_search_ends_with_the_interval() {
    let (found, stages) = searched(Goal { confirm: 0.0, ..goal() }, |rate, _| (vec![usual(rate)], 0.0));
    assert_eq!((found.answer, found.confirmed), (Answer::Holds, None));
    assert!(stages.iter().all(|(stage, _)| *stage != Stage::Confirm));
}

/// A limit of 3,000 I/Os per second, of which 1 % may take longer than 50 ms: beyond it 150 I/Os are soon behind, and
/// every later one is slow.
fn capped(rate: f64, seconds: f64, _: usize) -> Trial {
    let slow_from = if rate > 3000.0 { 150.0 / (rate - 3000.0) } else { f64::INFINITY };
    let counted = seconds * (1.0 - WARM_UP);
    let share = ((seconds - slow_from) / counted).clamp(0.0, 1.0);
    let ios = (rate.min(3000.0) * counted).round();
    let counts = vec![Counts { ios, over: (ios * share).round() }];
    Trial { offered: rate, done: rate.min(3000.0), seconds, counts, late: 0.0, regime: Regime::One }
}

#[test]
fn the_interval_at_a_cliff_is_between_longer_runs() {
    for seed in 1..=20 {
        for precision in [0.03, 0.005] {
            let (found, stages) = searched_with(Goal { from: Some(100.0), seed, precision, ..goal() }, capped);
            let crossing = found.crossing.unwrap();
            assert_eq!((found.answer, found.basis), (Answer::Holds, Basis::Cliff), "{found:?}");
            assert!(crossing.low > 2900.0 && crossing.low <= 3002.5 && crossing.width() <= precision, "{found:?}");
            assert!((2900.0..=3010.0).contains(&crossing.rate) && crossing.high > 3000.0, "{found:?}");
            let confirmed = found.confirmed.unwrap();
            assert_eq!((confirmed.rate, confirmed.shares[0]), (crossing.low, 0.0));
            assert!(stages.len() < 45, "{stages:?}");
        }
    }
    // Without longer runs the interval has the trials on both sides.
    let (found, stages) = searched_with(Goal { from: Some(100.0), confirm: 0.0, ..goal() }, capped);
    let crossing = found.crossing.unwrap();
    let rounds = stages.iter().filter(|(stage, _)| matches!(stage, Stage::Round(_))).map(|(_, rate)| *rate);
    let (kept, missed): (Vec<f64>, Vec<f64>) = rounds.partition(|rate| capped(*rate, 4.2, 0).counts[0].share() <= 0.01);
    let (low, high) = (kept.iter().copied().fold(0.0, f64::max), missed.iter().copied().fold(1e9, f64::min));
    assert_eq!(found.basis, Basis::Cliff);
    assert!(crossing.low <= low && high <= crossing.high, "{crossing:?} {low} {high}");
}

#[test]
fn a_longer_run_that_misses_by_chance_moves_no_interval() {
    let usually: Target = |rate, _| (vec![usual(rate)], 0.0);
    let plain = searched(goal(), usually).0;
    // The first longer run has a tenth more slow I/Os than the limit allows.
    let (found, stages) = searched_with(goal(), |rate, seconds, number| {
        let mut trial = observed(usually, rate, seconds, number);
        if seconds >= 60.0 && number == 27 {
            trial.counts[0].over = trial.counts[0].ios * 0.011;
        }
        trial
    });
    assert_eq!((found.crossing, found.basis), (plain.crossing, Basis::Fit));
    assert_eq!(stages.iter().filter(|(stage, _)| *stage == Stage::Confirm).count(), 2);
    assert!((found.confirmed.unwrap().rate / (0.97 * plain.confirmed.unwrap().rate) - 1.0).abs() < 1e-9);
}

#[test]
fn a_target_that_changes_has_no_one_capacity() {
    let ends = |regime: Regime, from: f64| {
        let changing = |rate, seconds, number| {
            let trial = observed(|rate, _| (vec![usual(rate)], 0.0), rate, seconds, number);
            Trial { regime: if rate > from { regime } else { Regime::One }, ..trial }
        };
        searched_with(Goal { from: Some(1250.0), ..goal() }, changing).0.answer
    };
    // A trial that misses since credits are spent says nothing; a rate that only varies there does.
    assert_eq!(ends(Regime::Spent, 35_000.0), Answer::CannotTell(Reason::Changed(40_000.0)));
    assert_eq!(ends(Regime::Several, 35_000.0), Answer::Holds);
    assert!(matches!(ends(Regime::Several, 29_000.0), Answer::CannotTell(Reason::Changed(_))));
    let longer = |rate, seconds, number| {
        let trial = observed(|rate, _| (vec![usual(rate)], 0.0), rate, seconds, number);
        if seconds < 60.0 {
            return trial;
        }
        let counts = vec![Counts { ios: 1e5, over: 5e4 }];
        Trial { regime: Regime::Several, counts, ..trial }
    };
    assert!(matches!(searched_with(goal(), longer).0.answer, Answer::CannotTell(Reason::Changed(_))));
}

#[test]
fn the_counts_beyond_a_limit_are_those_of_the_histogram() {
    let mut histogram = Histogram::new();
    (1..=10_000).for_each(|micros| histogram.record(Nanos::from_micros(micros)));
    // In the last bucket the times end before the bucket does, so no limit is in it.
    for (limit, over) in [(0, 10_000), (50, 9950), (777, 9223), (2000, 8000), (9000, 1000), (20_000, 0)] {
        let found = Counts::of(&histogram, Nanos::from_micros(limit));
        assert!(found.ios == 10_000.0 && (found.over - measure::float(over)).abs() <= 2.0, "{limit}: {found:?}");
    }
    assert_eq!(Counts::of(&Histogram::new(), Nanos(1)), Counts::default());
}

#[test]
fn one_disturbed_trial_does_not_change_the_answer() {
    let plain = searched(goal(), |rate, _| (vec![usual(rate)], 0.0)).0.crossing.unwrap();
    // The trial with this number has half of its I/Os over the limit: the first one, each of the ramp, two of the
    // bracket.
    for disturbed in 0..8 {
        for from in [Some(1000.0), None] {
            let (found, stages) = searched_with(Goal { from, ..goal() }, |rate, seconds, number| {
                let share = if number == disturbed { 0.5 } else { usual(rate) };
                let ios = (rate * seconds * (1.0 - WARM_UP)).round();
                let counts = vec![Counts { ios, over: (ios * share).round() }];
                Trial { offered: rate, done: rate, seconds, counts, late: 0.0, regime: Regime::One }
            });
            let crossing = found.crossing.unwrap_or_else(|| panic!("{disturbed} {from:?}: {found:?} {stages:?}"));
            assert_eq!(found.answer, Answer::Holds, "{disturbed} {from:?}");
            assert!((crossing.rate / plain.rate - 1.0).abs() < 0.01, "{disturbed} {from:?}: {crossing:?}");
            assert!(stages.len() < 60, "{disturbed} {from:?}: {stages:?}");
        }
    }
}

#[test]
fn a_search_does_not_go_back_to_the_ramp_for_ever() {
    // Every trial of the ramp and bracket above the first rate is disturbed; every round keeps the limit.
    let mut search = Search::new(goal());
    let mut ramps = 0;
    let end = loop {
        match search.next_step() {
            Step::Trial { rate, seconds, stage } => {
                let is_round = matches!(stage, Stage::Round(_));
                ramps += u32::from(stage == Stage::Ramp);
                let share = if is_round || rate <= 1000.0 { 0.0 } else { 0.5 };
                let mut trial = observed(|_, _| (vec![0.0], 0.0), rate, seconds, 0);
                trial.counts[0].over = trial.counts[0].ios * share;
                search.observe(&trial);
            }
            Step::Alone(_) | Step::Sender { .. } => unreachable!("a first rate is given, and no trial is late"),
            Step::Ended(conclusion) => break conclusion,
        }
    };
    assert!(matches!(end.answer, Answer::CannotTell(Reason::NoSlope)), "{end:?}");
    assert!(ramps <= 8, "{ramps}");
}

#[test]
fn an_io_is_late_by_more_than_a_tenth_of_the_limit() {
    let mut result = crate::fixtures::clean_random_read();
    let read = &mut result.jobs[0].directions.read;
    let mut histogram = Histogram::new();
    (0..read.ios).for_each(|io| histogram.record(Nanos::from_micros(if io % 100 < 3 { 300 } else { 1 })));
    read.lateness = Some(LatencyStatistics { histogram: Some(Box::new(histogram)), ..LatencyStatistics::default() });
    read.sent_late = Some(read.ios / 20);
    let share = |millis| late_share(&result, Nanos::from_millis(millis));
    // 5 % were late for the check, 3 % of them by 300 µs.
    assert!((share(2) - 0.03).abs() < 1e-3 && share(4) == 0.0, "{} {}", share(2), share(4));
    result.jobs[0].directions.read.lateness = None;
    assert_eq!(late_share(&result, Nanos::from_millis(4)), 0.05);
    result.jobs[0].directions.read.sent_late = None;
    assert_eq!(late_share(&result, Nanos::from_millis(2)), 0.0, "no job has a rate");
}
