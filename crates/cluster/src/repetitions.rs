//! The rates of a run that was repeated: highest, lowest, mean and standard deviation.

use crate::summary::Summary;
use measure::{Direction, Nanos};
use serde::{Deserialize, Serialize};

/// A rate in several repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The highest.
    pub max: f64,
    /// The lowest.
    pub min: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation of a sample (divisor n - 1); `None` for one repetition.
    pub deviation: Option<f64>,
}

/// The rates of one direction in all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedRates {
    /// The direction.
    pub direction: Direction,
    /// Repetitions with I/O in this direction.
    pub repetitions: u32,
    /// Bytes per second: over all, or the sum where the members' times are not known.
    pub bytes_per_second: Spread,
    /// The same in I/Os.
    pub iops: Spread,
    /// Mean of the times from the first start to the last end, in seconds; `None` if they are not known.
    pub mean_s: Option<f64>,
}

/// The rates of all directions with I/O. A run whose rates are not known has no place in `repetitions`.
pub fn repeated(repetitions: &[&Summary]) -> Vec<RepeatedRates> {
    let of = |direction| {
        let rates = || repetitions.iter().flat_map(|run| &run.rates).filter(|rates| rates.direction == direction);
        let of_bytes: Vec<f64> = rates().map(|rates| rates.over_all.unwrap_or(rates.sum)).collect();
        let of_ios: Vec<f64> = rates().map(|rates| rates.over_all_iops.unwrap_or(rates.sum_iops)).collect();
        let times: Option<Vec<f64>> = rates().map(|rates| rates.elapsed.map(Nanos::as_secs_f64)).collect();
        Some(RepeatedRates {
            direction,
            repetitions: u32::try_from(of_bytes.len()).unwrap_or(u32::MAX),
            bytes_per_second: spread(&of_bytes)?,
            iops: spread(&of_ios)?,
            mean_s: times.and_then(|times| spread(&times)).map(|times| times.mean),
        })
    };
    Direction::ALL.into_iter().filter_map(of).collect()
}

/// `None` without values.
fn spread(values: &[f64]) -> Option<Spread> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(Spread {
        max: values.iter().copied().reduce(f64::max)?,
        min: values.iter().copied().reduce(f64::min)?,
        mean,
        deviation: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::at_work;
    use crate::summary::summary;

    const MIB: u64 = 1 << 20;

    #[test]
    fn four_repetitions_have_the_mean_and_deviation_by_hand() {
        // 1000 MiB in 10, 8, 5 and 4 s by each of two members: 200, 250, 400 and 500 MiB/s.
        let run = |ms: u64| {
            let members: Vec<_> = (0..2).map(|rank| at_work(rank, 1000 * MIB, (0, ms))).collect();
            summary(&members, "local", Nanos::MILLISECOND)
        };
        let runs = [run(10_000), run(8_000), run(5_000), run(4_000)];
        let found = &repeated(&runs.iter().collect::<Vec<_>>())[..];
        let [found] = found else { panic!("{found:?}") };
        let Spread { max, min, mean, deviation } = found.bytes_per_second;
        let mib = |rate: f64| (rate / MIB as f64 * 1e3).round() / 1e3;
        assert_eq!((found.direction, found.repetitions, found.mean_s), (Direction::Write, 4, Some(6.75)));
        assert_eq!((mib(max), mib(min), mib(mean)), (500.0, 200.0, 337.5));
        // Deviations from the mean: 137.5, 87.5, 62.5, 162.5; their squares add up to 56,875.
        assert_eq!(mib(deviation.unwrap()), 137.689);
        assert_eq!(found.iops.max.round(), 500.0);
    }

    #[test]
    fn one_repetition_has_no_deviation_and_none_has_no_rates() {
        let run = summary(&[at_work(0, MIB, (0, 1_000))], "local", Nanos::MILLISECOND);
        let found = repeated(&[&run]);
        assert_eq!((found[0].bytes_per_second.deviation, found[0].iops.mean), (None, 1.0));
        assert!(repeated(&[]).is_empty());
    }
}
