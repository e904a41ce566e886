//! The search on queues whose capacity is known: exponential service, Poisson arrivals, one and eight servers.
//!
//! `cargo test -p analysis capacity::queue -- --nocapture` prints what docs/decisions.md repeats.

use super::*;
use measure::SplitMix;

/// A queue of equal servers.
#[derive(Clone, Copy)]
struct Queue {
    servers: usize,
    /// I/Os per second of one server.
    service: f64,
}

const ONE: Queue = Queue { servers: 1, service: 10_000.0 };
const EIGHT: Queue = Queue { servers: 8, service: 1250.0 };

fn exponential(random: &mut SplitMix, rate: f64) -> f64 {
    -(1.0 - random.fraction()).ln() / rate
}

impl Queue {
    /// Share of responses above `limit` seconds at this rate. Source: Kleinrock, Queueing Systems (1975), 3.5.
    fn beyond(self, arrivals: f64, limit: f64) -> f64 {
        let (load, servers) = (arrivals / self.service, measure::float(self.servers as u64));
        let (mut term, mut sum) = (1.0, 0.0);
        for index in 0..self.servers {
            sum += term;
            term *= load / measure::float(index as u64 + 1);
        }
        let last = term / (1.0 - load / servers);
        let waits = last / (sum + last);
        let room = servers - 1.0 - load;
        (-self.service * limit).exp() * (1.0 + waits * (1.0 - (-self.service * limit * room).exp()) / room)
    }

    /// The largest rate at which at most this share takes longer.
    fn capacity(self, limit: f64, share: f64) -> f64 {
        let (mut low, mut high) = (1.0, self.service * measure::float(self.servers as u64));
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if self.beyond(middle, limit) > share { high = middle } else { low = middle }
        }
        low
    }

    /// Observes a trial: response times of I/Os that arrive after the warm-up.
    fn observed(self, random: &mut SplitMix, rate: f64, seconds: f64, limits: &[f64]) -> Trial {
        let mut free = vec![0.0_f64; self.servers];
        let mut counts = vec![Counts::default(); limits.len()];
        let (mut now, mut done) = (exponential(random, rate), 0.0);
        while now < seconds {
            let server = (0..free.len()).min_by(|one, other| free[*one].total_cmp(&free[*other])).unwrap();
            free[server] = free[server].max(now) + exponential(random, self.service);
            if now >= WARM_UP * seconds {
                let response = free[server] - now;
                if free[server] < seconds {
                    done += 1.0;
                }
                for (counts, limit) in counts.iter_mut().zip(limits) {
                    counts.ios += 1.0;
                    counts.over += if response > *limit { 1.0 } else { 0.0 };
                }
            }
            now += exponential(random, rate);
        }
        Trial {
            offered: rate,
            done: done / (seconds * (1.0 - WARM_UP)),
            seconds,
            counts,
            late: 0.0,
            regime: Regime::One,
        }
    }

    /// The rate and the counts with one I/O at a time.
    fn alone(self, random: &mut SplitMix, seconds: f64, limits: &[f64]) -> (f64, Vec<Counts>) {
        let mut counts = vec![Counts::default(); limits.len()];
        let (mut now, mut ios) = (0.0, 0.0);
        while now < seconds {
            let service = exponential(random, self.service);
            now += service;
            ios += 1.0;
            for (counts, limit) in counts.iter_mut().zip(limits) {
                counts.ios += 1.0;
                counts.over += if service > *limit { 1.0 } else { 0.0 };
            }
        }
        (ios / seconds, counts)
    }
}

/// Limits in seconds, and the share that may take longer.
fn goal(shares: &[f64], seed: u64) -> Goal {
    Goal {
        limits: shares.iter().map(|&beyond| Limit { beyond, part: 1.0 }).collect(),
        precision: 0.03,
        from: None,
        to: None,
        confirm: 60.0,
        time: 3600.0,
        patience: Patience::Usual,
        seed,
    }
}

/// Searches to the end; the number of trials is the second value.
fn searched(queue: Queue, limits: &[f64], goal: Goal) -> (Conclusion, usize) {
    let mut random = SplitMix::new(goal.seed.wrapping_mul(0x1_0001).wrapping_add(7));
    let mut search = Search::new(goal);
    for number in 0..200 {
        match search.next_step() {
            Step::Alone(seconds) => {
                let (rate, counts) = queue.alone(&mut random, seconds, limits);
                search.observe_alone(rate, &counts);
            }
            Step::Trial { rate, seconds, .. } => {
                search.observe(&queue.observed(&mut random, rate, seconds, limits));
            }
            Step::Sender { .. } => unreachable!("no trial is late"),
            Step::Ended(conclusion) => return (conclusion, number),
        }
    }
    panic!("the search does not end: {search:?}");
}

/// Seeds that are tried of each queue.
const SEEDS: u64 = 20;

/// Largest errors that are allowed: of any answer, and of the middle one.
struct Bound {
    any: f64,
    median: f64,
}

fn check(name: &str, queue: Queue, limit: f64, share: f64, bound: &Bound) {
    let truth = queue.capacity(limit, share);
    let mut errors = Vec::new();
    let (mut held, mut confirmed, mut trials) = (0, 0, 0);
    for seed in 1..=SEEDS {
        let (found, number) = searched(queue, &[limit], goal(&[share], seed));
        assert_eq!(found.answer, Answer::Holds, "{name}, seed {seed}: {found:?}");
        let crossing = found.crossing.unwrap();
        errors.push((crossing.rate / truth - 1.0).abs());
        held += u64::from(crossing.low <= truth && truth <= crossing.high);
        confirmed += u64::from(found.confirmed.is_some_and(|run| run.shares[0] <= share && run.rate <= truth));
        trials += number;
    }
    errors.sort_by(f64::total_cmp);
    let (worst, median) = (errors[errors.len() - 1], errors[errors.len() / 2]);
    println!(
        "{name:<12} true {truth:>6.0}/s: worst {:.2} %, median {:.2} %, interval holds it {held} of {SEEDS}, confirmed below it {confirmed}, {} trials",
        100.0 * worst,
        100.0 * median,
        trials as u64 / SEEDS
    );
    assert!(worst <= bound.any && median <= bound.median, "{name}: {errors:?}");
    assert!(held >= 17, "{name}: the interval holds the truth in {held} of {SEEDS}");
}

const USUAL: Bound = Bound { any: 0.03, median: 0.01 };

#[test]
fn the_capacity_of_a_queue_with_one_server_is_found() {
    check("M/M/1 p95", ONE, 0.002, 0.05, &USUAL);
    check("M/M/1 p99", ONE, 0.002, 0.01, &USUAL);
}

#[test]
fn the_capacity_of_a_queue_with_eight_servers_is_found() {
    check("M/M/8 p95", EIGHT, 0.006, 0.05, &USUAL);
    check("M/M/8 p99", EIGHT, 0.006, 0.01, &USUAL);
}

#[test]
fn the_capacity_for_one_io_in_a_thousand_is_found() {
    check("M/M/1 p99.9", ONE, 0.002, 0.001, &Bound { any: 0.05, median: 0.01 });
}
