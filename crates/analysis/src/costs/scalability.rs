//! The Universal Scalability Law: rate(N) = λN ÷ (1 + σ(N − 1) + κN(N − 1)).
//!
//! Source: N. J. Gunther. In the form N ÷ rate it is linear in its coefficients, and fitted in this form.

use super::{Estimate, least_squares};
use crate::run_facts::slots;
use model::RunResult;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserPoint {
    /// Users, depth, or maximum I/Os in flight.
    pub users: f64,
    /// I/Os per second.
    pub iops: f64,
}

/// The fitted law.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalability {
    /// λ: the IOPS of a single user.
    pub alone: Estimate,
    /// σ, contention: the fraction of the work that is serialized.
    pub contention: Estimate,
    /// κ, coherency: the cost of each pair of users.
    pub coherency: Estimate,
    /// Number of users at the peak, and the rate there; `None` if the rate never decreases.
    pub peak: Option<(f64, f64)>,
    /// Each point with the predicted rate.
    pub points: Vec<(UserPoint, f64)>,
}

/// Points of a sweep over users or depth: one per reported job.
pub fn user_points(result: &RunResult) -> Vec<UserPoint> {
    let rows = result.reported_jobs();
    let point = |job: &model::JobResult| UserPoint {
        users: f64::from(job.workers.max(1)) * f64::from(slots(job)),
        iops: job.directions.iter().filter_map(|(_, found)| found.iops()).sum(),
    };
    rows.iter().map(point).filter(|point| point.iops > 0.0).collect()
}

/// The depth that a job reached: the requested one, or 1 with a synchronous engine.
pub fn depth_of(job: &model::JobResult) -> u32 {
    slots(job)
}

/// Fits the law to the points, without coefficients that would be negative. `None` with fewer than four users.
pub fn scalability(points: &[UserPoint]) -> Option<Scalability> {
    let mut levels: Vec<f64> = points.iter().map(|point| point.users).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    if levels.len() < 4 {
        return None;
    }
    let (alone, contention, coherency) = fitted(points).filter(|(alone, ..)| alone.value.is_finite())?;
    let (rate, sigma, kappa) = (alone.value, contention.value, coherency.value);
    let predicted = |n: f64| rate * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
    let peak = (kappa > 0.0 && sigma < 1.0).then(|| ((1.0 - sigma) / kappa).sqrt().max(1.0));
    Some(Scalability {
        alone,
        contention,
        coherency,
        peak: peak.map(|users| (users, predicted(users))),
        points: points.iter().map(|point| (*point, predicted(point.users))).collect(),
    })
}

/// λ, σ and κ from N ÷ rate = 1/λ + σ/λ · (N − 1) + κ/λ · N(N − 1), with the terms that are not negative.
fn fitted(points: &[UserPoint]) -> Option<(Estimate, Estimate, Estimate)> {
    let (zero, fits) =
        (Estimate::exact(0.0), |found: &[f64]| found.iter().all(|value| *value >= 0.0) && found[0] > 0.0);
    let rows = points.iter().map(|point| (point.users, point.users / point.iops));
    let (shared, pairs) = (|n: f64| n - 1.0, |n: f64| n * (n - 1.0));
    let all: Vec<([f64; 3], f64)> = rows.clone().map(|(n, y)| ([1.0, shared(n), pairs(n)], y)).collect();
    if let Some(fit) = least_squares::relative(&all).filter(|fit| fits(&fit.values)) {
        return Some((fit.inverse(0), fit.ratio(1, 0), fit.ratio(2, 0)));
    }
    let one: Vec<([f64; 2], f64)> = rows.clone().map(|(n, y)| ([1.0, shared(n)], y)).collect();
    if let Some(fit) = least_squares::relative(&one).filter(|fit| fits(&fit.values)) {
        return Some((fit.inverse(0), fit.ratio(1, 0), zero));
    }
    let other: Vec<([f64; 2], f64)> = rows.clone().map(|(n, y)| ([1.0, pairs(n)], y)).collect();
    if let Some(fit) = least_squares::relative(&other).filter(|fit| fits(&fit.values)) {
        return Some((fit.inverse(0), zero, fit.ratio(1, 0)));
    }
    let none: Vec<([f64; 1], f64)> = rows.map(|(_, y)| ([1.0], y)).collect();
    least_squares::relative(&none).filter(|fit| fits(&fit.values)).map(|fit| (fit.inverse(0), zero, zero))
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
        assert!((law.contention.value - 0.05).abs() < 1e-6 && (law.coherency.value - 0.001).abs() < 1e-8, "{law:?}");
        assert!((law.peak.unwrap().0 - (0.95_f64 / 0.001).sqrt()).abs() < 0.01, "{law:?}");
    }

    #[test]
    fn what_scales_without_limit_has_no_peak() {
        let law = scalability(&points(10_000.0, 0.0, 0.0)).unwrap();
        assert!(law.contention.value < 1e-9 && law.coherency.value < 1e-9, "{law:?}");
        assert_eq!(scalability(&points(10_000.0, 0.0, 0.0)[..3]), None);
    }
}
