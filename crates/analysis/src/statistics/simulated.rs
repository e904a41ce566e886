//! How often the rules are right, on simulated results with fixed seeds: `PLUMB_SEEDS` of them (1,000).
//!
//! A bound is the nominal rate plus three standard deviations of the count: seeds do not cross it by chance.

use super::*;
use measure::SplitMix;

/// Number of simulated comparisons.
pub(crate) fn seeds() -> u64 {
    std::env::var("PLUMB_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000)
}

/// Fails if the share of cases is above `nominal` by more than three standard deviations.
pub(crate) fn at_most(nominal: f64, cases: u64, what: &str) {
    let seeds = measure::float(seeds());
    let bound = nominal + 3.0 * (nominal * (1.0 - nominal) / seeds).sqrt();
    let share = measure::float(cases) / seeds;
    assert!(share <= bound, "{what}: {share:.4} of {seeds}, at most {nominal} ({bound:.4})");
}

fn at_least(nominal: f64, cases: u64, what: &str) {
    at_most(1.0 - nominal, seeds() - cases, what);
}

pub(crate) struct Noise(SplitMix);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Noise(SplitMix::new(seed.wrapping_mul(0x1_0001).wrapping_add(77)))
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.fraction()
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.0.fraction(), self.0.fraction());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Rates with this mean logarithm and deviation.
    fn rates(&mut self, count: usize, change: f64, deviation: f64) -> Vec<f64> {
        (0..count).map(|_| 80_000.0 * (change + deviation * self.normal()).exp()).collect()
    }

    /// Rates of two sides in turns, the second with this change; the runs of a round have this correlation.
    pub(crate) fn turns(&mut self, rounds: usize, change: f64, deviation: f64, alike: f64) -> [Vec<f64>; 2] {
        let mut sides = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let common = alike.sqrt() * self.normal();
            for (rates, change) in sides.iter_mut().zip([0.0, change]) {
                let level = common + (1.0 - alike).sqrt() * self.normal();
                rates.push(80_000.0 * (change + deviation * level).exp());
            }
        }
        sides
    }

    /// A series of the AR(1) process with variance 1.
    pub(crate) fn slow(&mut self, count: usize, correlation: f64) -> Vec<f64> {
        let mut level = self.normal();
        let mut next = |noise: &mut Noise| {
            level = correlation * level + (1.0 - correlation * correlation).sqrt() * noise.normal();
            level
        };
        (0..count).map(|_| next(self)).collect()
    }
}

pub(crate) fn count(case: impl Fn(&mut Noise) -> bool) -> u64 {
    (1..=seeds()).filter(|&seed| case(&mut Noise::new(seed))).count() as u64
}

pub(crate) fn of_all(numbers: &[GateNumber], tolerance: f64) -> Answer {
    let found = answers(numbers, tolerance);
    answer_of_all(&numbers.iter().map(|number| number.rank).zip(found).collect::<Vec<_>>())
}

fn differs(change: Option<Change>) -> bool {
    change.is_some_and(|change| change.probability() < ALPHA)
}

#[test]
fn equal_sets_differ_in_5_percent_and_2_deviations_are_seen() {
    for runs in [3, 5, 10] {
        let found = count(|noise| differs(between_sets(&noise.rates(runs, 0.0, 0.03), &noise.rates(runs, 0.0, 0.03))));
        at_most(0.05, found, "equal sets differ");
    }
    let seen = |runs: usize| {
        count(|noise| differs(between_sets(&noise.rates(runs, 0.0, 0.03), &noise.rates(runs, -0.06, 0.03))))
    };
    at_least(0.75, seen(5), "two deviations seen in 5 runs");
    at_least(0.98, seen(10), "two deviations seen in 10 runs");
}

#[test]
fn a_single_new_run_against_ten_has_five_percent_false_answers() {
    let found = count(|noise| differs(between_sets(&noise.rates(10, 0.0, 0.1), &noise.rates(1, 0.0, 0.1))));
    at_most(0.05, found, "one run differs from ten like it");
}

#[test]
fn turns_keep_the_error_whatever_the_correlation() {
    for runs in [2, 3, 5, 10, 40] {
        for alike in [0.0, 0.1, 0.3, 0.6, 0.9] {
            for alpha in [ALPHA, 0.01] {
                let found = count(|noise| {
                    let [old, new] = noise.turns(runs, 0.0, 0.03, alike);
                    between_turns(&old, &new).is_some_and(|change| change.probability() < alpha)
                });
                at_most(alpha, found, &format!("{runs} runs in turns, correlation {alike}, differ at {alpha}"));
            }
        }
    }
}

#[test]
fn all_looks_at_rounds_together_keep_the_error() {
    let cases = [(3, 0.0), (5, 0.0), (5, 0.6), (10, 0.0), (15, 0.0), (15, 0.5), (15, 0.9), (30, 0.0)];
    for (planned, alike) in cases {
        // One who goes on until twice as many as planned.
        let most = 2 * planned;
        let misled = count(|noise| {
            let [old, new] = noise.turns(most, 0.0, 0.03, alike);
            (2..=most).any(|round| differs(between_rounds(&old[..round], &new[..round], planned)))
        });
        at_most(ALPHA, misled, &format!("{planned} equal rounds planned, correlation {alike}, differ at some look"));
    }
    let peeking = count(|noise| {
        let (old, new) = (noise.rates(60, 0.0, 0.03), noise.rates(60, 0.0, 0.03));
        (4..=60).any(|pairs| differs(between_pairs(&old[..pairs], &new[..pairs])))
    });
    assert!(peeking * 5 > seeds(), "plain t misleads such a reader: {peeking}");
}

#[test]
fn a_gate_is_wrong_in_1_percent_and_open_at_the_tolerance() {
    let bound = -0.05_f64.ln_1p();
    let answers = |noise: &mut Noise, change: f64, metrics: usize| {
        // Metrics of one machine move together: a third of the noise is common.
        let (common_old, common_new) = (noise.rates(5, 0.0, 0.015), noise.rates(5, 0.0, 0.015));
        let with = |common: &[f64], own: &[f64]| -> Vec<f64> {
            common.iter().zip(own).map(|(common, own)| common * own / 80_000.0).collect()
        };
        let one = |noise: &mut Noise| {
            let old = with(&common_old, &noise.rates(5, 0.0, 0.02));
            let new = with(&common_new, &noise.rates(5, change, 0.02));
            GateNumber { rank: Rank::First, change: between_sets(&old, &new) }
        };
        let all: Vec<GateNumber> = (0..metrics)
            .map(|at| GateNumber { rank: if at == 0 { Rank::First } else { Rank::Second }, ..one(noise) })
            .collect();
        of_all(&all, 0.05)
    };
    for metrics in [1, 2, 6, 18] {
        let worse = count(|noise| answers(noise, 0.0, metrics) == Answer::Worse);
        at_most(0.01, worse, "unchanged, called worse");
        let worse = count(|noise| answers(noise, bound, metrics) == Answer::Worse);
        at_most(0.025, worse, "all at the tolerance, called worse");
        let ok = count(|noise| answers(noise, bound, metrics) == Answer::Ok);
        at_most(0.025, ok, "all at the tolerance, called ok");
    }
    let unchanged = count(|noise| answers(noise, 0.0, 1) == Answer::Ok);
    at_least(0.75, unchanged, "unchanged, called ok");
    let lost = count(|noise| answers(noise, -0.15, 2) == Answer::Worse);
    at_least(0.95, lost, "a loss of 14 %, called worse");
}

/// Results of `2 × pairs` runs of one machine that becomes faster by three deviations, with slow noise.
fn drifting(noise: &mut Noise, pairs: usize) -> Vec<f64> {
    let slow = noise.slow(2 * pairs, 0.9);
    let last = float(2 * pairs - 1);
    let logarithm = |(at, slow): (usize, f64)| 0.5_f64.sqrt() * (slow + noise.normal()) + 3.0 * float(at) / last;
    slow.into_iter().enumerate().map(logarithm).map(|level| 80_000.0 * (0.02 * level).exp()).collect()
}

#[test]
fn old_runs_first_make_a_drift_a_change_random_turns_do_not() {
    let blocks = count(|noise| {
        let runs = drifting(noise, 10);
        differs(between_sets(&runs[..10], &runs[10..]))
    });
    assert!(blocks * 4 > seeds(), "AAAA BBBB: {blocks} false changes");
    let turns = count(|noise| {
        let runs = drifting(noise, 10);
        let mut sides = [Vec::new(), Vec::new()];
        for pair in runs.chunks(2) {
            let first = usize::from(noise.normal() < 0.0);
            sides[first].push(pair[0]);
            sides[1 - first].push(pair[1]);
        }
        differs(between_pairs(&sides[0], &sides[1]))
    });
    at_most(0.054, turns, "random turns");
}

#[test]
fn two_equal_runs_with_slow_noise_have_overlapping_intervals() {
    for correlation in [0.0, 0.8] {
        let found = count(|noise| {
            let [a, b] = [0, 1].map(|_| {
                let series: Vec<f64> = noise.slow(120, correlation).iter().map(|level| 1000.0 + 30.0 * level).collect();
                series_interval(&series).unwrap()
            });
            (a.mean - b.mean).abs() > a.half.hypot(b.half)
        });
        at_most(0.05, found, "two equal runs differ");
    }
}

#[test]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
fn the_interval_of_a_percentile_holds_it_when_the_level_wanders() {
    /// I/Os of an interval.
    const IOS: u32 = 500;
    // The latency of an I/O is lognormal with deviation 0.5, its level wanders with deviation 0.3: together √0.34.
    let truth = 2.326_347_87 * 0.34_f64.sqrt();
    let held = count(|noise| {
        let levels = noise.slow(60, 0.5);
        let latencies: Vec<Vec<f64>> =
            levels.iter().map(|level| (0..IOS).map(|_| 0.3 * level + 0.5 * noise.normal()).collect()).collect();
        let mut all: Vec<f64> = latencies.concat();
        all.sort_by(f64::total_cmp);
        let at = |share: f64| all[((share * float(all.len())) as usize).min(all.len() - 1)];
        let found = at(0.99);
        let slower = |ios: &Vec<f64>| (f64::from(IOS), float(ios.iter().filter(|ns| **ns > found).count()));
        let bounds = percentile_shares(0.99, &latencies.iter().map(slower).collect::<Vec<_>>()).unwrap();
        at(bounds.low) <= truth && bounds.high.is_none_or(|high| truth <= at(high))
    });
    at_least(0.94, held, "the interval holds the true p99");
}

/// A level with noise of 8 % whose neighbours have this correlation, and which falls by `fall` after two fifths.
fn levels(noise: &mut Noise, count: usize, correlation: f64, fall: f64) -> Vec<f64> {
    let level = |at: usize| if 5 * at < 2 * count { 1.0 } else { 1.0 - fall };
    noise.slow(count, correlation).iter().enumerate().map(|(at, noise)| (1.0 + 0.08 * noise) * level(at)).collect()
}

#[test]
fn a_run_without_a_change_seldom_has_one() {
    for (length, correlation) in [(120, 0.0), (120, 0.5), (120, 0.8), (240, 0.3), (240, 0.9)] {
        let found = count(|noise| {
            level_changes(&levels(noise, length, correlation, 0.0)).is_some_and(|changes| !changes.is_empty())
        });
        at_most(0.05, found, &format!("{length} values, correlation {correlation}"));
    }
}

#[test]
fn a_fall_by_half_is_found_where_it_is() {
    for (length, correlation, least) in [(60, 0.0, 0.98), (120, 0.5, 0.97), (120, 0.8, 0.78)] {
        let found = count(|noise| {
            let changes = level_changes(&levels(noise, length, correlation, 0.5)).unwrap_or_default();
            changes.iter().any(|&at| at.abs_diff(2 * length / 5) <= 1)
        });
        at_least(least, found, &format!("{length} values, correlation {correlation}"));
    }
}
