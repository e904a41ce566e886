//! The Universal Scalability Law: rate(N) = λN ÷ (1 + σ(N − 1) + κN(N − 1)).
//!
//! Source: N. J. Gunther. Written as N ÷ rate it is linear in its coefficients, and fitted as such.

use super::{Estimate, least_squares};
use crate::evidence::slots;
use model::RunResult;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserPoint {
    /// Users, or I/Os in flight at most.
    pub users: f64,
    /// I/Os per second.
    pub iops: f64,
}

/// The law with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalability {
    /// λ: the rate of one user alone.
    pub alone: Estimate,
    /// σ: the share of the work that only one can do at a time.
    pub contention: f64,
    /// κ: what each pays for each other.
    pub coherency: f64,
    /// Where the rate peaks, and the rate there; `None` where it never falls.
    pub peak: Option<(f64, f64)>,
    /// Each point with the rate that the law predicts.
    pub points: Vec<(UserPoint, f64)>,
}

/// The points of a sweep over users or depth: a reported job each.
pub fn user_points(result: &RunResult) -> Vec<UserPoint> {
    let rows = result.reported_jobs();
    let point = |job: &model::JobResult| UserPoint {
        users: f64::from(job.workers.max(1)) * f64::from(slots(job)),
        iops: job.directions.iter().filter_map(|(_, found)| found.iops()).sum(),
    };
    rows.iter().map(point).filter(|point| point.iops > 0.0).collect()
}

/// The law fitted to the points; a coefficient that would be negative is none. `None` with fewer than four numbers of
/// users.
pub fn scalability(points: &[UserPoint]) -> Option<Scalability> {
    let mut levels: Vec<f64> = points.iter().map(|point| point.users).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    if levels.len() < 4 {
        return None;
    }
    let alone = |n: f64| -> [f64; 3] { [1.0, n - 1.0, n * (n - 1.0)] };
    let fit = |kept: [bool; 3]| -> Option<[Estimate; 3]> {
        let rows: Vec<([f64; 3], f64)> =
            points.iter().map(|point| (alone(point.users), point.users / point.iops)).collect();
        let picked: Vec<usize> = (0..3).filter(|&k| kept[k]).collect();
        let mut fitted = [Estimate { value: 0.0, standard_error: 0.0 }; 3];
        match *picked.as_slice() {
            [a, b, c] => {
                fitted =
                    least_squares::relative(&rows.iter().map(|(x, y)| ([x[a], x[b], x[c]], *y)).collect::<Vec<_>>())?
            }
            [a, b] => {
                let two = least_squares::relative(&rows.iter().map(|(x, y)| ([x[a], x[b]], *y)).collect::<Vec<_>>())?;
                (fitted[a], fitted[b]) = (two[0], two[1]);
            }
            _ => fitted[0] = least_squares::relative(&rows.iter().map(|(x, y)| ([x[0]], *y)).collect::<Vec<_>>())?[0],
        }
        fitted.iter().all(|one| one.value >= 0.0).then_some(fitted)
    };
    let tries = [[true; 3], [true, true, false], [true, false, true], [true, false, false]];
    let [base, contention, coherency] = tries.into_iter().find_map(fit).filter(|fitted| fitted[0].value > 0.0)?;
    let rate = 1.0 / base.value;
    let (contention, coherency) = (contention.value * rate, coherency.value * rate);
    let predicted = |n: f64| rate * n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0));
    let peak = (coherency > 0.0 && contention < 1.0).then(|| ((1.0 - contention) / coherency).sqrt().max(1.0));
    Some(Scalability {
        alone: Estimate { value: rate, standard_error: base.standard_error * rate * rate },
        contention,
        coherency,
        peak: peak.map(|users| (users, predicted(users))),
        points: points.iter().map(|point| (*point, predicted(point.users))).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rate: f64, contention: f64, coherency: f64) -> Vec<UserPoint> {
        let of = |n: f64| rate * n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0));
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(|users| UserPoint { users, iops: of(users) }).to_vec()
    }

    #[test]
    fn known_contention_and_coherency_are_found_with_the_peak() {
        let law = scalability(&points(10_000.0, 0.05, 0.001)).unwrap();
        assert!((law.alone.value / 10_000.0 - 1.0).abs() < 1e-6, "{law:?}");
        assert!((law.contention - 0.05).abs() < 1e-6 && (law.coherency - 0.001).abs() < 1e-8, "{law:?}");
        assert!((law.peak.unwrap().0 - (0.95_f64 / 0.001).sqrt()).abs() < 0.01, "{law:?}");
    }

    #[test]
    fn what_scales_without_limit_has_no_peak() {
        let law = scalability(&points(10_000.0, 0.0, 0.0)).unwrap();
        assert!(law.contention < 1e-9 && law.coherency < 1e-9, "{law:?}");
        assert_eq!(scalability(&points(10_000.0, 0.0, 0.0)[..3]), None);
    }
}
